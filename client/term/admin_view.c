/* SPDX-License-Identifier: MIT */
/*
 * The tables of the admin commands: statistics, destinations, lanes.  This file
 * has the thresholds from which a figure is coloured as a warning; those of the
 * live view are in top_view.c.  admin_view_messages.c has the tables of
 * messages, admin_view_peers.c those of other servers, admin_view_users.c those
 * of users and of the audit log.
 */
#include "term/admin_view.h"

#include <string.h>

#include "lib/safe.h"
#include "term/human.h"

/* From these ages on a figure is yellow, or red. */
#define OLD_MS (5 * 60 * 1000)
#define VERY_OLD_MS (60 * 60 * 1000)
#define RELAY_STALLED_MS 10000

double
admin_view_number(const json_t *json, const char *name, double other)
{
	const json_t *value = json_object_get(json, name);

	return (json_is_number(value) ? json_number_value(value) : other);
}

int64_t
admin_view_integer(const json_t *json, const char *name, int64_t other)
{
	const json_t *value = json_object_get(json, name);
	double real;

	if (json_is_integer(value))
		return ((int64_t)json_integer_value(value));
	if (!json_is_real(value))
		return (other);
	real = json_real_value(value);
	if (real >= 9e18)
		return (INT64_MAX);
	return (real <= -9e18 ? INT64_MIN : (int64_t)real);
}

void
admin_view_count(struct buf *b, const json_t *json, const char *name)
{

	if (json_is_number(json_object_get(json, name)))
		human_count(b, admin_view_integer(json, name, 0));
	else
		buf_addc(b, '-');
}

void
admin_view_span(struct buf *b, const json_t *json, const char *name)
{

	if (json_is_number(json_object_get(json, name)))
		human_span(b, admin_view_integer(json, name, 0));
	else
		buf_addc(b, '-');
}

/* Returns ${ms} rounded down to whole seconds. */
static int64_t
whole_seconds(int64_t ms)
{

	return (ms / 1000 * 1000);
}

void
admin_view_age(struct buf *b, const struct look *look, const json_t *json,
    const char *name)
{
	int64_t then = render_time_of(json, name);

	if (then == 0)
		buf_addc(b, '-');
	else
		human_span(b, whole_seconds(look->now_ms - then));
}

void
admin_view_due(struct buf *b, const struct look *look, const json_t *json,
    const char *name)
{
	int64_t then = render_time_of(json, name);

	if (then == 0)
		return;
	if (then <= look->now_ms) {
		buf_adds(b, "now");
		return;
	}
	buf_adds(b, "in ");
	human_span(b, whole_seconds(then - look->now_ms + 999));
}

void
admin_view_sep(struct buf *b, size_t from)
{

	if (b->len > from)
		buf_adds(b, "; ");
}

void
admin_view_list(struct buf *b, const struct look *look, const json_t *list,
    const struct admin_view_table *table)
{
	struct grid grid;
	size_t i;

	grid_init(&grid, table->columns, table->ncolumns);
	for (i = 0; i < json_array_size(list); i++) {
		grid_row(&grid);
		table->add(&grid, look, json_array_get(list, i));
	}
	grid_finish(&grid, b, look);
}

/* Returns the style of ${n}, a number that should be 0: ${style} if ${n} is
 * above 0, otherwise STYLE_PLAIN. */
static enum style
alarm_style(int64_t n, enum style style)
{

	return (n > 0 ? style : STYLE_PLAIN);
}

/* Returns the style of an age. */
static enum style
age_style(int64_t ms)
{

	if (ms >= VERY_OLD_MS)
		return (STYLE_RED);
	return (ms >= OLD_MS ? STYLE_YELLOW : STYLE_PLAIN);
}

/* Begins the row of the figure called ${name}.  Returns the buffer to which the
 * caller appends the figure's value, which is shown in ${style}. */
