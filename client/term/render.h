/* SPDX-License-Identifier: MIT */
/*
 * Events, messages, entries and tables as lines of text for people: JSON in,
 * bytes out.  The functions do no I/O, except render_columns().  Strings from
 * JSON are made safe for a terminal here, but not those that
 * render_entry_state() and render_conversation_name() return.  Parameters that
 * a comment calls safe are appended unchanged.
 */
#ifndef CLI_RENDER_H
#define CLI_RENDER_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/buf.h"

enum style {
	STYLE_PLAIN,
	STYLE_BOLD,
	STYLE_DIM,
	STYLE_RED,
	STYLE_GREEN,
	STYLE_YELLOW,
	STYLE_CYAN
};

/* Settings of the output. */
struct look {
	bool colour;
	int64_t now_ms; /* wall time; decides what "today" is */
	const char *me; /* the user's name, "" if not needed */
	int columns;    /* width of a table, 0: 80 */

	/* seq_of() returns the inbox number of message number ${n} of
	 * ${conversation}, or 0 if the inbox number is not known; ${arg} is
	 * seq_arg.  seq_of is NULL if no inbox numbers are known. */
	int64_t (*seq_of)(void *arg, const char *conversation, int64_t n);
	void *seq_arg;
};

/* The signs for the state of a message that the user sends, in this order:
 * stored only on this computer, accepted by the server, delivered to the
 * recipient, read, failed. */
#define RENDER_WAITING "…"
#define RENDER_ACCEPTED "✓"
#define RENDER_DELIVERED "✓✓"
#define RENDER_READ "✓✓ read"
#define RENDER_FAILED "✗"

/* Appends ${text} (already safe) in ${style}. */
void render_styled(
    struct buf *b, const struct look *look, enum style style, const char *text);

/* Appends the content of ${text} (already safe) in ${style} and frees that
 * content; ${text} is then an empty buffer.  If ${text} ran out of memory,
 * appends nothing and marks ${b} as failed, too. */
void render_buf(
    struct buf *b, const struct look *look, enum style style, struct buf *text);

/* Appends the content of ${text} (already safe, one line), cut to ${columns}
 * (at least 1), and leaves ${text} unchanged.  A cut text ends with "…", which
 * is within ${columns}.  If ${text} ran out of memory, marks ${b} as failed,
 * too. */
void render_cut(struct buf *b, const struct buf *text, int columns);

/* Returns the number of columns of terminal ${fd}, 0 if ${fd} is not a terminal
 * or the terminal does not report its size. */
int render_columns(int fd);

/* Appends ${text} (already safe, one line), broken between words into lines of
 * at most ${columns} (0: no limit), which include the indentation.  The first
 * line begins after ${indent} columns, which the caller fills; the other lines
 * begin with ${indent} spaces.  A word that is longer than a line is not
 * broken, and the last line has no line end. */
void render_wrapped(struct buf *b, const char *text, int columns, int indent);

/* Appends string member ${name} of ${json} as one safe line.  If there is none,
 * appends ${other}, which must be safe. */
void render_member(
    struct buf *b, const json_t *json, const char *name, const char *other);

/* Appends wall time ${ms}, in milliseconds since 1970, in local time: "12:03"
 * for the day of look->now_ms, "20 Nov 12:03" for another day of that year, "20
 * Nov 2030 12:03" for another year, "-" for 0 and for a time that localtime_r()
 * refuses. */
void render_time(struct buf *b, const struct look *look, int64_t ms);

/* Returns member ${name} of ${json}, a string in the form of RFC 3339, in
 * milliseconds since 1970; 0 if there is no such member or it is not a valid
 * time. */
int64_t render_time_of(const json_t *json, const char *name);

/* Appends an inbox event and a line end.  A text of several lines takes several
 * lines. */
void render_event(struct buf *b, const struct look *look, const json_t *event);

/* Appends a message of a conversation: time, sender ("you" for look->me), text,
 * ${sign} (one of the RENDER_ texts; NULL: none), and a line end. */
void render_message(struct buf *b, const struct look *look,
    const json_t *message, const char *sign);

/* Appends an outbox entry with its timeline and, if it has several, its
 * destinations. */
void render_entry(struct buf *b, const struct look *look, const json_t *entry);

/* Returns the state of an outbox entry in readable form: "read", "scheduled",
 * …; "?" if ${entry} has no state.  The text may belong to ${entry}, so the
 * caller does not free it, and is not safe for a terminal. */
const char *render_entry_state(const json_t *entry);

/* Returns, for a direct conversation, the address of the first member other
 * than ${me} (${me} if there is none); for a group, the title, or "group" if
 * there is no title.  The text may belong to ${conversation}, so the caller
 * does not free it, and is not safe for a terminal. */
const char *render_conversation_name(
    const json_t *conversation, const char *me);

/* Appends ${rows} in aligned columns.  Each row is an array of strings, which
 * need not be safe and are cut to 60 columns; strings after the eighth are left
 * out.  The first row is the heading. */
void render_table(struct buf *b, const struct look *look, const json_t *rows);

/* Like render_table(), but cuts the columns in ${flexible}, a bit mask (bit 0:
 * the first column), until each row fits on one line of look->columns (0: 80).
 * No column is narrowed below 6, and the other columns are not narrowed, so a
 * row may still be too long. */
void render_table_fit(struct buf *b, const struct look *look,
    const json_t *rows, unsigned flexible);

#endif
