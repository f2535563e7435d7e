/* SPDX-License-Identifier: MIT */
/*
 * A call is a request on its way through other threads: how it gets there, how
 * parameters and bodies are read, how it is answered.  For the handlers of
 * all modules that have routes.
 *
 * Life of a call
 *  1. It lies in the request's memory (http_alloc), so nothing of it is freed
 *     by hand, and whatever is handed to another thread is embedded in it.
 *  2. Exactly one of the call_* functions that answer is called, last: after it
 *     the request, and the call in it, may be gone.
 *  3. The kit counts requests from their entry to that answer.
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

/* Reads and answers.  If it returns an error, that is answered for it.
 * Thread: reader. */
typedef enum rc (*call_read_fn)(
    struct call *call, struct db *db, struct err *err);

struct call {
	struct rest *rest;
	void *module; /* of the route: the struct api or admin */
	struct http_request *req;
	const struct principal *principal; /* NULL: nobody is logged in */
	uint64_t owner;     /* the user, or the client's network */
	size_t checked_len; /* of the page at the last check; see
			       call_page_full() */
	struct read_job job;
	call_read_fn read;
};

/* Makes a call of ${size} bytes, which begin with a struct call.  NULL: out of
 * memory, and the request is answered. */
void *call_new(struct rest *rest, struct http_request *req, size_t size);

/* Runs ${read} in a reader's thread. */
void call_read(struct call *call, call_read_fn read);

/* Hands ${unit} to the writer.  False: the writer refused it, and the request
 * is answered. */
bool call_submit(struct call *call, struct unit *unit);

/* Runs ${run} in the argon2 pool, in the turn of the client's network.  When
 * there is no room the request is answered. */
void call_hash(struct call *call, struct pool_job *job, enum pool_class class,
    void (*run)(struct pool_job *job));

/* Checks the result of ${unit}, first in its finish.  False: it failed or was
 * refused, and the request is answered. */
bool call_unit_ok(
    struct call *call, const struct unit *unit, const struct refusal *refusal);

/* Checks the token of a request that has waited.  RC_NOT_FOUND: it was revoked
 * meanwhile.  RC_DENIED: the route is for administrators, and its user is none
 * any more.  Thread: owner of ${db}. */
enum rc rest_still_admitted(
    struct call *call, struct db *db, struct err *err) MUST_USE;

/* Answers 401, which says how to get a token (caller.c). */
void caller_refuse_stranger(struct call *call);

/* Answers 403: the route is for administrators (caller.c). */
void caller_refuse_user(struct call *call);

/* ---- answers (call.c) ---- */

/* Answer with JSON, without a body, with any content, with a refusal, with an
 * error (which is logged), with a problem that is described here.  Bodies are
 * taken.  Thread: any. */
void call_json(struct call *call, int status, struct buf *body);
void call_empty(struct call *call, int status);
void call_page(
    struct call *call, int status, const char *content_type, struct buf *body);
void call_refuse(struct call *call, const struct refusal *r);
void call_fail(struct call *call, const struct err *err);
void call_problem(struct call *call, enum problem p, const char *pointer,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Answers in pieces (http.h): ${first}, then the pieces that ${next} hands to
 * call_piece(), one each time it is called.  An error of ${next}, or a token
 * that was revoked, cuts the answer off.  Thread of ${next}: reader. */
void call_pieces(struct call *call, const char *content_type, struct buf *first,
    call_read_fn next);
void call_piece(struct call *call, enum http_piece kind, struct buf *piece);

/* Logs ${err}, which ends an answer that has begun and so cannot tell it. */
void call_log_failed(const struct call *call, const struct err *err);

/* Whether the page ${b} of a list must end before its next item: another one
 * may not fit into LIMIT_PAGE_BYTES, or the page is long and its client has
 * left.  The page is then answered with has_more.  Thread: reader. */
bool call_page_full(struct call *call, const struct buf *b);

/* As call_json(), with an ETag; 304 when If-None-Match names it. */
void call_json_tagged(struct call *call, int status, struct buf *body);

#define CALL_ETAG_SIZE 24

/* The ETag of a body. */
void call_etag_make(const struct buf *body, char ret[CALL_ETAG_SIZE]);

/* Adds a Link header to the next page. */
void call_link_next(struct call *call, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- parameters and bodies (call_query.c); false: answered ---- */

/* Allows the query parameters in ${allowed} (ends with NULL), each once. */
bool call_query_check(struct call *call, const char *const *allowed);

/* Reads a whole number from ${min} to ${max}; *ret stays if it is absent. */
bool call_query_i64(struct call *call, const char *name, int64_t min,
    int64_t max, int64_t *ret);

/* Reads the parameter limit. */
bool call_query_limit(struct call *call, int64_t *ret);

/* Reads an id. */
bool call_query_uuid(
    struct call *call, const char *name, bool *ret_present, struct uuid *ret);

/* Reads the id in the path.  If it is not an id the answer is 404 with the
 * detail ${what}. */
bool call_path_uuid(struct call *call, const char *what, struct uuid *ret);

/* Parses digits; false if they are not a number of int64. */
bool call_number_parse(const char *text, int64_t *ret);

/* Parses the body, an object with ${fields}, into ${doc}, which is freed with
 * the request. */
bool call_body(struct call *call, struct wire_doc *doc,
    const struct wire_field *fields, size_t n);

/* As call_body(), but no body at all is {}; ${fields} NULL: it must be. */
bool call_body_if_any(struct call *call, struct wire_doc *doc,
    const struct wire_field *fields, size_t n);

#endif