static struct buf *
figure(struct grid *grid, const char *name, enum style style)
{

	grid_row(grid);
	buf_adds(grid_cell(grid, STYLE_DIM), name);
	return (grid_cell(grid, style));
}

/* Appends the figures of waiting messages. */
static void
add_waiting(struct grid *grid, const json_t *stats)
{
	const json_t *states = json_object_get(stats, "states");
	const json_t *limits = json_object_get(stats, "limits");
	int64_t pending = admin_view_integer(states, "pending", 0);
	int64_t most = admin_view_integer(limits, "max_pending_total", 0);
	int64_t stuck = admin_view_integer(stats, "stuck_sending", 0);
	int64_t oldest = admin_view_integer(stats, "oldest_pending_age_ms", 0);
	struct buf *b;

	admin_view_count(
	    figure(grid, "pending", STYLE_BOLD), states, "pending");
	b = grid_cell(grid, age_style(oldest));
	if (oldest > 0) {
		buf_adds(b, "oldest ");
		human_span(b, whole_seconds(oldest));
	}
	if (most > 0) {
		buf_adds(b, oldest > 0 ? ", " : "");
		human_percent(b, (double)pending / (double)most);
		buf_adds(b, " of ");
		human_count(b, most);
	}
	admin_view_count(
	    figure(grid, "scheduled", STYLE_PLAIN), states, "scheduled");
	admin_view_count(
	    figure(grid, "sending", STYLE_PLAIN), states, "sending");
	if (stuck > 0) {
		b = grid_cell(grid, STYLE_YELLOW);
		human_count(b, stuck);
		buf_adds(b, " stuck: twinbox admin outbox --stuck 30m");
	}
	admin_view_count(
	    figure(grid, "near failure",
		alarm_style(admin_view_integer(stats, "near_failure", 0),
		    STYLE_YELLOW)),
	    stats, "near_failure");
	admin_view_count(
	    figure(grid, "dead letters",
		alarm_style(admin_view_integer(stats, "dead_letters_open", 0),
		    STYLE_RED)),
	    stats, "dead_letters_open");
}

/* Appends an empty row, then a row for each counter from "accepted" to
 * "fenced": the total since the database was created ("-" if it is missing)
 * and, if the server gives it, the number of messages in the state of that name
 * now. */
static void
add_done(struct grid *grid, const json_t *stats)
{
	static const char *const names[] = {"accepted", "sent", "acked",
	    "retries", "failed", "expired", "canceled", "requeued", "rescues",
	    "fenced"};
	const json_t *states = json_object_get(stats, "states");
	const json_t *totals = json_object_get(stats, "totals");
	struct buf *b;
	size_t i;

	grid_row(grid);
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		admin_view_count(
		    figure(grid, names[i], STYLE_PLAIN), totals, names[i]);
		if (json_object_get(states, names[i]) == NULL)
			continue;
		b = grid_cell(grid, STYLE_DIM);
		buf_adds(b, "in all, ");
		admin_view_count(b, states, names[i]);
		buf_adds(b, " now");
	}
}

/* Appends the health of the server. */
static void
add_health(struct grid *grid, const json_t *stats)
{
	const json_t *relay = json_object_get(stats, "relay");
	int64_t turn = admin_view_integer(relay, "last_turn_age_ms", 0);
	struct buf *b;

	grid_row(grid);
	admin_view_span(
	    figure(grid, "latency", STYLE_PLAIN), stats, "average_latency_ms");
	buf_adds(
	    grid_cell(grid, STYLE_DIM), "to the inbox, average of an hour");
	b = figure(grid, "retry rate", STYLE_PLAIN);
	if (admin_view_number(stats, "retry_rate", -1) >= 0)
		human_percent(b, admin_view_number(stats, "retry_rate", 0));
	else
		buf_addc(b, '-');
	admin_view_span(figure(grid, "relay",
			    turn >= RELAY_STALLED_MS ? STYLE_RED : STYLE_PLAIN),
	    relay, "last_turn_age_ms");
	b = grid_cell(grid, STYLE_DIM);
	buf_adds(b, "since its last turn, ");
	admin_view_count(b, relay, "in_flight");
	buf_adds(b, " in flight");
	b = figure(grid, "log", STYLE_PLAIN);
	if (admin_view_integer(stats, "wal_bytes", -1) >= 0)
		human_bytes(b, admin_view_integer(stats, "wal_bytes", 0));
	else
		buf_addc(b, '-');
	admin_view_count(figure(grid, "writer", STYLE_PLAIN),
	    json_object_get(stats, "queues"), "writer_waiting");
	buf_adds(grid_cell(grid, STYLE_DIM), "units wait");
}

