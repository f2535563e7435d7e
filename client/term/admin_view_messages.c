/* SPDX-License-Identifier: MIT */
/*
 * Formats, for operators, the list of outbox entries, the list of dead letters,
 * and one message with the attempts and the timeline of each destination.  The
 * texts of messages are not shown: operators do not read messages, so the
 * server does not send the texts.
 */
#include <string.h>

#include "lib/safe.h"
#include "term/admin_view.h"
#include "term/human.h"

/* Returns the style of ${state}. */
static enum style
state_style(const char *state)
{

	if (strcmp(state, "failed") == 0 || strcmp(state, "expired") == 0)
		return (STYLE_RED);
	if (strcmp(state, "retrying") == 0)
		return (STYLE_YELLOW);
	if (strcmp(state, "sending") == 0)
		return (STYLE_CYAN);
	if (strcmp(state, "delivered") == 0 || strcmp(state, "read") == 0)
		return (STYLE_GREEN);
	return (STYLE_PLAIN);
}

/* Appends a cell with the state of ${row} in readable form. */
static void
add_state(struct grid *grid, const json_t *row)
{
	const char *state = render_entry_state(row);

	safe_add(grid_cell(grid, state_style(state)), state, strlen(state));
}

/* Appends "from → to". */
static void
add_way(struct buf *b, const json_t *row)
{

	render_member(b, row, "from", "?");
	buf_adds(b, " → ");
	render_member(b, row, "to", "group");
}

/* Appends string member ${name} of ${row} after a separator. */
static void
add_part(struct buf *b, size_t from, const json_t *row, const char *name)
{

	if (!json_is_string(json_object_get(row, name)))
		return;
	admin_view_sep(b, from);
	render_member(b, row, name, "");
}

/* Appends a cell with the time of the next attempt. */
static void
add_prospect(struct grid *grid, const struct look *look, const json_t *row)
{
	struct buf *b = grid_cell(grid, STYLE_PLAIN);

	if (render_time_of(row, "next_retry_at") != 0)
		admin_view_due(b, look, row, "next_retry_at");
	else if (render_time_of(row, "deliver_at") > look->now_ms)
		admin_view_due(b, look, row, "deliver_at");
}

/* Appends a line with sender, recipient and failure of ${row}. */
static void
add_way_note(struct grid *grid, const json_t *row)
{
	struct buf *b = grid_note(grid, STYLE_DIM);
	size_t from = b->len;

	add_way(b, row);
	add_part(b, from, row, "reason");
	add_part(b, from, row, "last_error");
}

static void
add_entry(struct grid *grid, const struct look *look, const json_t *row)
{

	render_member(grid_cell(grid, STYLE_PLAIN), row, "id", "?");
	add_state(grid, row);
	admin_view_count(grid_cell(grid, STYLE_PLAIN), row, "attempts");
	admin_view_age(grid_cell(grid, STYLE_PLAIN), look, row, "created_at");
	add_prospect(grid, look, row);
	add_way_note(grid, row);
}

void
admin_view_outbox(struct buf *b, const struct look *look, const json_t *entries)
{
	static const struct grid_column columns[] = {
	    {"ID", false, 0},
	    {"STATE", false, 0},
	    {"TRIES", true, 0},
	    {"AGE", true, 0},
	    {"NEXT TRY", false, 0},
	};

	admin_view_list(
	    b, look, entries, &ADMIN_VIEW_TABLE(columns, add_entry));
}

/* Appends the resolution of dead letter ${row} and the id of its message. */
static void
add_letter(struct grid *grid, const struct look *look, const json_t *row)
{
	struct buf *b = grid_note(grid, STYLE_DIM);
	size_t from = b->len;

	render_member(b, row, "id", "");
	if (json_is_string(json_object_get(row, "resolution"))) {
		admin_view_sep(b, from);
		render_member(b, row, "resolution", "");
		buf_adds(b, " ");
		admin_view_age(b, look, row, "resolved_at");
		buf_adds(b, " ago by ");
		render_member(b, row, "resolved_by", "?");
	}
	add_part(b, from, row, "last_error");
}

