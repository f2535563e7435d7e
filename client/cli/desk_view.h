/* SPDX-License-Identifier: MIT */
/*
 * What an operator sees of the desk's answers: tables and facts, the same for
 * the commands and for the live view.  Pure: JSON in, text out.  Members that
 * are missing, or not what they should be, are shown as "-".
 */
#ifndef CLI_DESK_VIEW_H
#define CLI_DESK_VIEW_H

#include <jansson.h>

#include "cli/grid.h"

/* Member ${name} of ${json} as a whole number; ${other} without one. */
int64_t view_integer(const json_t *json, const char *name, int64_t other);

/* Member ${name} of ${json} as a number; ${other} without one. */
double view_number(const json_t *json, const char *name, double other);

/* Appends the count that is member ${name}, "-" without one. */
void view_count(struct buf *b, const json_t *json, const char *name);

/* Appends the span of time that is member ${name} (milliseconds), "-" without
 * one. */
void view_span(struct buf *b, const json_t *json, const char *name);

/* Appends how many seconds ago time ${name} was, "-" without one. */
void view_age(struct buf *b, const struct look *look, const json_t *json,
    const char *name);

/* Appends when time ${name} will be, to the second: "in 40s", "now"; nothing
 * without one. */
void view_due(struct buf *b, const struct look *look, const json_t *json,
    const char *name);

/* Appends "; " if something was appended to ${b} since it had ${from} bytes. */
void view_sep(struct buf *b, size_t from);

/* A table: its columns, and how an object fills its row. */
struct view_table {
	const struct grid_column *columns;
	int ncolumns;
	void (*add)(
	    struct grid *grid, const struct look *look, const json_t *row);
};

#define VIEW_TABLE(columns, add)                                               \
	((const struct view_table){                                            \
	    columns, (int)(sizeof(columns) / sizeof((columns)[0])), add})

/* Appends ${table} with a row for each object of ${list}. */
void view_list(struct buf *b, const struct look *look, const json_t *list,
    const struct view_table *table);

/* GET /v1/admin/stats. */
void view_stats(struct buf *b, const struct look *look, const json_t *stats);

/* The alerts in GET /v1/admin/stats, if there are any. */
void view_alerts(struct buf *b, const struct look *look, const json_t *stats);

/* Entries of the outbox. */
void view_outbox(struct buf *b, const struct look *look, const json_t *entries);

/* One message with its rows, their attempts and timelines. */
void view_message(
    struct buf *b, const struct look *look, const json_t *message);

/* Dead letters. */
void view_dead(struct buf *b, const struct look *look, const json_t *dead);

/* Destinations: breaker, window, what waits. */
void view_destinations(
    struct buf *b, const struct look *look, const json_t *list);

/* Destinations by the age of what waits for them; ${answer} has both
 * "destinations" and "age_limits_ms". */
void view_ages(struct buf *b, const struct look *look, const json_t *answer);

/* Lanes. */
void view_lanes(struct buf *b, const struct look *look, const json_t *lanes);

/* Users. */
void view_users(struct buf *b, const struct look *look, const json_t *users);

/* The audit log. */
void view_audit(struct buf *b, const struct look *look, const json_t *entries);

#endif