static void
add_alert(struct grid *grid, const struct look *look, const json_t *row)
{
	const char *severity =
	    json_string_value(json_object_get(row, "severity"));
	const enum style style =
	    severity != NULL && strcmp(severity, "warning") == 0 ? STYLE_YELLOW
								 : STYLE_RED;

	render_member(grid_cell(grid, style), row, "name", "?");
	admin_view_age(grid_cell(grid, STYLE_DIM), look, row, "since");
	render_member(grid_cell(grid, style), row, "text", "");
}

void
admin_view_alerts(struct buf *b, const struct look *look, const json_t *stats)
{
	static const struct grid_column columns[] = {
	    {NULL, false, 0}, {NULL, true, 0}, {NULL, false, 20}};

	admin_view_list(b, look, json_object_get(stats, "alerts"),
	    &ADMIN_VIEW_TABLE(columns, add_alert));
}

void
admin_view_stats(struct buf *b, const struct look *look, const json_t *stats)
{
	static const struct grid_column columns[] = {
	    {NULL, false, 0}, {NULL, true, 0}, {NULL, false, 10}};
	struct grid grid;

	grid_init(&grid, columns, 3);
	add_waiting(&grid, stats);
	add_done(&grid, stats);
	add_health(&grid, stats);
	grid_finish(&grid, b, look);
	if (json_array_size(json_object_get(stats, "alerts")) > 0) {
		buf_addc(b, '\n');
		admin_view_alerts(b, look, stats);
	}
}

/* Returns true if ${row} has time ${name}. */
static bool
has_time(const json_t *row, const char *name)
{

	return (render_time_of(row, name) != 0);
}

/* Returns true if ${row} is the sum of all destinations. */
static bool
is_everything(const json_t *row)
{
	const char *name = json_string_value(json_object_get(row, "name"));

	return (name != NULL && strcmp(name, "*") == 0);
}

/* Appends a cell with the state of the circuit breaker of ${row}. */
static void
add_breaker(struct grid *grid, const json_t *row)
{
	const char *state = json_string_value(json_object_get(row, "breaker"));
	enum style style = STYLE_YELLOW;

	if (has_time(row, "paused_at")) {
		buf_adds(grid_cell(grid, STYLE_YELLOW), "paused");
		return;
	}
	if (is_everything(row)) {
		buf_addc(grid_cell(grid, STYLE_DIM), '-');
		return;
	}
	if (state == NULL || strcmp(state, "closed") == 0)
		style = STYLE_GREEN;
	else if (strcmp(state, "open") == 0)
		style = STYLE_RED;
	render_member(grid_cell(grid, style), row, "breaker", "-");
}