static void
add_dead(struct grid *grid, const struct look *look, const json_t *row)
{

	buf_addi(
	    grid_cell(grid, STYLE_BOLD), admin_view_integer(row, "dead_id", 0));
	render_member(grid_cell(grid, STYLE_RED), row, "reason", "-");
	admin_view_count(grid_cell(grid, STYLE_PLAIN), row, "attempts");
	admin_view_age(grid_cell(grid, STYLE_PLAIN), look, row, "dead_at");
	admin_view_age(grid_cell(grid, STYLE_PLAIN), look, row, "created_at");
	add_way(grid_cell(grid, STYLE_PLAIN), row);
	add_letter(grid, look, row);
}

void
admin_view_dead(struct buf *b, const struct look *look, const json_t *dead)
{
	static const struct grid_column columns[] = {
	    {"DEAD", true, 0},
	    {"REASON", false, 0},
	    {"TRIES", true, 0},
	    {"DIED", true, 0},
	    {"AGE", true, 0},
	    {"FROM → TO", false, 12},
	};

	admin_view_list(b, look, dead, &ADMIN_VIEW_TABLE(columns, add_dead));
}

/* Appends fact ${name} with the value of ${member}, unless it is null. */
static void
add_fact(struct grid *grid, const struct look *look, const json_t *json,
    const char *name, const char *member)
{
	const json_t *value = json_object_get(json, member);
	struct buf *b;

	if (value == NULL || json_is_null(value) || json_is_array(value))
		return;
	grid_row(grid);
	buf_adds(grid_cell(grid, STYLE_DIM), name);
	b = grid_cell(grid, STYLE_PLAIN);
	if (json_is_integer(value))
		human_count(b, admin_view_integer(json, member, 0));
	else if (render_time_of(json, member) != 0)
		human_time(b, look, render_time_of(json, member));
	else
		render_member(b, json, member, "");
}

/* Facts, one on each line. */
struct fact {
	const char *name;
	const char *member;
};

static void
add_facts(struct buf *b, const struct look *look, const json_t *json,
    const struct fact *facts, size_t n)
{
	static const struct grid_column columns[] = {
	    {NULL, false, 0}, {NULL, false, 20}};
	struct grid grid;
	size_t i;

	grid_init(&grid, columns, 2);
	for (i = 0; i < n; i++)
		add_fact(&grid, look, json, facts[i].name, facts[i].member);
	grid_finish(&grid, b, look);
}

static void
add_attempt(struct grid *grid, const struct look *look, const json_t *row)
{
	const int64_t began = render_time_of(row, "started_at");
	const int64_t ended = render_time_of(row, "finished_at");
	struct buf *took;

	admin_view_count(grid_cell(grid, STYLE_PLAIN), row, "attempt");
	human_time(grid_cell(grid, STYLE_PLAIN), look, began);
	took = grid_cell(grid, STYLE_PLAIN);
	if (began != 0 && ended != 0)
		human_span(took, ended - began);
	else
		buf_addc(took, '-');
	render_member(
	    grid_cell(grid, STYLE_PLAIN), row, "outcome", "under way");
	admin_view_count(grid_cell(grid, STYLE_PLAIN), row, "status");
	render_member(grid_cell(grid, STYLE_PLAIN), row, "error", "");
	render_member(grid_cell(grid, STYLE_DIM), row, "owner", "");
}

/* Appends the table of attempts. */
static void
add_attempts(struct buf *b, const struct look *look, const json_t *attempts)
{
	static const struct grid_column columns[] = {
	    {"TRY", true, 0},
	    {"BEGAN", false, 0},
	    {"TOOK", true, 0},
	    {"OUTCOME", false, 0},
	    {"STATUS", true, 0},
	    {"ERROR", false, 12},
	    {"BY", false, 6},
	};

	if (json_array_size(attempts) == 0)
		return;
	buf_addc(b, '\n');
	admin_view_list(
	    b, look, attempts, &ADMIN_VIEW_TABLE(columns, add_attempt));
}

