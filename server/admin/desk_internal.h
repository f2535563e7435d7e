/* SPDX-License-Identifier: MIT */
/*
 * What the files of the operator's desk share: parameters, answers, and the
 * rendering of rows.  The desk shows how messages fare, never what they say.
 */
#ifndef ADMIN_DESK_INTERNAL_H
#define ADMIN_DESK_INTERNAL_H

#include "admin/admin_internal.h"
#include "base/limits.h"
#include "inspect/inspect.h"
#include "rest/ask.h"

/* Sending for longer than this is stuck; with no more retries left than this a
 * message is near its failure (R371, R373). */
#define DESK_STUCK_MS (30 * 60 * INT64_C(1000))
#define DESK_NEAR_FAILURE 3
/* Attempts of a row, and dead letters, that are shown. */
#define DESK_ATTEMPTS 200
#define DESK_DEATHS 50

/* ---- parameters (desk_query.c); false: answered ---- */

/* The parameters before or after, a number from a page's next. */
bool desk_query_cursor(
    struct ask *ask, const char *name, int64_t otherwise, int64_t *ret);

/* The number in the path; what is none is not found. */
bool desk_path_number(
    struct ask *ask, const char *name, const char *what, int64_t *ret);

/* Names that a filter gives; "" or NULL: none. */
struct desk_names {
	const char *sender, *destination;
	bool in_body; /* members of "filter", else parameters */
};

/* Finds them: *ret_sender 0 and *ret_destination -1 for none.  RC_NOT_FOUND:
 * one is unknown, which is answered.  Thread: reader. */
enum rc desk_resolve(struct ask *ask, struct db *db,
    const struct desk_names *names, int64_t *ret_sender,
    int64_t *ret_destination, struct err *err) MUST_USE;

/* The words of reasons (model/outbox.h). */
#define DESK_REASONS                                                           \
	"max_retries, rejected, expired, poison, discarded or too_large"

/* Copies ${n} bytes if they are one of them. */
bool desk_reason_read(
    const char *text, size_t n, char ret[INSPECT_REASON_SIZE]);

/* Which dead letters a query asks for (desk_dead.c). */
struct desk_dead_query {
	struct desk_names names;
	struct inspect_dead_letter_filter filter;
};

/* Reads the parameters reason, sender, destination and resolved; the names
 * are found later. */
bool desk_dead_query(struct ask *ask, struct desk_dead_query *ret);

/* ---- answers (desk_render.c) ---- */

/* Ends a list: member "next" and the Link header, both null without ${more};
 * ${cursor} is the parameter's name. */
void desk_next(
    struct ask *ask, struct buf *b, const char *cursor, int64_t next);
void desk_next_text(
    struct ask *ask, struct buf *b, const char *cursor, const char *next);

/* A list: {"${name}":[…],"next":…}, where ${cursor} is the parameter that a
 * next page is asked for by.  ${rows} appends a page's objects; in *ret_next
 * the number behind the last, 0 without more; RC_NOT_FOUND: what was asked for
 * is unknown, which it has answered. */
struct desk_list {
	const char *name, *cursor;
	enum rc (*rows)(struct ask *ask, struct db *db, struct buf *b,
	    int64_t *ret_next, struct err *err);
};

/* Answers with a page of ${list}.  Thread: reader. */
enum rc desk_list_read(struct ask *ask, struct db *db,
    const struct desk_list *list, struct err *err) MUST_USE;

/* Member ${name}: ${number}, null for 0. */
void desk_number(struct buf *b, const char *name, int64_t number);

/* A row's members without its braces; ${count} is what the number of its
 * attempts is called. */
void desk_row_members(
    struct buf *b, const struct inspect_outbox_row *row, const char *count);

/* A dead letter as an object. */
void store_dead_letter(struct buf *b, const struct inspect_dead_letter *dead);

/* Appends {…} of all that is known of message ${id}; RC_NOT_FOUND
 * (desk_show.c). Thread: reader. */
enum rc desk_show(struct db *db, const struct uuid *id, struct buf *b,
    struct err *err) MUST_USE;

/* What the relay says of itself; mem_free() it; NULL: no memory
 * (desk_stats.c). */
struct relay_stats *desk_relay(struct admin *admin);

/* Handlers; the argument is the rest. */
void desk_stats_get(struct http_request *req, void *arg);
void desk_outbox_get(struct http_request *req, void *arg);
void desk_message_get(struct http_request *req, void *arg);
void desk_retry_post(struct http_request *req, void *arg);
void desk_discard_post(struct http_request *req, void *arg);
void desk_dead_get(struct http_request *req, void *arg);
void desk_export_get(struct http_request *req, void *arg);
void desk_dead_requeue_post(struct http_request *req, void *arg);
void desk_dead_discard_post(struct http_request *req, void *arg);
void desk_destinations_get(struct http_request *req, void *arg);
void desk_pause_post(struct http_request *req, void *arg);
void desk_resume_post(struct http_request *req, void *arg);
void desk_destination_patch(struct http_request *req, void *arg);
void desk_lanes_get(struct http_request *req, void *arg);
void desk_rewind_post(struct http_request *req, void *arg);
void desk_users_get(struct http_request *req, void *arg);
void desk_audit_get(struct http_request *req, void *arg);

#endif
