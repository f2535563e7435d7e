/* SPDX-License-Identifier: MIT */
/*
 * A call is a request on its way through other threads: how it gets there, how
 * its parameters and body are read, and how it is answered.  For the handlers
 * of all modules that have routes.
 *
 * Life of a call
 *  1. It lies in the request's memory (http_alloc()), so it is never freed by
 *     hand.  Jobs and units that are handed to other threads are embedded in
 *     it.
 *  2. A handler calls exactly one of the call_* functions that answer, as its
 *     last step: after that the request, and the call in it, may be freed.  The
 *     same holds once the call is handed to another thread (call_read(),
 *     call_submit(), call_hash()).
 *  3. rest_busy() counts a request from rest_enter() until that answer.  An
 *     answer in pieces is not counted while a piece is being sent.
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

/* Reads from the store and answers, or hands the call to another thread.  If it
 * returns an error, it must not have answered: the caller then answers with
 * that error, or cuts off an answer in pieces.  Thread: reader. */
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
 * zeroed.  The request has passed rest_enter().  Returns NULL if there is no
 * memory; the request is then answered. */
void *call_new(struct rest *rest, struct http_request *req, size_t size);

/* Runs ${read} in a reader's thread.  If the readers have no room, are stopping
 * or cannot read, the request is answered with an error instead. */
void call_read(struct call *call, call_read_fn read);

/* Hands ${unit} to the writer.  Returns false if the writer refused it; the
 * request is then answered. */
bool call_submit(struct call *call, struct unit *unit);

/* Runs ${run} in the argon2 pool, in the turn of the client's network (pool.c).
 * If the pool refuses the job (pool_submit()), the request is answered. */
void call_hash(struct call *call, struct pool_job *job, enum pool_class class,
    void (*run)(struct pool_job *job));

/* Checks the result of ${unit}.  The function finish of a unit calls this
 * first.  Returns false if the unit failed or was refused; the request is then
 * answered. */
bool call_unit_ok(
    struct call *call, const struct unit *unit, const struct refusal *refusal);

/* Checks the token of a request again after it has waited.  RC_NOT_FOUND: the
 * token was revoked meanwhile.  RC_DENIED: the route is for administrators, and
 * the user no longer is one.  Thread: the owner of ${db}. */
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
 * call_problem() with a problem and a formatted detail.  They take the content
 * of ${body}.  Thread: any. */
void call_json(struct call *call, int status, struct buf *body);
void call_empty(struct call *call, int status);
void call_page(
    struct call *call, int status, const char *content_type, struct buf *body);
void call_refuse(struct call *call, const struct refusal *r);
void call_fail(struct call *call, const struct err *err);
void call_problem(struct call *call, enum problem p, const char *pointer,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Answers in pieces (http_answer_pieces()): ${first}, and then one piece for
 * each call of ${next}, which passes it to call_piece().  The answer is cut off
 * if ${next} returns an error, the token was revoked or cannot be checked, the
 * user may no longer use the route, the readers have no room or cannot read, or
 * the server stops.  Thread of ${next}: reader. */
void call_pieces(struct call *call, const char *content_type, struct buf *first,
    call_read_fn next);
void call_piece(struct call *call, enum http_piece kind, struct buf *piece);

/* Logs ${err}, which cuts off an answer that has begun and therefore cannot
 * report it. */
void call_log_failed(const struct call *call, const struct err *err);

/* Returns true if the page ${b} of a list must end before its next item:
 * another item may not fit into LIMIT_PAGE_BYTES, or the client has left
 * (http_client_left()), which is checked every 64 KiB.  The caller then ends
 * the page with has_more.  Thread: reader. */
bool call_page_full(struct call *call, const struct buf *b);

/* Like call_json(), with an ETag.  Answers 304 if the status is 200 and
 * If-None-Match has that ETag. */
void call_json_tagged(struct call *call, int status, struct buf *body);

#define CALL_ETAG_SIZE 24

/* Makes the ETag of a body, from its hash. */
void call_etag_make(const struct buf *body, char ret[CALL_ETAG_SIZE]);

/* Adds a header Link that points to the next page.  ${fmt} gives the path and
 * the query of that page; they are cut after 255 bytes. */
void call_link_next(struct call *call, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- parameters and bodies (call_query.c) ---- */

/* Each function of this section, except call_number_parse(), returns false if
 * it has refused and answered the request. */

/* Refuses query parameters that are not in ${allowed}, which has at most 32
 * names and ends with NULL, and parameters that are given twice. */
bool call_query_check(struct call *call, const char *const *allowed);

/* Reads a whole number from ${min} to ${max}.  Leaves *ret as it is if the
 * parameter is absent. */
bool call_query_i64(struct call *call, const char *name, int64_t min,
    int64_t max, int64_t *ret);

/* Reads the parameter "limit", from 1 to LIMIT_PAGE_MAX; LIMIT_PAGE_DEFAULT if
 * it is absent. */
bool call_query_limit(struct call *call, int64_t *ret);

/* Reads a parameter that is an id; *ret_present is false if it is absent. */
bool call_query_uuid(
    struct call *call, const char *name, bool *ret_present, struct uuid *ret);

/* Reads the id in the path ({id}).  If it is not an id, the answer is 404 with
 * the detail ${what}. */
bool call_path_uuid(struct call *call, const char *what, struct uuid *ret);

/* Parses decimal digits.  Returns false if they are not a number from 0 to
 * INT64_MAX.  Answers nothing. */
bool call_number_parse(const char *text, int64_t *ret);

/* Parses the body into ${doc}, which is freed with the request, and reads it as
 * an object with ${fields}.  With ${fields} NULL the body may be any JSON. */
bool call_body(struct call *call, struct wire_doc *doc,
    const struct wire_field *fields, size_t n);

/* Like call_body(), but the body may be absent; then ${doc} and the results of
 * ${fields} are left as they are.  With ${fields} NULL the body must be {} or
 * absent. */
bool call_body_if_any(struct call *call, struct wire_doc *doc,
    const struct wire_field *fields, size_t n);

#endif
