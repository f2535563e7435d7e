/* SPDX-License-Identifier: MIT */
/*
 * A call is a request that is being handled, perhaps by several threads one
 * after the other.  The functions of this header hand it to other threads, read
 * its parameters and its body, and answer it.  The handlers of all modules that
 * have routes use them.
 *
 * Life of a call
 *  1. It lies in the request's memory (http_alloc()), so it is never freed by
 *     hand.  The jobs (for the readers and the argon2 pool) and the units of
 *     work (for the writer) that serve the call are embedded in it.
 *  2. A thread ends its work on the call by exactly one function that answers
 *     the request, or that hands the call to another thread (call_read(),
 *     call_submit(), call_hash()).  This is its last step: once the function is
 *     called, another thread may free the request, and the call in it.
 *  3. rest_busy() counts the request from rest_enter() until a function has
 *     answered it; the client need not have the answer yet.  With an answer in
 *     pieces, the request is not counted while a piece is being sent.
 */
#ifndef REST_CALL_H
#define REST_CALL_H

#include "base/container.h"
#include "base/uuid.h"
#include "rest/pool.h"
#include "rest/rest.h"
#include "wire/json.h"
#include "wire/wire.h"

/* ---- calls (call.c) ---- */

struct call;

/* Reads from the store, and then answers the request or hands the call to
 * another thread.  If this function returns an error, it must have done
 * neither: call.c then answers with ${err}, or cuts off an answer in pieces.
 * Thread: reader. */
typedef enum rc (*call_read_fn)(
    struct call *call, struct db *db, struct err *err);

struct call {
	struct rest *rest;
	void *module; /* of the route: struct api or struct admin */
	struct http_request *req;
	const struct principal *principal; /* NULL: not logged in */
	uint64_t owner; /* the user, or else the client's network */
	/* The page's length at the last check of its client; see
	 * call_page_full(). */
	size_t checked_len;
	struct read_job job;
	call_read_fn read;
};

/* Makes a call of ${size} bytes, which begin with a struct call; the rest is
 * zeroed.  It is freed with the request.  Before this call, rest_enter() must
 * have returned true for the request.  Returns NULL if there is no memory; this
 * function has then answered the request. */
void *call_new(struct rest *rest, struct http_request *req, size_t size);

/* Makes a reader's thread call ${read}, and does not wait for it.  If the
 * readers' queue, or the part of it for call->owner, is full, or the readers
 * are stopping or cannot read the database, ${read} is not called, and the
 * request is answered with an error. */
void call_read(struct call *call, call_read_fn read);

/* Hands ${unit}, a change of the database, to the writer's thread, and does not
 * wait for it: the unit's function finish, which may run before this function
 * returns, answers the request.  Returns false if the writer did not take
 * the unit; then this function has answered the request, and finish is not
 * called. */
bool call_submit(struct call *call, struct unit *unit);

/* Makes a thread of the argon2 pool call ${run}, and does not wait for it.
 * Sets run and class of ${job}, and the client's network as its owner (pool.c).
 * If the pool does not take the job (pool_submit()), this function answers the
 * request, and ${run} is not called. */
void call_hash(struct call *call, struct pool_job *job, enum pool_class class,
    void (*run)(struct pool_job *job));

/* The function finish of a unit calls this first.  Returns true if ${unit} has
 * succeeded (its rc is RC_OK) and ${refusal}, which the unit may have set, is
 * empty.  Otherwise answers the request and returns false: if the rc is not
 * RC_OK, the answer is the problem for that rc, else ${refusal}. */
bool call_unit_ok(
    struct call *call, const struct unit *unit, const struct refusal *refusal);

/* Checks again, for a request that was authorized and then has waited, whether
 * its token is valid and its user may use the route; does not answer the
 * request.  RC_NOT_FOUND: meanwhile the token was revoked, or its user was
 * disabled.  RC_DENIED: the route is for administrators, and the user has lost
 * this right.  Another error: the token could not be looked up in the store.
 * Thread: the owner of ${db}. */
enum rc rest_still_admitted(
    struct call *call, struct db *db, struct err *err) MUST_USE;

/* Answers 401, with a detail that says how to get a token (caller.c). */
void caller_refuse_stranger(struct call *call);

/* Answers 403, because the route is for administrators (caller.c). */
void caller_refuse_user(struct call *call);

/* ---- answers (call.c) ---- */

/* These functions answer the request: call_json() with JSON, call_empty()
 * without a body, call_page() with any content, call_refuse() with a refusal,
 * call_fail() with an error, which is logged if the status is 500, and
 * call_problem() with a problem and a formatted detail.  Those that have a
 * ${body} take its content.  After any of them the request, and with it the
 * call, may be freed.  Thread: any. */
