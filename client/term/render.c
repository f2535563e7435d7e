/* SPDX-License-Identifier: MIT */
/*
 * Inbox events, messages, outbox entries and tables as lines of text.  A string
 * from JSON may come from other people or the server, so it passes through
 * lib/safe.h before it becomes a part of a line.
 */
#include "term/render.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#include "base/clk.h"
#include "lib/safe.h"

/* Shorter names are padded to this width, so that texts are aligned. */
#define NAME_COLUMNS 12
#define SEQ_COLUMNS 5
#define CELL_COLUMNS 60

static const char *const style_codes[] = {
    [STYLE_PLAIN] = "",
    [STYLE_BOLD] = "\033[1m",
    [STYLE_DIM] = "\033[2m",
    [STYLE_RED] = "\033[31m",
    [STYLE_GREEN] = "\033[32m",
    [STYLE_YELLOW] = "\033[33m",
    [STYLE_CYAN] = "\033[36m",
};

/* Begins ${style}. end() ends it. */
static void
begin(struct buf *b, const struct look *look, enum style style)
{

	if (look->colour)
		buf_adds(b, style_codes[style]);
}

static void
end(struct buf *b, const struct look *look, enum style style)
{

	if (look->colour && style != STYLE_PLAIN)
		buf_adds(b, "\033[0m");
}

void
render_styled(
    struct buf *b, const struct look *look, enum style style, const char *text)
{

	begin(b, look, style);
	buf_adds(b, text);
	end(b, look, style);
}

void
render_buf(
    struct buf *b, const struct look *look, enum style style, struct buf *text)
{

	buf_addc(text, '\0');
	if (buf_ok(text))
		render_styled(b, look, style, text->data);
	else
		b->failed = true;
	buf_fini(text);
}

/* Returns string member ${name} of ${json}, or NULL if there is none. */
static const char *
text_of(const json_t *json, const char *name)
{

	return (json_string_value(json_object_get(json, name)));
}

/* Returns integer member ${name} of ${json}, or 0 if there is none. */
static long long
integer_of(const json_t *json, const char *name)
{

	return ((long long)json_integer_value(json_object_get(json, name)));
}

void
render_member(
    struct buf *b, const json_t *json, const char *name, const char *other)
{
	const json_t *value = json_object_get(json, name);

	if (json_is_string(value))
		safe_add(
		    b, json_string_value(value), json_string_length(value));
	else
		buf_adds(b, other);
}

int64_t
render_time_of(const json_t *json, const char *name)
{
	const char *text = text_of(json, name);
	int64_t ms = 0;

	if (text == NULL || clk_parse_rfc3339(text, &ms) != 0)
		return (0);
	return (ms);
}

void
render_time(struct buf *b, const struct look *look, int64_t ms)
{
	time_t then = (time_t)(ms / 1000), now = (time_t)(look->now_ms / 1000);
	struct tm tm, today;
	char text[40];
	bool same_day;

	if (ms == 0 || localtime_r(&then, &tm) == NULL ||
	    localtime_r(&now, &today) == NULL) {
		buf_adds(b, "-");
		return;
	}
	same_day = tm.tm_year == today.tm_year && tm.tm_yday == today.tm_yday;
	if (same_day)
		(void)strftime(text, sizeof(text), "%H:%M", &tm);
	else if (tm.tm_year == today.tm_year)
		(void)strftime(text, sizeof(text), "%d %b %H:%M", &tm);
	else
		(void)strftime(text, sizeof(text), "%d %b %Y %H:%M", &tm);
	buf_adds(b, text);
}

/* Appends the text in ${cell} in ${style} and spaces up to ${columns} columns,
 * and empties ${cell}.  A wider text is not cut.  If ${cell} ran out of memory,
 * marks ${b} as failed, too.  Returns the number of columns of text and spaces
 * together. */
static int
add_padded(struct buf *b, const struct look *look, enum style style,
    struct buf *cell, int columns)
{
	int width;

	if (!buf_ok(cell))
		b->failed = true;
	width = cell->len > 0 ? safe_width(cell->data, cell->len) : 0;
	begin(b, look, style);
	if (cell->len > 0)
		buf_add(b, cell->data, cell->len);
	end(b, look, style);
	for (; width < columns; width++)
		buf_addc(b, ' ');
	buf_reset(cell);
	return (width);
}

/* Appends time and name in their columns.  Returns the columns taken. */
static int
add_head(struct buf *b, const struct look *look, const json_t *event,
    struct buf *name)
{
	bool own = json_is_true(json_object_get(event, "own"));
	struct buf cell = BUF_INIT;
	int64_t ms = render_time_of(event, "event_time");
	int columns;

