/* SPDX-License-Identifier: MIT */
/*
 * Calls (call.h): makes the struct call of a request, hands it to the writer,
 * a reader or the argon2 pool (threads that write to the database, read from
 * it, or hash passwords), and answers the request.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/owner.h"
#include "crypt/crypt.h"
#include "log/log.h"
#include "rest/rest_internal.h"

void *
call_new(struct rest *rest, struct http_request *req, size_t size)
{
	struct refusal r = REFUSAL_INIT;
	struct call *call;

	if ((call = http_alloc(req, size)) == NULL) {
		refusal_set(&r, PROBLEM_BUSY, "", "out of memory");
		http_answer_refusal(req, &r);
		rest_leave(rest);
		return (NULL);
	}
	call->rest = rest;
	call->module = http_route_module(req);
	call->req = req;
	call->principal = http_principal(req);
	call->owner = call->principal != NULL
			  ? owner_user(call->principal->user_id)
			  : owner_peer(http_peer(req));
	call->job.owner = call->owner;
	if (call->principal != NULL)
		http_set_owner(req, call->owner);
	return (call);
}

/* ---- other threads ---- */

static void
run_read(struct read_job *job, struct db *db, struct err *err)
{
	struct call *call = CONTAINER_OF(job, struct call, job);

	if (db == NULL || call->read(call, db, err) != RC_OK)
		call_fail(call, err);
}

void
call_read(struct call *call, call_read_fn read)
{
	struct refusal r = REFUSAL_INIT;
	enum rc rc;

	call->read = read;
	call->job.run = run_read;
	if ((rc = readers_submit(call->rest->o.readers, &call->job)) != RC_OK) {
		refusal_of_rc(&r, rc);
		call_refuse(call, &r);
	}
}

bool
call_submit(struct call *call, struct unit *unit)
{
	struct refusal r = REFUSAL_INIT;
	enum rc rc;

	if ((rc = writer_submit(call->rest->o.writer, unit)) == RC_OK)
		return (true);
	refusal_of_rc(&r, rc);
	call_refuse(call, &r);
	return (false);
}

void
call_hash(struct call *call, struct pool_job *job, enum pool_class class,
    void (*run)(struct pool_job *job))
{
	struct refusal r = REFUSAL_INIT;
	enum rc rc;

	job->owner = owner_peer(http_peer(call->req));
	job->class = class;
	job->run = run;
	if ((rc = pool_submit(call->rest->pool, job)) != RC_OK) {
		refusal_of_rc(&r, rc);
		call_refuse(call, &r);
	}
}

bool
call_unit_ok(
    struct call *call, const struct unit *unit, const struct refusal *refusal)
{
	struct refusal r = REFUSAL_INIT;
	struct err err = ERR_INIT;

	if (unit->rc == RC_OK && refusal->problem == PROBLEM_NONE)
		return (true);
	if (unit->rc == RC_OK) {
		call_refuse(call, refusal);
		return (false);
	}
	refusal_of_unit(&r, unit->rc);
	if (r.problem == PROBLEM_INTERNAL) {
		(void)err_set(&err, unit->rc, "%s: %s", unit->kind->name,
		    rc_text(unit->rc));
		call_fail(call, &err);
	} else {
		call_refuse(call, &r);
	}
	return (false);
}

/* ---- answers ---- */

void
call_page(
    struct call *call, int status, const char *content_type, struct buf *body)
{
	struct rest *rest = call->rest;

	http_answer(call->req, status, content_type, body);
	rest_leave(rest);
}

void
call_json(struct call *call, int status, struct buf *body)
{

	call_page(call, status, HTTP_JSON, body);
}

void
call_empty(struct call *call, int status)
{

	call_page(call, status, NULL, NULL);
}

void
call_refuse(struct call *call, const struct refusal *r)
{
	struct rest *rest = call->rest;

	http_answer_refusal(call->req, r);
	rest_leave(rest);
}

void
call_fail(struct call *call, const struct err *err)
{
	struct rest *rest = call->rest;

	http_answer_error(call->req, err);
	rest_leave(rest);
}

void
call_problem(struct call *call, enum problem p, const char *pointer,
    const char *fmt, ...)
{
	struct refusal r = REFUSAL_INIT;
	char detail[REFUSAL_DETAIL_SIZE];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(detail, sizeof(detail), fmt, ap);
	va_end(ap);
	refusal_set(&r, p, pointer, "%s", detail);
	call_refuse(call, &r);
}

