/* SPDX-License-Identifier: MIT */
/*
 * Events, messages, entries and tables as lines of text for people.  Pure
 * functions but for render_columns(): JSON in, bytes out.  Text that is not
 * marked as safe already is made safe here.
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

	/* This function returns the number in the inbox of the message with
	 * number ${n} in ${conversation}, 0 if it is not known.  The pointer is
	 * NULL if no numbers are known. */
	int64_t (*seq_of)(void *arg, const char *conversation, int64_t n);
	void *seq_arg;
};

/* The signs for the state of an own message: stored here only, accepted by the
 * server, delivered to the recipient, read, failed. */
#define RENDER_WAITING "…"
#define RENDER_ACCEPTED "✓"
#define RENDER_DELIVERED "✓✓"
#define RENDER_READ "✓✓ read"
#define RENDER_FAILED "✗"

/* Appends ${text} (already safe) in ${style}. */
void render_styled(
    struct buf *b, const struct look *look, enum style style, const char *text);

/* Appends the content of ${text} (already safe) in ${style} and frees ${text}.
 * If ${text} ran out of memory, ${b} fails, too. */
void render_buf(
    struct buf *b, const struct look *look, enum style style, struct buf *text);

/* Appends the content of ${text} (already safe, one line), cut to ${columns}
 * (at least 1).  A cut text ends with "…". */
void render_cut(struct buf *b, const struct buf *text, int columns);

/* Returns the number of columns of terminal ${fd}, 0 if it is not a
 * terminal. */
int render_columns(int fd);

/* Appends ${text} (already safe, one line), broken between words into lines of
 * at most ${columns} (0: no limit).  The first line starts at column ${indent};
 * the others are indented by ${indent}.  A word that is longer than a line is
 * not broken, and the last line has no line end. */
void render_wrapped(struct buf *b, const char *text, int columns, int indent);

/* Appends string member ${name} of ${json} as one safe line.  If there is none,
 * appends ${other}, which must be safe. */
void render_member(
    struct buf *b, const json_t *json, const char *name, const char *other);

/* Appends wall time ${ms} in local time: "12:03" for today, "20 Nov 12:03" for
 * another day, "20 Nov 2030 12:03" for another year, "-" for 0. */
void render_time(struct buf *b, const struct look *look, int64_t ms);

/* Returns time member ${name} of ${json} in milliseconds since 1970, 0 if there
 * is none. */
int64_t render_time_of(const json_t *json, const char *name);

/* Appends an inbox event and a line end.  A text of several lines takes several
 * lines. */
void render_event(struct buf *b, const struct look *look, const json_t *event);

/* Appends a message of a conversation with its sign (NULL: none) and a line
 * end. */
void render_message(struct buf *b, const struct look *look,
    const json_t *message, const char *sign);

/* Appends an outbox entry with its timeline and, if it has several, its
 * destinations. */
void render_entry(struct buf *b, const struct look *look, const json_t *entry);

/* Returns the state of an outbox entry in readable form: "read", "scheduled", …
 * The text may belong to ${entry}, and is not safe for a terminal. */
const char *render_entry_state(const json_t *entry);

/* Returns the name of the other side of a direct conversation (${me} if there
 * is none); for a group, the title, or "group" without one.  The text may
 * belong to ${conversation}, and is not safe for a terminal. */
const char *render_conversation_name(
    const json_t *conversation, const char *me);

/* Appends ${rows} in aligned columns.  Each row is an array of up to 8 strings,
 * which need not be safe and are cut to 60 columns; the first row is the
 * heading. */
void render_table(struct buf *b, const struct look *look, const json_t *rows);

/* Like render_table(), but makes each row fit on one line of look->columns by
 * cutting the columns in ${flexible}, a bit mask of column numbers.  No column
 * is cut to less than 6, so a row may still be too long. */
void render_table_fit(struct buf *b, const struct look *look,
    const json_t *rows, unsigned flexible);

#endif
