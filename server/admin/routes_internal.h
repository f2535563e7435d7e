/* SPDX-License-Identifier: MIT */
/*
 * The operators' routes share parameters, answers, and the rendering of rows.
 * They show the state of messages, never their text.
 */
#ifndef ADMIN_ROUTES_INTERNAL_H
#define ADMIN_ROUTES_INTERNAL_H

#include "admin/admin_internal.h"
#include "base/limits.h"
#include "inspect/inspect.h"
#include "rest/call.h"

/* A message that has been in the state `sending` for more than ADMIN_STUCK_MS
 * is stuck.  A message with at most ADMIN_NEAR_FAILURE retries left is near its
 * failure (R371, R373). */
#define ADMIN_STUCK_MS (30 * 60 * INT64_C(1000))
#define ADMIN_NEAR_FAILURE 3
/* Attempts of a row, and dead letters, that are shown at most. */
#define ADMIN_ATTEMPTS 200
#define ADMIN_DEAD_LETTERS 50

/* ---- parameters (query.c); false: answered ---- */

/* Reads parameter ${name} (before or after), a number of a page's "next". */
bool admin_query_cursor(
    struct call *call, const char *name, int64_t otherwise, int64_t *ret);

/* Reads the number in the path.  If it is not a number the answer is 404. */
bool admin_path_number(
    struct call *call, const char *name, const char *what, int64_t *ret);

/* The names of a filter; "" or NULL: not given. */
struct admin_names {
	const char *sender, *destination;
	bool in_body; /* members of "filter", else parameters */
};

/* Finds the ids of ${names}: *ret_sender is 0, *ret_destination -1 for a name
 * that is not given.  RC_NOT_FOUND: a name is unknown, and the request is
 * answered.  Thread: reader. */
enum rc admin_resolve(struct call *call, struct db *db,
    const struct admin_names *names, int64_t *ret_sender,
    int64_t *ret_destination, struct err *err) MUST_USE;

/* The words of reasons (model/outbox.h). */
#define ADMIN_REASONS                                                          \
	"max_retries, rejected, expired, poison, discarded or too_large"

/* Copies the ${n} bytes of ${text} if they are one of these words. */
bool admin_reason_read(
    const char *text, size_t n, char ret[INSPECT_REASON_SIZE]);

/* The filter of a list of dead letters (dead_letters.c). */
struct admin_dead_query {
	struct admin_names names;
	struct inspect_dead_letter_filter filter;
};

/* Reads the parameters reason, sender, destination and resolved; the names
 * are found later. */
bool admin_dead_query(struct call *call, struct admin_dead_query *ret);

/* ---- answers (render.c) ---- */

/* Ends a list: adds member "next" and the Link header of the page that begins
 * at parameter ${cursor} = ${next}.  0 or NULL: there is no next page, "next"
 * is null and the header absent. */
void admin_next(
    struct call *call, struct buf *b, const char *cursor, int64_t next);
void admin_next_text(
    struct call *call, struct buf *b, const char *cursor, const char *next);

/* A list: {"${name}":[…],"next":…}; ${cursor} is the parameter of the next
 * page.
 * ${rows} appends the objects of a page.  It sets *ret_next to the cursor of
 * the next page, 0 without one.  RC_NOT_FOUND: it has answered that a name is
 * unknown. */
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

/* Appends the members of ${row} without its braces; ${count} is the name of the
 * member with the number of its attempts. */
void admin_row_members(
    struct buf *b, const struct inspect_outbox_row *row, const char *count);

/* Appends a dead letter as an object. */
void admin_dead_letter(struct buf *b, const struct inspect_dead_letter *dead);

/* Appends all that is known of message ${id} as an object; RC_NOT_FOUND
 * (message.c).  Thread: reader. */
enum rc admin_show(struct db *db, const struct uuid *id, struct buf *b,
    struct err *err) MUST_USE;

/* Begins the object of ${u}: a brace and its members, without the brace behind
 * them (people.c). */
void admin_user_members(struct buf *b, const struct inspect_user *u);

/* The statistics of the relay, which the caller frees with mem_free(); NULL: no
 * memory (stats.c). */
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
