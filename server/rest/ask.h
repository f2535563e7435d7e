/* SPDX-License-Identifier: MIT */
/*
 * An ask is a request on its way through other threads: how it gets there, how
 * parameters and bodies are read, how it is answered.  For the handlers of
 * all modules that have routes.
 *
 * Life of an ask
 *  1. It lies in the request's memory (http_alloc), so nothing of it is freed
 *     by hand, and whatever is handed to another thread is embedded in it.
 *  2. Exactly one of the ask_* functions that answer is called, last: after it
 *     the request, and the ask in it, may be gone.
 *  3. The kit counts requests from their entry to that answer.
 */
#ifndef REST_ASK_H
#define REST_ASK_H

#include "base/uuid.h"
#include "rest/rest.h"
#include "wire/json.h"
#include "wire/wire.h"

/* ---- asks (ask.c) ---- */

struct ask;

/* Reads and answers; an error is answered by the caller.  Thread: reader. */
typedef enum rc (*ask_read_fn)(struct ask *ask, struct db *db, struct err *err);

struct ask {
	struct rest *rest;
	void *module; /* of the route: the struct api or admin */
	struct http_request *req;
	const struct principal *who; /* NULL: nobody is logged in */
	uint64_t owner;              /* the user, or the client's network */
	size_t looked_at;            /* length of a page; see ask_page_full() */
	struct read_job job;
	ask_read_fn read;
};

/* An ask of ${size} bytes, which begin with a struct ask; NULL: answered. */
void *ask_new(struct rest *rest, struct http_request *req, size_t size);

/* Runs ${read} in a reader's thread. */
void ask_read(struct ask *ask, ask_read_fn read);

/* Hands ${unit} to the writer; false: answered. */
bool ask_submit(struct ask *ask, struct unit *unit);

/* What a unit's finish sees first.  False: answered. */
bool ask_unit_ok(
    struct ask *ask, const struct unit *unit, const struct refusal *refusal);

/* Whether the token of a request that has waited is still good: RC_NOT_FOUND
 * when it was revoked meanwhile.  Thread: owner of ${db}. */
enum rc rest_still_admitted(
    struct ask *ask, struct db *db, struct err *err) MUST_USE;

/* Answers 401: what a token is and where it is to be had. */
void ask_refuse_stranger(struct ask *ask);

/* ---- answers (ask.c) ---- */

/* Answer: with JSON, without a body, with any content, with a refusal, with an
 * error (which is logged), with a problem made on the spot.  Bodies are taken.
 * Thread: any. */
void ask_json(struct ask *ask, int status, struct buf *body);
void ask_empty(struct ask *ask, int status);
void ask_page(
    struct ask *ask, int status, const char *content_type, struct buf *body);
void ask_refuse(struct ask *ask, const struct refusal *r);
void ask_fail(struct ask *ask, const struct err *err);
void ask_problem(struct ask *ask, enum problem p, const char *pointer,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Answers in pieces (http.h): ${first}, then whatever ${next} hands to
 * ask_piece(), once a call; an error of its cuts the answer off, and so does
 * the end of the token.  Thread of ${next}: reader. */
void ask_pieces(struct ask *ask, const char *content_type, struct buf *first,
    ask_read_fn next);
void ask_piece(struct ask *ask, enum http_piece kind, struct buf *piece);

/* Whether the page ${b} of a list must end before its next item: another one
 * may not fit into LIMIT_PAGE_BYTES, or the page is long and its client has
 * left.  The page is then answered with has_more.  Thread: reader. */
bool ask_page_full(struct ask *ask, const struct buf *b);

/* As ask_json(), with an ETag; 304 when If-None-Match names it. */
void ask_json_tagged(struct ask *ask, int status, struct buf *body);

#define ETAG_SIZE 24

/* The ETag of a body. */
void etag_make(const struct buf *body, char ret[ETAG_SIZE]);

/* Adds a Link header to the next page. */
void ask_link_next(struct ask *ask, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- parameters and bodies (query.c); false: answered ---- */

/* No query parameter but those in ${allowed} (ends with NULL), none twice. */
bool ask_query_check(struct ask *ask, const char *const *allowed);

/* A whole number of the query between ${min} and ${max}; absent: *ret stays. */
bool ask_query_i64(
    struct ask *ask, const char *name, int64_t min, int64_t max, int64_t *ret);

/* The parameter limit. */
bool ask_query_limit(struct ask *ask, int64_t *ret);

/* An id of the query. */
bool ask_query_uuid(
    struct ask *ask, const char *name, bool *ret_present, struct uuid *ret);

/* The id in the path; what is none is not found: "there is no such WHAT". */
bool ask_path_uuid(struct ask *ask, const char *what, struct uuid *ret);

/* Parses digits; false if it is no number of int64. */
bool number_parse(const char *text, int64_t *ret);

/* Parses the body, an object with ${fields}, into ${doc}, which is freed with
 * the request. */
bool ask_body(struct ask *ask, struct wire_doc *doc,
    const struct wire_field *fields, size_t n);

/* As ask_body(), but no body at all is {}; ${fields} NULL: it must be. */
bool ask_body_if_any(struct ask *ask, struct wire_doc *doc,
    const struct wire_field *fields, size_t n);

#endif
