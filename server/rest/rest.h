/* SPDX-License-Identifier: MIT */
/*
 * The kit of the REST routes (struct rest): authorization, the count of
 * requests under way, and what the handlers of all modules share.  A handler
 * gets the struct rest as its argument ${arg}.  The struct of the module that
 * has the route is the member `module` of the struct call (rest/call.h).
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

/* Makes the struct rest, which the handlers of all REST routes share, and
 * starts its threads that hash passwords (argon2).  After RC_NO_MEMORY, or the
 * error of starting a thread, *ret is not set. */
enum rc rest_new(const struct rest_options *options, struct rest **ret,
    struct err *err) MUST_USE;

/* From now on rest_enter() answers new requests with 503 draining, and an
 * answer in pieces ends where its next piece would begin: a stream with a last
 * event, any other answer by being cut off.  Blocks until the argon2 threads
 * have hashed all passwords in their queue and have ended.  Requests that wait
 * for the writer, a reader or push go on; this function does not wait for them.
 */
void rest_stop(struct rest *rest);
bool rest_stopped(const struct rest *rest);

/* Returns the number of requests that a handler has, or that wait for the
 * writer, a reader, push or another thread.  An answer in pieces is not counted
 * while a piece is being sent.  When the number is 0 after rest_stop(), no
 * thread except those of HTTP uses a request any more, and http_stop() may free
 * the requests. */
size_t rest_busy(const struct rest *rest);

/* Frees ${rest}.  No request may enter any more.  NULL is allowed. */
void rest_free(struct rest *rest);

/* rest_enter() counts a request in rest_busy(), and returns true; rest_leave()
 * ends this.  Call rest_leave() after http_answer() or a variant; the answer
 * need not be sent yet.  After rest_stop(), rest_enter() answers the request
 * with 503, does not count it, and returns false.  Handlers call rest_enter()
 * on HTTP_PUBLIC routes only; on all others rest_authorize() has called it.
 * The functions of rest/call.h that answer call rest_leave(), so a handler that
 * uses them does not. */
bool rest_enter(struct rest *rest, struct http_request *req);
void rest_leave(struct rest *rest);

/* ---- authorization (caller.c) ---- */

/* The functions for http_options.authorize, head and lookup.  ${arg} is the
 * struct rest. */
void rest_authorize(struct http_request *req, void *arg);
enum http_sender rest_head(struct http_request *req, void *arg);
enum rc rest_lookup(struct http_request *req, void *arg);

/* Takes one request from the rate limit of ${user_id}, which REST and WebSocket
 * requests share.  Returns true if it got one, or if there is no limit.
 * Returns false if none is left; there will be one in *ret_wait_s seconds.
 * Thread: any. */
bool rest_admits(struct rest *rest, int64_t user_id, int *ret_wait_s);

/* Charges ${n} more requests to the rate limit of ${user_id}, one for each item
 * of an array but the first, which rest_authorize() has charged.  Returns false
 * if the limit refuses the charge (see limiter_charge(), by which an array
 * larger than the burst can pass): then none is charged, and ${r} is set to the
 * refusal, with which the caller answers.  Thread: any. */
bool rest_charge_items(
    struct rest *rest, int64_t user_id, size_t n, struct refusal *r);

#endif