void call_json(struct call *call, int status, struct buf *body);
void call_empty(struct call *call, int status);
void call_page(
    struct call *call, int status, const char *content_type, struct buf *body);
void call_refuse(struct call *call, const struct refusal *r);
void call_fail(struct call *call, const struct err *err);
void call_problem(struct call *call, enum problem p, const char *pointer,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Answers in pieces (http_answer_pieces()).  Sends ${first} and takes its
 * content; without memory for it the client gets a 503.  Each time a piece has
 * gone out, a reader calls ${next}, which passes one piece to call_piece();
 * HTTP_PIECE_LAST ends the answer.  The answer is cut off if ${next} returns an
 * error, the token was revoked or cannot be checked, the user may no longer use
 * the route, the readers do not take the job or cannot read the database, there
 * is no memory for a later piece, or the server is stopping when a piece has
 * gone out. */
void call_pieces(struct call *call, const char *content_type, struct buf *first,
    call_read_fn next);
void call_piece(struct call *call, enum http_piece kind, struct buf *piece);

/* Logs ${err}, and nothing else.  For a caller that must end an answer in
 * pieces because of ${err}: the answer has begun, so its status cannot report
 * the error any more. */
void call_log_failed(const struct call *call, const struct err *err);

/* Called before an item is added to ${b}, a page of a list.  Returns true if
 * the page must end without the item: an item of LIMIT_ITEM_BYTES would exceed
 * LIMIT_PAGE_BYTES, or the client has left (http_client_left()), which is
 * checked only after each 64 KiB of the page.  The caller then ends the page
 * with has_more true.  Thread: reader. */
bool call_page_full(struct call *call, const struct buf *b);

/* Like call_json(), with the header ETag, made from the body.  Answers 304
 * without the body if ${status} is 200 and the request's If-None-Match contains
 * that ETag or "*". */
void call_json_tagged(struct call *call, int status, struct buf *body);

#define CALL_ETAG_SIZE 24

/* Makes the ETag of a body, from its hash. */
void call_etag_make(const struct buf *body, char ret[CALL_ETAG_SIZE]);

/* Adds a header Link, which points to the next page, to the answer that the
 * caller gives after this.  ${fmt} gives the path with the query of that page;
 * this text is cut after 255 bytes. */
void call_link_next(struct call *call, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- parameters and bodies (call_query.c) ---- */

/* Each function of this section, except call_number_parse(), returns false if
 * it has refused and answered the request. */

/* Answers 400 and returns false if the request has a query parameter that is
 * not in ${allowed}, or one that is given twice.  ${allowed} must have at most
 * 32 names, and NULL behind them. */
bool call_query_check(struct call *call, const char *const *allowed);

/* Reads the query parameter ${name}, decimal digits.  If it is absent, returns
 * true and leaves *ret as it is.  If it is not a number from ${min} to ${max},
 * answers 400 and returns false. */
bool call_query_i64(struct call *call, const char *name, int64_t min,
    int64_t max, int64_t *ret);

/* Reads the parameter "limit", from 1 to LIMIT_PAGE_MAX; LIMIT_PAGE_DEFAULT if
 * it is absent. */
bool call_query_limit(struct call *call, int64_t *ret);

/* Reads a parameter that is an id; *ret_present is false if it is absent. */
bool call_query_uuid(
    struct call *call, const char *name, bool *ret_present, struct uuid *ret);

/* Reads the id in the path, the placeholder {id} of the route.  If its text
 * does not have the form of an id, answers 404 with the detail ${what}, and
 * returns false. */
bool call_path_uuid(struct call *call, const char *what, struct uuid *ret);

/* Parses ${text}, which may have only decimal digits.  Returns false, with *ret
 * unchanged, if ${text} is empty, has another character, or is above INT64_MAX.
 * Does not answer the request. */
bool call_number_parse(const char *text, int64_t *ret);

/* Parses the body into ${doc}, and reads it as an object by the ${n} rows of
 * ${fields} (wire_object()).  With ${fields} NULL the body may be any JSON, and
 * is only parsed.  If the body is empty, cannot be parsed or does not match
 * ${fields}, or memory runs out, answers the request and returns false.  ${doc}
 * must lie in the request's memory; its content is freed with the request, also
 * after a failure. */
bool call_body(struct call *call, struct wire_doc *doc,
    const struct wire_field *fields, size_t n);

/* Like call_body(), but the body may be absent: then returns true, and ${doc}
 * and the results of ${fields} are left as they are.  With ${fields} NULL (and
 * ${n} 0), a body that is not absent must be {}. */
bool call_body_if_any(struct call *call, struct wire_doc *doc,
    const struct wire_field *fields, size_t n);

#endif
