/* SPDX-License-Identifier: MIT */
/*
 * What the files of the operators' routes share: parameters, answers, and the
 * rendering of rows.  They show how messages fare, never what they say.
 */
#ifndef ADMIN_ROUTES_INTERNAL_H
#define ADMIN_ROUTES_INTERNAL_H

#include "admin/admin_internal.h"
#include "base/limits.h"
#include "inspect/inspect.h"
#include "rest/call.h"

/* Sending for longer than this is stuck; with no more retries left than this a
 * message is near its failure (R371, R373). */
#define ADMIN_STUCK_MS (30 * 60 * INT64_C(1000))
#define ADMIN_NEAR_FAILURE 3
/* Attempts of a row, and dead letters, that are shown. */
#define ADMIN_ATTEMPTS 200
#define ADMIN_DEATHS 50

/* ---- parameters (query.c); false: answered ---- */

/* The parameters before or after, a number from a page's next. */
bool admin_query_cursor(
    struct call *call, const char *name, int64_t otherwise, int64_t *ret);

/* The number in the path; what is none is not found. */
bool admin_path_number(
    struct call *call, const char *name, const char *what, int64_t *ret);

/* Names that a filter gives; "" or NULL: none. */
struct admin_names {
	const char *sender, *destination;
	bool in_body; /* members of "filter", else parameters */
};

/* Finds them: *ret_sender 0 and *ret_destination -1 for none.  RC_NOT_FOUND:
 * one is unknown, which is answered.  Thread: reader. */
enum rc admin_resolve(struct call *call, struct db *db,
    const struct admin_names *names, int64_t *ret_sender,
    int64_t *ret_destination, struct err *err) MUST_USE;

/* The words of reasons (model/outbox.h). */
#define ADMIN_REASONS                                                          \
	"max_retries, rejected, expired, poison, discarded or too_large"

/* Copies ${n} bytes if they are one of them. */
bool admin_reason_read(
    const char *text, size_t n, char ret[INSPECT_REASON_SIZE]);

/* Which dead letters a query asks for (dead_letters.c). */
struct admin_dead_query {
	struct admin_names names;
	struct inspect_dead_letter_filter filter;
};

/* Reads the parameters reason, sender, destination and resolved; the names
 * are found later. */
bool admin_dead_query(struct call *call, struct admin_dead_query *ret);

/* ---- answers (render.c) ---- */

/* Ends a list: member "next" and the Link header, both null without ${more};
 * ${cursor} is the parameter's name. */
void admin_next(
    struct call *call, struct buf *b, const char *cursor, int64_t next);
void admin_next_text(
    struct call *call, struct buf *b, const char *cursor, const char *next);

/* A list: {"${name}":[…],"next":…}, where ${cursor} is the parameter that a
 * next page is asked for by.  ${rows} appends a page's objects; in *ret_next
 * the number behind the last, 0 without more; RC_NOT_FOUND: what was asked for
 * is unknown, which it has answered. */
struct admin_list {
	const char *name, *cursor;
	enum rc (*rows)(struct call *call, struct db *db, struct buf *b,
	    int64_t *ret_next, struct err *err);
};

/* Answers with a page of ${list}.  Thread: reader. */
enum rc admin_list_read(struct call *call, struct db *db,
    const struct admin_list *list, struct err *err) MUST_USE;

/* Member ${name}: ${number}, null for 0. */
void admin_number(struct buf *b, const char *name, int64_t number);

/* A row's members without its braces; ${count} is what the number of its
 * attempts is called. */
void admin_row_members(
    struct buf *b, const struct inspect_outbox_row *row, const char *count);

/* A dead letter as an object. */
void admin_dead_letter(struct buf *b, const struct inspect_dead_letter *dead);

/* Appends {…} of all that is known of message ${id}; RC_NOT_FOUND
 * (message.c). Thread: reader. */
enum rc admin_show(struct db *db, const struct uuid *id, struct buf *b,
    struct err *err) MUST_USE;

/* What the relay says of itself; mem_free() it; NULL: no memory
 * (stats.c). */
struct relay_stats *admin_relay(struct admin *admin);

/* Handlers; the argument is the rest. */
void admin_stats_get(struct http_request *req, void *arg);
void admin_outbox_get(struct http_request *req, void *arg);
void admin_message_get(struct http_request *req, void *arg);
void admin_retry_post(struct http_request *req, void *arg);
void admin_discard_post(struct http_request *req, void *arg);
void admin_dead_get(struct http_request *req, void *arg);
void admin_export_get(struct http_request *req, void *arg);
void admin_dead_requeue_post(struct http_request *req, void *arg);
void admin_dead_discard_post(struct http_request *req, void *arg);
void admin_destinations_get(struct http_request *req, void *arg);
void admin_pause_post(struct http_request *req, void *arg);
void admin_resume_post(struct http_request *req, void *arg);
void admin_destination_patch(struct http_request *req, void *arg);
void admin_lanes_get(struct http_request *req, void *arg);
void admin_rewind_post(struct http_request *req, void *arg);
void admin_users_get(struct http_request *req, void *arg);
void admin_audit_get(struct http_request *req, void *arg);

#endif
