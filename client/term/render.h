/* SPDX-License-Identifier: MIT */
/*
 * What people see: events, messages, entries and tables as lines of text.
 * Pure: JSON in, bytes out.  All text from elsewhere is made safe here.
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

/* How to show it. */
struct look {
	bool colour;
	int64_t now_ms; /* wall time: what is "today" */
	const char *me; /* my name, "" if it does not matter */
	int columns;    /* how wide a table may be, 0: 80 */

	/* The number in the inbox of message ${n} of ${conversation}, 0 if it
	 * is not known; NULL: none is. */
	int64_t (*seq_of)(void *arg, const char *conversation, int64_t n);
	void *seq_arg;
};

/* Signs of what became of an own message. */
#define RENDER_WAITING "…"
#define RENDER_ACCEPTED "✓"
#define RENDER_DELIVERED "✓✓"
#define RENDER_READ "✓✓ read"
#define RENDER_FAILED "✗"

/* Appends ${text} (safe already) in ${style}. */
void render_styled(
    struct buf *b, const struct look *look, enum style style, const char *text);

/* Appends what is in ${text} (safe already) in ${style} and frees it; without
 * memory for ${text} there is none for ${b} either. */
void render_buf(
    struct buf *b, const struct look *look, enum style style, struct buf *text);

/* Appends what is in ${text} (safe already, on one line), cut to ${columns},
 * which the end of a cut text shows by "…". */
void render_cut(struct buf *b, const struct buf *text, int columns);

/* How many columns terminal ${fd} has, 0 if it is none. */
int render_columns(int fd);

/* Appends ${text} (safe already, on one line), broken between words where more
 * than ${columns} (0: never) are taken: ${indent} of them are used before the
 * first line, and left empty before each other. */
void render_wrapped(struct buf *b, const char *text, int columns, int indent);

/* Appends string member ${name} of ${json} as one safe line; ${other} without
 * one. */
void render_member(
    struct buf *b, const json_t *json, const char *name, const char *other);

/* Appends wall time ${ms} in local time: "12:03" of today, "20 Nov 12:03" of
 * another day. */
void render_time(struct buf *b, const struct look *look, int64_t ms);

/* Time member ${name} of ${json} in milliseconds, 0 without one. */
int64_t render_time_of(const json_t *json, const char *name);

/* Appends an inbox event as one line or, for texts of several lines, more,
 * with a line end. */
void render_event(struct buf *b, const struct look *look, const json_t *event);

/* Appends a message of a conversation with its sign (NULL: none), with a line
 * end. */
void render_message(struct buf *b, const struct look *look,
    const json_t *message, const char *sign);

/* Appends an outbox entry with its destinations and timeline. */
void render_entry(struct buf *b, const struct look *look, const json_t *entry);

/* The state of an outbox entry as people say it: "read", "scheduled", …  Its
 * text is borrowed from ${entry}, and not safe. */
const char *render_entry_state(const json_t *entry);

/* The other side of direct conversation ${conversation}; its title, or "group"
 * otherwise.  Borrowed, and not safe. */
const char *render_conversation_name(
    const json_t *conversation, const char *me);

/* Appends ${rows} (arrays of strings that need not be safe; the first row is
 * the heading) in aligned columns. */
void render_table(struct buf *b, const struct look *look, const json_t *rows);

/* As render_table(), each row in one line of look->columns as far as that can
 * be: the cells of the columns in ${flexible}, a bit for each, are cut. */
void render_table_fit(struct buf *b, const struct look *look,
    const json_t *rows, unsigned flexible);

#endif