	if (ms == 0)
		ms = render_time_of(event, "at");
	if (ms == 0)
		ms = render_time_of(event, "delivered_at");
	render_time(&cell, look, ms);
	columns = add_padded(b, look, STYLE_DIM, &cell, 5) + 2;
	buf_adds(b, "  ");
	columns += add_padded(b, look, own ? STYLE_GREEN : STYLE_CYAN, name,
		       NAME_COLUMNS) +
		   2;
	buf_adds(b, "  ");
	buf_fini(&cell);
	return (columns);
}

/* Appends a message's text after ${columns} columns. */
static void
add_body(struct buf *b, const json_t *message, int columns)
{
	const json_t *body = json_object_get(message, "body");

	if (json_is_string(body))
		safe_add_lines(b, json_string_value(body),
		    json_string_length(body), columns);
	else
		buf_adds(b, "(deleted)");
}

void
render_message(struct buf *b, const struct look *look, const json_t *message,
    const char *sign)
{
	struct buf name = BUF_INIT;
	const char *from = text_of(message, "from");
	int columns;

	if (from != NULL && strcmp(from, look->me) == 0)
		buf_adds(&name, "you");
	else
		render_member(&name, message, "from", "?");
	columns = add_head(b, look, message, &name);
	buf_fini(&name);
	add_body(b, message, columns);
	if (sign != NULL) {
		buf_adds(b, "  ");
		render_styled(b, look,
		    strcmp(sign, RENDER_READ) == 0 ? STYLE_CYAN : STYLE_DIM,
		    sign);
	}
	buf_addc(b, '\n');
}

/* Appends the message up to which ${event}, a receipt or a "read on another
 * device", applies: the message's number in the inbox or, if that is not known,
 * its number in the conversation. */
static void
add_upto(struct buf *b, const struct look *look, const json_t *event)
{
	const char *conversation = text_of(event, "conversation");
	int64_t upto = integer_of(event, "upto"), seq = 0;

	if (look->seq_of != NULL && conversation != NULL)
		seq = look->seq_of(look->seq_arg, conversation, upto);
	if (seq > 0)
		buf_addf(b, " up to #%lld", (long long)seq);
	else
		buf_addf(b, " up to message %lld of the conversation",
		    (long long)upto);
}

/* Appends the text of a receipt, a bounce or another short event. */
static void
add_note(struct buf *b, const struct look *look, const json_t *event,
    const char *kind)
{
	const char *state = text_of(event, "state");
	bool read = state != NULL && strcmp(state, "read") == 0;

	if (strcmp(kind, "receipt") == 0) {
		buf_adds(b, read ? RENDER_READ " by "
				 : RENDER_DELIVERED " delivered to ");
		render_member(b, event, "by", "?");
		add_upto(b, look, event);
	} else if (strcmp(kind, "bounce") == 0) {
		buf_adds(b, RENDER_FAILED " ");
		render_member(b, event, "state", "failed");
		buf_adds(b, ": not delivered to ");
		render_member(b, event, "to", "?");
		buf_adds(b, ": ");
		render_member(b, event, "reason", "no reason given");
	} else if (strcmp(kind, "read") == 0) {
		buf_adds(b, "read on another device");
		add_upto(b, look, event);
	} else {
		safe_add(b, kind, strlen(kind));
		buf_adds(b, " of ");
		render_member(b, event, "of", "?");
	}
}

void
render_event(struct buf *b, const struct look *look, const json_t *event)
{
	const char *kind = text_of(event, "kind");
	const char *to = text_of(event, "to");
	struct buf cell = BUF_INIT;
	bool own = json_is_true(json_object_get(event, "own"));
	bool message = kind != NULL && strcmp(kind, "message") == 0;
	int columns;

	buf_addf(&cell, "#%lld", integer_of(event, "seq"));
	columns = add_padded(b, look, STYLE_DIM, &cell, SEQ_COLUMNS) + 2;
	buf_adds(b, "  ");
	if (message && own) {
		buf_adds(&cell, "→ ");
		render_member(&cell, event, "to", "group");
	} else if (message) {
		render_member(&cell, event, "from", "?");
		if (to == NULL)
			buf_adds(&cell, " (group)");
	}
	columns += add_head(b, look, event, &cell);
	if (message)
		add_body(b, event, columns);
	else {
		add_note(&cell, look, event, kind != NULL ? kind : "?");
		(void)add_padded(b, look,
		    kind != NULL && strcmp(kind, "bounce") == 0 ? STYLE_RED
								: STYLE_DIM,
		    &cell, 0);
	}
	buf_addc(b, '\n');
	buf_fini(&cell);
}

