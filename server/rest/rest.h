/* SPDX-License-Identifier: MIT */
/*
 * The kit of the REST routes: authorization, the count of requests under way,
 * and what all handlers share.  The handler of a route gets the struct rest as
 * its argument.  The struct of its own module is `module` of its struct call
 * (rest/call.h).
 */
#ifndef REST_REST_H
#define REST_REST_H

#include "base/clk.h"
#include "base/timing.h"
#include "chat/auth.h"
#include "engine/reader.h"
#include "engine/writer.h"
#include "http/http.h"
#include "push/push.h"

struct rest;

/* The kit keeps the pointers. */
struct rest_options {
	const struct clk *clk;
	const struct timing *timing; /* NULL: timing_real() */
	struct writer *writer;
	struct readers *readers;
	struct push *push;
	struct auth *auth;
	double rate_limit; /* requests per second and user; 0: no limit */
	int argon2_threads;
};

/* Makes the kit and starts its argon2 pool.  RC_NO_MEMORY, or the error of
 * starting a thread. */
enum rc rest_new(const struct rest_options *options, struct rest **ret,
    struct err *err) MUST_USE;

/* From now on new requests are answered with 503 draining, and streams end at
 * their next piece.  Blocks until the waiting passwords are hashed.  Requests
 * that wait for the writer, a reader or push go on. */
void rest_stop(struct rest *rest);
bool rest_stopped(const struct rest *rest);

/* Returns the number of requests that a handler has, or that wait for the
 * writer, a reader, push or another thread.  An answer in pieces is not counted
 * while a piece is being sent.  When it is 0 after rest_stop(), no thread uses
 * a request any more, and http_stop() may free the requests. */
size_t rest_busy(const struct rest *rest);

/* Frees ${rest}.  No request may enter any more.  NULL is allowed. */
void rest_free(struct rest *rest);

/* Begin a request, and end it after its answer.  rest_enter() returns false if
 * the server is stopping; the request is then answered.  Handlers call
 * rest_enter() on HTTP_PUBLIC routes only; rest_authorize() has done so on all
 * others.  The functions of rest/call.h that answer call rest_leave(). */
bool rest_enter(struct rest *rest, struct http_request *req);
void rest_leave(struct rest *rest);

/* ---- authorization (caller.c) ---- */

/* The functions for http_options.authorize, head and lookup.  ${arg} is the
 * struct rest. */
void rest_authorize(struct http_request *req, void *arg);
enum http_sender rest_head(struct http_request *req, void *arg);
enum rc rest_lookup(struct http_request *req, void *arg);

/* Takes one request from the rate limit of ${user_id}, which REST and WebSocket
 * requests share.  Returns false if none is left; there will be one in
 * *ret_wait_s seconds.  Thread: any. */
bool rest_admits(struct rest *rest, int64_t user_id, int *ret_wait_s);

/* Charges ${n} more requests to the rate limit of ${user_id}, for the items of
 * an array after the first.  Returns false if the limit does not allow them;
 * then none is charged, and ${r} is the refusal.  Thread: any. */
bool rest_charge_items(
    struct rest *rest, int64_t user_id, size_t n, struct refusal *r);

#endif