/* Appends the reason why nothing, or little, is sent to ${row}. */
static void
add_trouble(struct grid *grid, const struct look *look, const json_t *row)
{
	struct buf *b = grid_note(grid, STYLE_DIM);
	size_t from = b->len;

	if (has_time(row, "paused_at")) {
		buf_adds(b, "paused ");
		admin_view_age(b, look, row, "paused_at");
		buf_adds(b, " ago by ");
		render_member(b, row, "paused_by", "?");
		if (json_is_string(json_object_get(row, "pause_reason"))) {
			buf_adds(b, ": ");
			render_member(b, row, "pause_reason", "");
		}
	}
	if (has_time(row, "failing_since")) {
		admin_view_sep(b, from);
		buf_adds(b, "failing for ");
		admin_view_age(b, look, row, "failing_since");
		if (has_time(row, "next_probe_at")) {
			buf_adds(b, ", next probe ");
			admin_view_due(b, look, row, "next_probe_at");
		}
		if (json_is_string(json_object_get(row, "last_error"))) {
			buf_adds(b, ": ");
			render_member(b, row, "last_error", "");
		}
	}
}

/* Appends ">" if the server stopped counting ${row} at its limit. */
static void
add_truncated(struct buf *b, const json_t *row)
{

	if (json_is_true(json_object_get(row, "truncated")))
		buf_adds(b, ">");
}

static void
add_destination(struct grid *grid, const struct look *look, const json_t *row)
{
	int64_t oldest = admin_view_integer(row, "oldest_pending_age_ms", 0);
	struct buf *b;

	render_member(grid_cell(grid, STYLE_PLAIN), row, "name", "?");
	add_breaker(grid, row);
	b = grid_cell(grid, STYLE_PLAIN);
	admin_view_count(b, row, "in_flight");
	if (admin_view_integer(row, "window", 0) > 0) {
		buf_addc(b, '/');
		admin_view_count(b, row, "window");
	}
	b = grid_cell(grid, STYLE_PLAIN);
	add_truncated(b, row);
	admin_view_count(b, row, "pending");
	b = grid_cell(grid, age_style(oldest));
	if (json_is_number(json_object_get(row, "oldest_pending_age_ms")))
		human_span(b, whole_seconds(oldest));
	else
		buf_addc(b, '-');
	b = grid_cell(grid, STYLE_PLAIN);
	if (admin_view_integer(row, "per_second", 0) > 0) {
		admin_view_count(b, row, "per_second");
		buf_adds(b, "/s");
	} else
		buf_addc(b, '-');
	admin_view_count(grid_cell(grid, STYLE_PLAIN), row, "lanes_ready");
	add_trouble(grid, look, row);
}

void
admin_view_destinations(
    struct buf *b, const struct look *look, const json_t *list)
{
	static const struct grid_column columns[] = {
	    {"DESTINATION", false, 16},
	    {"BREAKER", false, 0},
	    {"SENDING", true, 0},
	    {"PENDING", true, 0},
	    {"OLDEST", true, 0},
	    {"LIMIT", true, 0},
	    {"READY", true, 0},
	};

	admin_view_list(
	    b, look, list, &ADMIN_VIEW_TABLE(columns, add_destination));
}

#define BUCKETS_MAX (GRID_COLUMNS_MAX - 2)

/* Appends ${row} with its ${n} age buckets. */
static void
add_ages(struct grid *grid, const json_t *row, int n)
{
	const json_t *ages = json_object_get(row, "ages"), *age;
	struct buf *b;
	int i;

	grid_row(grid);
	render_member(grid_cell(grid, STYLE_PLAIN), row, "name", "?");
	b = grid_cell(grid, STYLE_BOLD);
	add_truncated(b, row);
	human_short(b, admin_view_integer(row, "pending", 0));
	for (i = 0; i < n; i++) {
		age = json_array_get(ages, (size_t)i);
		b = grid_cell(grid, json_integer_value(age) == 0 ? STYLE_DIM
				    : i < n / 4                  ? STYLE_PLAIN
				    : i < n / 2                  ? STYLE_YELLOW
								 : STYLE_RED);
		if (json_is_integer(age))
			human_short(b, json_integer_value(age));
		else
			buf_addc(b, '-');
	}
}

