/* SPDX-License-Identifier: MIT */
/*
 * Shared by the admin routes: parameters, answers, and the rendering of rows.
 * The routes show the state of messages, never their text.
 */
#ifndef ADMIN_ROUTES_INTERNAL_H
#define ADMIN_ROUTES_INTERNAL_H

#include "admin/admin_internal.h"
#include "base/limits.h"
#include "inspect/inspect.h"
#include "rest/call.h"

/* An outbox row is stuck if it has been in the state `sending` for
 * ADMIN_STUCK_MS or longer.  It is near its failure if it is pending or being
 * sent, was retried, and has at most ADMIN_NEAR_FAILURE retries left (R371 and
 * R373 of docs/requirements.md). */
#define ADMIN_STUCK_MS (30 * 60 * INT64_C(1000))
#define ADMIN_NEAR_FAILURE 3
/* The most attempts, and the most dead letters, that are shown of one row. */
#define ADMIN_ATTEMPTS 200
#define ADMIN_DEAD_LETTERS 50

/* ---- parameters (query.c) ---- */

/* Functions that return false have refused the request and answered it. */

/* Reads the query parameter ${name} ("before" or "after"): the value of "next"
 * in the previous page.  If the parameter is absent, sets *ret to ${otherwise}
 * and returns true.  If it is not a number, answers 400 and returns false. */
bool admin_query_cursor(
    struct call *call, const char *name, int64_t otherwise, int64_t *ret);

/* Reads the number ${name} in the path.  If it is not a number, answers 404
 * with the detail ${what}, and returns false. */
bool admin_path_number(
    struct call *call, const char *name, const char *what, int64_t *ret);

/* The names in a filter.  NULL or "": not given. */
struct admin_names {
	const char *sender, *destination;
	bool in_body; /* members of "filter", not parameters */
};

/* Finds the ids of the sender and of the destination in ${names}.  If no sender
 * is given, *ret_sender is 0.  If no destination is given, or "*" (all
 * destinations), *ret_destination is -1.  RC_NOT_FOUND: a name is unknown, and
 * the request has been answered, so the call may be freed already.  After any
 * other error the request is not answered.  Thread: reader. */
enum rc admin_resolve(struct call *call, struct db *db,
    const struct admin_names *names, int64_t *ret_sender,
    int64_t *ret_destination, struct err *err) MUST_USE;

/* The words for reasons (model/outbox.h). */
#define ADMIN_REASONS                                                          \
	"max_retries, rejected, expired, poison, discarded or too_large"

/* Copies the ${n} bytes of ${text}, and a NUL, to ${ret}.  Returns false if the
 * text is not one of the words of ADMIN_REASONS, or does not fit; does not
 * answer the request, so the caller must do so. */
bool admin_reason_read(
    const char *text, size_t n, char ret[INSPECT_REASON_SIZE]);

/* The filter of a list of dead letters (dead_letters.c). */
struct admin_dead_query {
	struct admin_names names;
	struct inspect_dead_letter_filter filter;
};

/* Reads the query parameters reason, sender, destination and resolved (without
 * "resolved", only open dead letters are listed) into ${ret}, which must be
 * zeroed.  Does not look up the ids of the names; admin_resolve() does.  If a
 * parameter is wrong, answers 400 and returns false. */
bool admin_dead_query(struct call *call, struct admin_dead_query *ret);

/* ---- answers (render.c) ---- */

/* Called behind the array of a list: append the member "next", with the value
 * ${next}, to ${b}, and add a header Link to the answer.  The link points to
 * the next page: the path of this request, with the query parameter ${cursor}
 * set to ${next} and the other query parameters of this request.  If ${next} is
 * 0 or NULL, there is no next page: "next" is null, and there is no header. */
void admin_next(
    struct call *call, struct buf *b, const char *cursor, int64_t next);
void admin_next_text(
    struct call *call, struct buf *b, const char *cursor, const char *next);

/* A list, which is answered as {"${name}":[…],"next":…}.  ${cursor} is the name
 * of the query parameter for the next page.  ${rows} appends the objects of a
 * page to ${b}, and sets *ret_next to the value of the cursor for the next
 * page, or to 0 if this is the last.  If ${rows} returns RC_NOT_FOUND, the
 * sender or destination by which the request filters is unknown, and ${rows}
 * has answered the request; after any other error it has not. */
struct admin_list {
	const char *name, *cursor;
	enum rc (*rows)(struct call *call, struct db *db, struct buf *b,
	    int64_t *ret_next, struct err *err);
};

/* Answers with a page of ${list}.  Thread: reader. */
enum rc admin_list_read(struct call *call, struct db *db,
    const struct admin_list *list, struct err *err) MUST_USE;

/* Writes member ${name} with ${number}.  0 is written as null. */
void admin_number(struct buf *b, const char *name, int64_t number);

/* Writes the members of ${row} without its braces.  ${count} is the name of the
 * member with the number of attempts. */
void admin_row_members(
    struct buf *b, const struct inspect_outbox_row *row, const char *count);

/* Writes a dead letter as an object. */
void admin_dead_letter(struct buf *b, const struct inspect_dead_letter *dead);

/* Appends message ${id} to ${b} as an object: without its text, with at most
 * 256 of its outbox rows, each with its attempts and its timeline (message.c).
 * RC_NOT_FOUND: there is no such message.  After any error ${b} is incomplete.
 * Does not answer the request.  Thread: reader. */
enum rc admin_show(struct db *db, const struct uuid *id, struct buf *b,
    struct err *err) MUST_USE;

/* Begins the object of ${u}: writes a brace and the members, but no closing
 * brace (people.c). */
void admin_user_members(struct buf *b, const struct inspect_user *u);

/* Returns the statistics of the relay (the thread that decides when rows of the
 * outbox are delivered), or NULL if there is no memory.  The caller frees them
 * with mem_free().  If the program runs no relay, all of them are 0 (stats.c).
 */
struct relay_stats *admin_relay(struct admin *admin);

/* Handlers.  The argument is the struct rest. */
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
void admin_peers_get(struct http_request *req, void *arg);
void admin_peer_get(struct http_request *req, void *arg);
void admin_peer_pin_post(struct http_request *req, void *arg);
void admin_peer_unpin_post(struct http_request *req, void *arg);
void admin_peer_forget_post(struct http_request *req, void *arg);
void admin_peer_block_post(struct http_request *req, void *arg);
void admin_peer_unblock_post(struct http_request *req, void *arg);
void admin_users_get(struct http_request *req, void *arg);
void admin_user_disable_post(struct http_request *req, void *arg);
void admin_user_enable_post(struct http_request *req, void *arg);
void admin_user_promote_post(struct http_request *req, void *arg);
void admin_user_demote_post(struct http_request *req, void *arg);
void admin_user_password_post(struct http_request *req, void *arg);
void admin_audit_get(struct http_request *req, void *arg);

#endif
