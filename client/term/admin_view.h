/* SPDX-License-Identifier: MIT */
/*
 * How the answers of /v1/admin look in a terminal: tables and facts, shared by
 * the admin commands and `admin top`.  Pure functions: JSON in, text out.  A
 * member that is missing or has the wrong type is shown as "-", "?" or 0, or is
 * left out.
 */
#ifndef CLI_ADMIN_VIEW_H
#define CLI_ADMIN_VIEW_H

#include <jansson.h>

#include "term/grid.h"

/* Returns member ${name} of ${json} as a whole number, or ${other} if it is
 * missing or not a number.  Cuts off a fraction.  A real beyond the range
 * becomes INT64_MIN or INT64_MAX. */
int64_t admin_view_integer(const json_t *json, const char *name, int64_t other);

/* Returns member ${name} of ${json} as a number, or ${other} if it is missing
 * or not a number. */
double admin_view_number(const json_t *json, const char *name, double other);

/* Appends member ${name}, a count; "-" if it is missing. */
void admin_view_count(struct buf *b, const json_t *json, const char *name);

/* Appends member ${name}, a duration in milliseconds; "-" if it is missing. */
void admin_view_span(struct buf *b, const json_t *json, const char *name);

/* Appends the age at look->now_ms of the time in member ${name} of ${json},
 * rounded down to a second: "3m 20s"; "0s" for a later time; "-" if the member
 * is missing or not a time. */
void admin_view_age(struct buf *b, const struct look *look, const json_t *json,
    const char *name);

/* Appends the time from look->now_ms until the time in member ${name} of
 * ${json}, rounded up to a second: "in 40s"; "now" if it has come.  Appends
 * nothing if the member is missing or not a time. */
void admin_view_due(struct buf *b, const struct look *look, const json_t *json,
    const char *name);

/* Appends "; " if ${b} has grown since it had ${from} bytes. */
void admin_view_sep(struct buf *b, size_t from);

/* A table: its columns, and the function that adds an object as a row. */
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

/* Appends the statistics: GET /v1/admin/stats. */
void admin_view_stats(
    struct buf *b, const struct look *look, const json_t *stats);

/* Appends the alerts in the statistics, if there are any. */
void admin_view_alerts(
    struct buf *b, const struct look *look, const json_t *stats);

/* Appends entries of the outbox. */
void admin_view_outbox(
    struct buf *b, const struct look *look, const json_t *entries);

/* Appends one message with its rows, their attempts and timelines. */
void admin_view_message(
    struct buf *b, const struct look *look, const json_t *message);

/* Appends dead letters. */
void admin_view_dead(
    struct buf *b, const struct look *look, const json_t *dead);

/* Appends destinations: breaker, window, waiting messages. */
void admin_view_destinations(
    struct buf *b, const struct look *look, const json_t *list);

/* Appends a table with a row for each destination: the number of messages that
 * wait for it, in all and by age.  ${answer} has both "destinations" and
 * "age_limits_ms".  Leaves out "*", the sum of all destinations, and shows at
 * most ten ranges of ages. */
void admin_view_ages(
    struct buf *b, const struct look *look, const json_t *answer);

/* Appends lanes. */
void admin_view_lanes(
    struct buf *b, const struct look *look, const json_t *lanes);

/* Appends other servers. */
void admin_view_peers(
    struct buf *b, const struct look *look, const json_t *peers);

/* Appends one other server with its keys. */
void admin_view_peer(
    struct buf *b, const struct look *look, const json_t *peer);

/* Appends users. */
void admin_view_users(
    struct buf *b, const struct look *look, const json_t *users);

/* Appends entries of the audit log. */
void admin_view_audit(
    struct buf *b, const struct look *look, const json_t *entries);

#endif