const char *
render_entry_state(const json_t *entry)
{
	const json_t *labels = json_object_get(entry, "labels");
	const char *state = text_of(entry, "state"), *label;
	size_t i;

	for (i = 0; i < json_array_size(labels); i++) {
		label = json_string_value(json_array_get(labels, i));
		if (label != NULL && (strcmp(label, "read") == 0 ||
					 strcmp(label, "scheduled") == 0 ||
					 strcmp(label, "retrying") == 0))
			state = label;
	}
	if (state == NULL)
		return ("?");
	return (strcmp(state, "acked") == 0 ? "delivered" : state);
}

/* Returns the style of ${state}. */
static enum style
state_style(const char *state)
{

	if (strcmp(state, "read") == 0 || strcmp(state, "delivered") == 0)
		return (STYLE_GREEN);
	if (strcmp(state, "failed") == 0 || strcmp(state, "expired") == 0 ||
	    strcmp(state, "refused") == 0)
		return (STYLE_RED);
	if (strcmp(state, "retrying") == 0 || strcmp(state, "waiting") == 0)
		return (STYLE_YELLOW);
	return (STYLE_PLAIN);
}

/* Appends "name  value" for ${member}, unless it is null. */
static void
add_fact(struct buf *b, const struct look *look, const json_t *json,
    const char *name, const char *member)
{
	const json_t *value = json_object_get(json, member);
	struct buf cell = BUF_INIT;

	if (value == NULL || json_is_null(value))
		return;
	buf_adds(&cell, name);
	(void)add_padded(b, look, STYLE_DIM, &cell, 14);
	buf_fini(&cell);
	if (json_is_integer(value))
		buf_addi(b, json_integer_value(value));
	else if (render_time_of(json, member) != 0)
		render_time(b, look, render_time_of(json, member));
	else
		render_member(b, json, member, "");
	buf_addc(b, '\n');
}

/* Appends the steps of ${entry} that have been taken. */
static void
add_timeline(struct buf *b, const struct look *look, const json_t *entry)
{
	const json_t *steps = json_object_get(entry, "timeline"), *step;
	struct buf cell = BUF_INIT;
	size_t i;

	for (i = 0; i < json_array_size(steps); i++) {
		step = json_array_get(steps, i);
		buf_adds(&cell, i == 0 ? "timeline" : "");
		(void)add_padded(b, look, STYLE_DIM, &cell, 14);
		render_time(&cell, look, render_time_of(step, "at"));
		(void)add_padded(b, look, STYLE_PLAIN, &cell, 5);
		buf_adds(b, "  ");
		render_member(b, step, "state", "?");
		buf_addc(b, '\n');
	}
	buf_fini(&cell);
}

void
render_entry(struct buf *b, const struct look *look, const json_t *entry)
{
	const json_t *list = json_object_get(entry, "destinations"), *one;
	const char *state = render_entry_state(entry);
	size_t i;

	add_fact(b, look, entry, "id", "id");
	add_fact(b, look, entry, "to", "to");
	add_fact(b, look, entry, "conversation", "conversation");
	buf_addf(b, "%s%-14s%s", look->colour ? "\033[2m" : "", "state",
	    look->colour ? "\033[0m" : "");
	begin(b, look, state_style(state));
	safe_add(b, state, strlen(state));
	end(b, look, state_style(state));
	buf_addc(b, '\n');
	add_fact(b, look, entry, "priority", "priority");
	add_fact(b, look, entry, "attempts", "attempts");
	add_fact(b, look, entry, "created", "created_at");
	add_fact(b, look, entry, "deliver at", "deliver_at");
	add_fact(b, look, entry, "next try", "next_retry_at");
	add_fact(b, look, entry, "expires", "expires_at");
	add_fact(b, look, entry, "last error", "last_error");
	add_timeline(b, look, entry);
	for (i = 0; json_array_size(list) > 1 && i < json_array_size(list);
	     i++) {
		one = json_array_get(list, i);
		buf_adds(b, i == 0 ? "destinations  " : "              ");
		render_member(b, one, "address", "?");
		buf_adds(b, "  ");
		render_member(b, one, "state", "?");
		buf_addc(b, '\n');
	}
}

const char *
render_conversation_name(const json_t *conversation, const char *me)
{
	const json_t *members = json_object_get(conversation, "members");
	const char *kind = text_of(conversation, "kind");
	const char *title = text_of(conversation, "title"), *address;
	size_t i;

	if (kind != NULL && strcmp(kind, "direct") == 0) {
		for (i = 0; i < json_array_size(members); i++) {
			address =
			    text_of(json_array_get(members, i), "address");
			if (address != NULL && strcmp(address, me) != 0)
				return (address);
		}
		return (me);
	}
	return (title != NULL ? title : "group");
}