void
admin_view_ages(struct buf *b, const struct look *look, const json_t *answer)
{
	const json_t *limits = json_object_get(answer, "age_limits_ms");
	const json_t *list = json_object_get(answer, "destinations");
	struct grid_column columns[GRID_COLUMNS_MAX] = {
	    {"PENDING BY AGE", false, 16}, {"ALL", true, 0}};
	struct buf titles[BUCKETS_MAX];
	struct grid grid;
	size_t i;
	int n = 0;

	for (i = 0; json_array_size(limits) > 0 &&
		    i <= json_array_size(limits) && n < BUCKETS_MAX;
	     i++) {
		buf_init(&titles[n], 0);
		buf_addc(&titles[n], i < json_array_size(limits) ? '<' : '>');
		human_limit(
		    &titles[n], json_integer_value(json_array_get(limits,
				    i < json_array_size(limits) ? i : i - 1)));
		buf_addc(&titles[n], '\0');
		columns[2 + n].title = buf_ok(&titles[n]) ? titles[n].data : "";
		columns[2 + n].right = true;
		n++;
	}
	grid_init(&grid, columns, 2 + n);
	for (i = 0; i < json_array_size(list); i++)
		if (!is_everything(json_array_get(list, i)))
			add_ages(&grid, json_array_get(list, i), n);
	grid_finish(&grid, b, look);
	while (n-- > 0)
		buf_fini(&titles[n]);
}

/* Appends the holder of the lease of ${row}, and what is offered again. */
static void
add_lease(struct grid *grid, const struct look *look, const json_t *row)
{
	struct buf *b = grid_note(grid, STYLE_DIM);
	size_t from = b->len;

	if (json_is_string(json_object_get(row, "lease_owner"))) {
		buf_adds(b, "leased by ");
		render_member(b, row, "lease_owner", "?");
		buf_adds(b, ", ends ");
		admin_view_due(b, look, row, "lease_until");
		buf_addf(b, ", token %lld",
		    (long long)admin_view_integer(row, "lease_token", 0));
	}
	if (json_is_integer(json_object_get(row, "replay_seq"))) {
		admin_view_sep(b, from);
		buf_adds(b, "offers again from ");
		admin_view_count(b, row, "replay_seq");
	}
}

static void
add_lane(struct grid *grid, const struct look *look, const json_t *row)
{
	const char *state = json_string_value(json_object_get(row, "state"));
	bool leased = state != NULL && strcmp(state, "leased") == 0;
	struct buf *b;

	buf_addi(grid_cell(grid, STYLE_PLAIN),
	    admin_view_integer(row, "lane_id", 0));
	render_member(grid_cell(grid, STYLE_PLAIN), row, "to", "-");
	render_member(grid_cell(grid, STYLE_PLAIN), row, "class", "-");
	render_member(grid_cell(grid, leased ? STYLE_CYAN : STYLE_PLAIN), row,
	    "state", "-");
	admin_view_count(grid_cell(grid, STYLE_PLAIN), row, "pending");
	admin_view_count(grid_cell(grid, STYLE_PLAIN), row, "next_seq");
	admin_view_count(
	    grid_cell(grid, STYLE_PLAIN), row, "last_published_seq");
	admin_view_count(grid_cell(grid, STYLE_PLAIN), row, "tail_seq");
	b = grid_cell(grid, STYLE_PLAIN);
	if (has_time(row, "due_at"))
		admin_view_due(b, look, row, "due_at");
	else
		buf_addc(b, '-');
	add_lease(grid, look, row);
}

void
admin_view_lanes(struct buf *b, const struct look *look, const json_t *lanes)
{
	static const struct grid_column columns[] = {
	    {"LANE", true, 0},
	    {"TO", false, 12},
	    {"CLASS", false, 5},
	    {"STATE", false, 0},
	    {"PENDING", true, 0},
	    {"NEXT", true, 0},
	    {"SENT", true, 0},
	    {"TAIL", true, 0},
	    {"DUE", false, 4},
	};

	admin_view_list(b, look, lanes, &ADMIN_VIEW_TABLE(columns, add_lane));
}