/* ---- pages ---- */

/* The bytes of a page after which call_page_full() checks again whether the
 * client has left. */
#define CHECK_BYTES 65536

bool
call_page_full(struct call *call, const struct buf *b)
{

	if (b->len + LIMIT_ITEM_BYTES > LIMIT_PAGE_BYTES)
		return (true);
	if (b->len < call->checked_len) /* the page was begun anew */
		call->checked_len = 0;
	if (b->len < call->checked_len + CHECK_BYTES)
		return (false);
	call->checked_len = b->len;
	return (http_client_left(call->req));
}

/* ---- answers in pieces ---- */

static void
cut_off(struct call *call)
{
	struct buf none = BUF_INIT;

	call_piece(call, HTTP_PIECE_CUT, &none);
}

void
call_log_failed(const struct call *call, const struct err *err)
{

	log_error(LOG_EV_HTTP_FAIL, err, "request=%s method=%s path=%s",
	    http_request_id(call->req), http_method(call->req),
	    http_path(call->req));
}

static void
run_piece(struct read_job *job, struct db *db, struct err *err)
{
	struct call *call = CONTAINER_OF(job, struct call, job);
	enum rc rc = RC_OK;

	/* Since the previous piece the token may have been revoked, or the
	 * user may no longer be an administrator. */
	if (db != NULL)
		rc = rest_still_admitted(call, db, err);
	if (db != NULL && rc == RC_OK && call->read(call, db, err) == RC_OK)
		return;
	if (rc != RC_NOT_FOUND && rc != RC_DENIED)
		call_log_failed(call, err);
	cut_off(call);
}

/* Called when a piece has gone out: hands the reading of the next piece to a
 * reader, or cuts the answer off if the server is stopping or the readers do
 * not take the job (readers_submit()).  While a piece is being sent, rest->busy
 * does not count the request, so this function counts it again first.  Thread:
 * the http loop's. */
static void
want_piece(struct http_request *req, void *arg)
{
	struct call *call = arg;
	struct rest *rest = call->rest;

	(void)req;
	atomic_fetch_add(&rest->busy, 1);
	call->job.run = run_piece;
	if (atomic_load(&rest->stopped) ||
	    readers_submit(rest->o.readers, &call->job) != RC_OK)
		cut_off(call);
}

void
call_pieces(struct call *call, const char *content_type, struct buf *first,
    call_read_fn next)
{
	struct rest *rest = call->rest;

	call->read = next;
	http_answer_pieces(call->req, content_type, first, want_piece, call);
	rest_leave(rest);
}

void
call_piece(struct call *call, enum http_piece kind, struct buf *piece)
{
	struct rest *rest = call->rest;

	http_answer_piece(call->req, kind, piece);
	rest_leave(rest);
}

void
call_etag_make(const struct buf *body, char ret[CALL_ETAG_SIZE])
{
	static const char hex[] = "0123456789abcdef";
	uint8_t hash[CRYPT_HASH_SIZE];
	size_t i, n = 0;

	crypt_hash_once(body->data, body->len, hash);
	ret[n++] = '"';
	for (i = 0; i < 10; i++) {
		ret[n++] = hex[hash[i] >> 4];
		ret[n++] = hex[hash[i] & 15];
	}
	ret[n++] = '"';
	ret[n] = '\0';
}

void
call_json_tagged(struct call *call, int status, struct buf *body)
{
	char tag[CALL_ETAG_SIZE];

	if (!buf_ok(body)) {
		call_json(call, status, body);
		return;
	}
	call_etag_make(body, tag);
	http_answer_header(call->req, "ETag", tag);
	if (status == 200 &&
	    http_etag_listed(http_header(call->req, "If-None-Match"), tag)) {
		buf_fini(body);
		call_empty(call, 304);
	} else {
		call_json(call, status, body);
	}
}

void
call_link_next(struct call *call, const char *fmt, ...)
{
	char target[256], link[280];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(target, sizeof(target), fmt, ap);
	va_end(ap);
	(void)snprintf(link, sizeof(link), "<%s>; rel=\"next\"", target);
	http_answer_header(call->req, "Link", link);
}