void
render_cut(struct buf *b, const struct buf *text, int columns)
{

	if (!buf_ok(text))
		b->failed = true;
	if (text->len == 0)
		return;
	if (safe_cut(text->data, text->len, columns) == text->len) {
		buf_add(b, text->data, text->len);
		return;
	}
	buf_add(b, text->data, safe_cut(text->data, text->len, columns - 1));
	buf_adds(b, "…");
}

int
render_columns(int fd)
{
	struct winsize size;

	return (ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0);
}

void
render_wrapped(struct buf *b, const char *text, int columns, int indent)
{
	int used = indent, width;
	bool first = true;
	size_t n;

	for (;;) {
		n = strcspn(text, " ");
		width = n > 0 ? safe_width(text, n) : 0;
		if (!first && columns > 0 && used + 1 + width > columns) {
			buf_addf(b, "\n%*s", indent, "");
			used = indent;
		} else if (!first) {
			buf_addc(b, ' ');
			used++;
		}
		buf_add(b, text, n);
		used += width;
		first = false;
		text += n;
		if (*text == '\0')
			return;
		text++;
	}
}

/* Writes the safe form of ${value} into ${cell}, cut to ${columns}. */
static void
fill_cell(struct buf *cell, const json_t *value, int columns)
{
	struct buf text = BUF_INIT;

	buf_reset(cell);
	if (json_is_string(value))
		safe_add(
		    &text, json_string_value(value), json_string_length(value));
	render_cut(cell, &text, columns);
	buf_fini(&text);
}

#define TABLE_COLUMNS_MAX 8
#define TABLE_GAP 2
/* The least width of a flexible column. */
#define FLEXIBLE_MIN 6

/* Computes the widest cell of each column.  Without memory ${b} fails. */
static void
measure_table(struct buf *b, const json_t *rows, int widths[TABLE_COLUMNS_MAX])
{
	struct buf cell = BUF_INIT;
	const json_t *row;
	size_t i, j;
	int width;

	for (i = 0; i < json_array_size(rows); i++) {
		row = json_array_get(rows, i);
		for (j = 0; j < json_array_size(row) && j < TABLE_COLUMNS_MAX;
		     j++) {
			fill_cell(&cell, json_array_get(row, j), CELL_COLUMNS);
			if (!buf_ok(&cell))
				b->failed = true;
			width =
			    cell.len > 0 ? safe_width(cell.data, cell.len) : 0;
			if (width > widths[j])
				widths[j] = width;
		}
	}
	buf_fini(&cell);
}

/* Narrows the widest of the columns in the bit mask ${flexible} by 1, again and
 * again, until the ${n} columns of the table with their gaps fit into
 * ${columns} or no flexible column is wider than FLEXIBLE_MIN. */
static void
fit_table(
    int widths[TABLE_COLUMNS_MAX], size_t n, unsigned flexible, int columns)
{
	int total = -TABLE_GAP, widest;
	size_t j;

	for (j = 0; j < n; j++)
		total += widths[j] + TABLE_GAP;
	for (; total > columns; total--) {
		widest = -1;
		for (j = 0; j < n; j++)
			if ((flexible & 1u << j) != 0 &&
			    widths[j] > FLEXIBLE_MIN &&
			    (widest < 0 || widths[j] > widths[widest]))
				widest = (int)j;
		if (widest < 0)
			return;
		widths[widest]--;
	}
}

/* Appends ${rows} in columns of ${widths}. */
static void
add_table(struct buf *b, const struct look *look, const json_t *rows,
    const int widths[TABLE_COLUMNS_MAX])
{
	struct buf cell = BUF_INIT;
	const json_t *row;
	size_t i, j, n;

	for (i = 0; i < json_array_size(rows); i++) {
		row = json_array_get(rows, i);
		n = json_array_size(row);
		for (j = 0; j < n && j < TABLE_COLUMNS_MAX; j++) {
			fill_cell(&cell, json_array_get(row, j), widths[j]);
			(void)add_padded(b, look,
			    i == 0 ? STYLE_DIM : STYLE_PLAIN, &cell,
			    j + 1 < n ? widths[j] + TABLE_GAP : 0);
		}
		buf_addc(b, '\n');
	}
	buf_fini(&cell);
}

void
render_table(struct buf *b, const struct look *look, const json_t *rows)
{
	int widths[TABLE_COLUMNS_MAX] = {0};

	measure_table(b, rows, widths);
	add_table(b, look, rows, widths);
}

void
render_table_fit(struct buf *b, const struct look *look, const json_t *rows,
    unsigned flexible)
{
	size_t n = json_array_size(json_array_get(rows, 0));
	int widths[TABLE_COLUMNS_MAX] = {0};

	measure_table(b, rows, widths);
	fit_table(widths, n < TABLE_COLUMNS_MAX ? n : TABLE_COLUMNS_MAX,
	    flexible, look->columns > 0 ? look->columns : 80);
	add_table(b, look, rows, widths);
}
