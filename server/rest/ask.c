/* SPDX-License-Identifier: MIT */
/*
 * Asks: entry, the ways to the writer and the readers, and answers.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/owner.h"
#include "crypt/crypt.h"
#include "rest/rest_internal.h"

void *
ask_new(struct rest *rest, struct http_request *req, size_t size)
{
	struct refusal r = REFUSAL_INIT;
	struct ask *ask;

	if ((ask = http_alloc(req, size)) == NULL) {
		refusal_set(&r, PROBLEM_BUSY, "", "out of memory");
		http_answer_refusal(req, &r);
		rest_leave(rest);
		return (NULL);
	}
	ask->rest = rest;
	ask->module = http_route_module(req);
	ask->req = req;
	ask->who = http_principal(req);
	ask->owner = ask->who != NULL ? owner_user(ask->who->user_id)
				      : owner_peer(http_peer(req));
	ask->job.owner = ask->owner;
	if (ask->who != NULL)
		http_set_owner(req, ask->owner);
	return (ask);
}

/* ---- other threads ---- */

static void
run_read(struct read_job *job, struct db *db, struct err *err)
{
	struct ask *ask =
	    (struct ask *)(void *)((char *)job - offsetof(struct ask, job));

	if (db == NULL || ask->read(ask, db, err) != RC_OK)
		ask_fail(ask, err);
}

void
ask_read(struct ask *ask, ask_read_fn read)
{
	struct refusal r = REFUSAL_INIT;
	enum rc rc;

	ask->read = read;
	ask->job.run = run_read;
	if ((rc = readers_submit(ask->rest->o.readers, &ask->job)) != RC_OK) {
		refusal_of_rc(&r, rc);
		ask_refuse(ask, &r);
	}
}

bool
ask_submit(struct ask *ask, struct unit *unit)
{
	struct refusal r = REFUSAL_INIT;
	enum rc rc;

	if ((rc = writer_submit(ask->rest->o.writer, unit)) == RC_OK)
		return (true);
	refusal_of_rc(&r, rc);
	ask_refuse(ask, &r);
	return (false);
}

bool
ask_unit_ok(
    struct ask *ask, const struct unit *unit, const struct refusal *refusal)
{
	struct refusal r = REFUSAL_INIT;
	struct err err = ERR_INIT;

	if (unit->rc == RC_OK && refusal->problem == PROBLEM_NONE)
		return (true);
	if (unit->rc == RC_OK) {
		ask_refuse(ask, refusal);
		return (false);
	}
	refusal_of_unit(&r, unit->rc);
	if (r.problem == PROBLEM_INTERNAL) {
		(void)err_set(&err, unit->rc, "%s: %s", unit->kind->name,
		    rc_text(unit->rc));
		ask_fail(ask, &err);
	} else {
		ask_refuse(ask, &r);
	}
	return (false);
}

/* ---- answers ---- */

void
ask_page(
    struct ask *ask, int status, const char *content_type, struct buf *body)
{
	struct rest *rest = ask->rest;

	http_answer(ask->req, status, content_type, body);
	rest_leave(rest);
}

void
ask_json(struct ask *ask, int status, struct buf *body)
{

	ask_page(ask, status, HTTP_JSON, body);
}

void
ask_empty(struct ask *ask, int status)
{

	ask_page(ask, status, NULL, NULL);
}

void
ask_refuse(struct ask *ask, const struct refusal *r)
{
	struct rest *rest = ask->rest;

	http_answer_refusal(ask->req, r);
	rest_leave(rest);
}

void
ask_fail(struct ask *ask, const struct err *err)
{
	struct rest *rest = ask->rest;

	http_answer_error(ask->req, err);
	rest_leave(rest);
}

void
ask_problem(
    struct ask *ask, enum problem p, const char *pointer, const char *fmt, ...)
{
	struct refusal r = REFUSAL_INIT;
	char detail[REFUSAL_DETAIL_SIZE];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(detail, sizeof(detail), fmt, ap);
	va_end(ap);
	refusal_set(&r, p, pointer, "%s", detail);
	ask_refuse(ask, &r);
}

/* ---- pages ---- */

/* After so many bytes more the client is looked at. */
#define LOOK_BYTES 65536

bool
ask_page_full(struct ask *ask, const struct buf *b)
{

	if (b->len + LIMIT_ITEM_BYTES > LIMIT_PAGE_BYTES)
		return (true);
	if (b->len < ask->looked_at) /* the page was begun anew */
		ask->looked_at = 0;
	if (b->len < ask->looked_at + LOOK_BYTES)
		return (false);
	ask->looked_at = b->len;
	return (http_client_left(ask->req));
}

/* ---- answers in pieces ---- */

static void
cut_off(struct ask *ask)
{
	struct buf none = BUF_INIT;

	ask_piece(ask, HTTP_PIECE_CUT, &none);
}

static void
run_piece(struct read_job *job, struct db *db, struct err *err)
{
	struct ask *ask =
	    (struct ask *)(void *)((char *)job - offsetof(struct ask, job));
	enum rc rc = RC_OK;

	/* Whoever reads slowly may have lost his token since the last one. */
	if (db != NULL)
		rc = rest_still_admitted(ask, db, err);
	if (db != NULL && rc == RC_OK && ask->read(ask, db, err) == RC_OK)
		return;
	if (rc != RC_NOT_FOUND)
		log_error(LOG_EV_HTTP_FAIL, err, "request=%s method=%s path=%s",
		    http_request_id(ask->req), http_method(ask->req),
		    http_path(ask->req));
	cut_off(ask);
}

/* Between its pieces a request is nobody's: it comes in anew. */
static void
want_piece(struct http_request *req, void *arg)
{
	struct ask *ask = arg;
	struct rest *rest = ask->rest;

	(void)req;
	atomic_fetch_add(&rest->busy, 1);
	ask->job.run = run_piece;
	if (atomic_load(&rest->stopped) ||
	    readers_submit(rest->o.readers, &ask->job) != RC_OK)
		cut_off(ask);
}

void
ask_pieces(struct ask *ask, const char *content_type, struct buf *first,
    ask_read_fn next)
{
	struct rest *rest = ask->rest;

	ask->read = next;
	http_answer_pieces(ask->req, content_type, first, want_piece, ask);
	rest_leave(rest);
}

void
ask_piece(struct ask *ask, enum http_piece kind, struct buf *piece)
{
	struct rest *rest = ask->rest;

	http_answer_piece(ask->req, kind, piece);
	rest_leave(rest);
}

void
etag_make(const struct buf *body, char ret[ETAG_SIZE])
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
ask_json_tagged(struct ask *ask, int status, struct buf *body)
{
	char tag[ETAG_SIZE];

	if (!buf_ok(body)) {
		ask_json(ask, status, body);
		return;
	}
	etag_make(body, tag);
	http_answer_header(ask->req, "ETag", tag);
	if (status == 200 &&
	    http_etag_listed(http_header(ask->req, "If-None-Match"), tag)) {
		buf_fini(body);
		ask_empty(ask, 304);
	} else {
		ask_json(ask, status, body);
	}
}

void
ask_link_next(struct ask *ask, const char *fmt, ...)
{
	char target[256], link[280];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(target, sizeof(target), fmt, ap);
	va_end(ap);
	(void)snprintf(link, sizeof(link), "<%s>; rel=\"next\"", target);
	http_answer_header(ask->req, "Link", link);
}
