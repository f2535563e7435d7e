/* SPDX-License-Identifier: MIT */
/*
 * How the answers of /v1/admin look in a terminal: tables and facts, the same
 * for the admin commands and for `admin top`.  Pure: JSON in, text out. Members
 * that are missing, or not what they should be, are shown as "-".
 */
#ifndef CLI_ADMIN_VIEW_H
#define CLI_ADMIN_VIEW_H

#include <jansson.h>

#include "term/grid.h"

/* Member ${name} of ${json} as a whole number; ${other} without one. */
int64_t admin_view_integer(const json_t *json, const char *name, int64_t other);

/* Member ${name} of ${json} as a number; ${other} without one. */
double admin_view_number(const json_t *json, const char *name, double other);

/* Appends the count that is member ${name}, "-" without one. */
void admin_view_count(struct buf *b, const json_t *json, const char *name);

/* Appends the span of time that is member ${name} (milliseconds), "-" without
 * one. */
void admin_view_span(struct buf *b, const json_t *json, const char *name);

/* Appends how many seconds ago time ${name} was, "-" without one. */
void admin_view_age(struct buf *b, const struct look *look, const json_t *json,
    const char *name);

/* Appends when time ${name} will be, to the second: "in 40s", "now"; nothing
 * without one. */
void admin_view_due(struct buf *b, const struct look *look, const json_t *json,
    const char *name);

/* Appends "; " if something was appended to ${b} since it had ${from} bytes. */
void admin_view_sep(struct buf *b, size_t from);

/* A table: its columns, and how an object fills its row. */
struct admin_view_table {
	const struct grid_column *columns;
	int ncolumns;
	void (*add)(
	    struct grid *grid, const struct look *look, const json_t *row);
};

#define ADMIN_VIEW_TABLE(columns, add)                                         \
	((const struct admin_view_table){                                      \
	    columns, (int)(sizeof(columns) / sizeof((columns)[0])), add})

/* Appends ${table} with a row for each object of ${list}. */
void admin_view_list(struct buf *b, const struct look *look, const json_t *list,
    const struct admin_view_table *table);

/* GET /v1/admin/stats. */
void admin_view_stats(
    struct buf *b, const struct look *look, const json_t *stats);

/* The alerts in GET /v1/admin/stats, if there are any. */
void admin_view_alerts(
    struct buf *b, const struct look *look, const json_t *stats);

/* Entries of the outbox. */
void admin_view_outbox(
    struct buf *b, const struct look *look, const json_t *entries);

/* One message with its rows, their attempts and timelines. */
void admin_view_message(
    struct buf *b, const struct look *look, const json_t *message);

/* Dead letters. */
void admin_view_dead(
    struct buf *b, const struct look *look, const json_t *dead);

/* Destinations: breaker, window, what waits. */
void admin_view_destinations(
    struct buf *b, const struct look *look, const json_t *list);

/* Destinations by the age of what waits for them; ${answer} has both
 * "destinations" and "age_limits_ms". */
void admin_view_ages(
    struct buf *b, const struct look *look, const json_t *answer);

/* Lanes. */
void admin_view_lanes(
    struct buf *b, const struct look *look, const json_t *lanes);

/* Other servers. */
void admin_view_peers(
    struct buf *b, const struct look *look, const json_t *peers);

/* One of them, with its keys. */
void admin_view_peer(
    struct buf *b, const struct look *look, const json_t *peer);

/* Users. */
void admin_view_users(
    struct buf *b, const struct look *look, const json_t *users);

/* The audit log. */
void admin_view_audit(
    struct buf *b, const struct look *look, const json_t *entries);

#endif