/* Appends a table of the events of ${timeline}, each with the time since the
 * first event in the table; appends nothing if ${timeline} is empty.  If
 * ${attempts} is not empty, leaves out the events "attempt", because the table
 * of attempts has the same times. */
static void
add_timeline(struct buf *b, const struct look *look, const json_t *timeline,
    const json_t *attempts)
{
	static const struct grid_column columns[] = {
	    {"WHEN", false, 0},
	    {"AFTER", true, 0},
	    {"EVENT", false, 0},
	    {"", false, 12},
	};
	const char *event;
	int64_t first = 0, at;
	const json_t *row;
	struct grid grid;
	struct buf *cell;
	size_t i;

	if (json_array_size(timeline) == 0)
		return;
	buf_addc(b, '\n');
	grid_init(&grid, columns, 4);
	for (i = 0; i < json_array_size(timeline); i++) {
		row = json_array_get(timeline, i);
		at = render_time_of(row, "at");
		event = json_string_value(json_object_get(row, "event"));
		if (json_array_size(attempts) > 0 && event != NULL &&
		    strcmp(event, "attempt") == 0)
			continue;
		first = first == 0 ? at : first;
		grid_row(&grid);
		human_time(grid_cell(&grid, STYLE_PLAIN), look, at);
		cell = grid_cell(&grid, STYLE_DIM);
		if (at > first) {
			buf_addc(cell, '+');
			human_span(cell, at - first);
		}
		render_member(grid_cell(&grid, STYLE_PLAIN), row, "event", "?");
		render_member(grid_cell(&grid, STYLE_DIM), row, "detail", "");
	}
	grid_finish(&grid, b, look);
}

/* Appends one row of the message: a destination. */
static void
add_row(struct buf *b, const struct look *look, const json_t *row)
{
	static const struct fact facts[] = {{"destination", "destination"},
	    {"reason", "reason"}, {"priority", "priority"},
	    {"tries", "attempt_count"}, {"retries", "retry_count"},
	    {"rescued", "rescue_count"}, {"deliver at", "deliver_at"},
	    {"next try", "next_retry_at"}, {"expires", "expires_at"},
	    {"last error", "last_error"}, {"lane", "lane_id"},
	    {"place", "lane_seq"}};
	const char *state = render_entry_state(row);
	struct buf word = BUF_INIT, to = BUF_INIT;

	buf_adds(b, "\n→ ");
	render_member(&to, row, "to", "group");
	render_buf(b, look, STYLE_BOLD, &to);
	buf_adds(b, "  ");
	safe_add(&word, state, strlen(state));
	render_buf(b, look, state_style(state), &word);
	buf_addc(b, '\n');
	add_facts(b, look, row, facts, sizeof(facts) / sizeof(facts[0]));
	add_attempts(b, look, json_object_get(row, "attempts"));
	add_timeline(b, look, json_object_get(row, "timeline"),
	    json_object_get(row, "attempts"));
}

void
admin_view_message(
    struct buf *b, const struct look *look, const json_t *message)
{
	static const struct fact facts[] = {{"id", "id"}, {"from", "from"},
	    {"conversation", "conversation"}, {"number", "conversation_seq"},
	    {"written", "event_time"}, {"accepted", "created_at"},
	    {"correlation", "correlation_id"}};
	const json_t *rows = json_object_get(message, "rows");
	size_t i;

	add_facts(b, look, message, facts, sizeof(facts) / sizeof(facts[0]));
	for (i = 0; i < json_array_size(rows); i++)
		add_row(b, look, json_array_get(rows, i));
	if (i == 0)
		buf_adds(b, "\nnothing of it is left in the outbox\n");
}
