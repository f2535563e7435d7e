/* SPDX-License-Identifier: MIT */
/*
 * The kit of the REST routes: authorization, the count of requests under way,
 * and what all handlers share.  A route's handler gets the struct rest as its
 * argument; the struct of its own module is `module` of its struct call
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

/* Pointers are kept. */
struct rest_options {
	const struct clk *clk;
	const struct timing *timing; /* NULL: timing_real() */
	struct writer *writer;
	struct readers *readers;
	struct push *push;
	struct auth *auth;
	double rate_limit; /* requests/s a user; 0: off */
	int argon2_threads;
};

/* Makes the kit and starts its argon2 pool.  RC_NO_MEMORY, or the error of a
 * thread. */
enum rc rest_new(const struct rest_options *options, struct rest **ret,
    struct err *err) MUST_USE;

/* From now on handlers answer 503 draining.  Blocks until the passwords that
 * wait are hashed; requests that wait for the writer, a reader or push go on.
 */
void rest_stop(struct rest *rest);
bool rest_stopped(const struct rest *rest);

/* Requests that are with a handler, or with the writer, a reader, push or
 * another thread for it: once it is 0 after rest_stop(), nobody touches a
 * request any more and http_stop() may free them. */
size_t rest_busy(const struct rest *rest);

/* Frees; no request may come any more.  NULL is allowed. */
void rest_free(struct rest *rest);

/* Begin a request (false: the server is stopping, and the request is answered)
 * and end it after its answer.  Handlers call rest_enter() on HTTP_PUBLIC
 * routes only; for others rest_authorize() has.  The functions of rest/call.h
 * that answer call rest_leave(). */
bool rest_enter(struct rest *rest, struct http_request *req);
void rest_leave(struct rest *rest);

/* ---- authorization (caller.c) ---- */

/* For http_options.authorize, head and lookup; the argument is the rest. */
void rest_authorize(struct http_request *req, void *arg);
enum http_sender rest_head(struct http_request *req, void *arg);
enum rc rest_lookup(struct http_request *req, void *arg);

/* Takes one request from the limit that all requests of ${user_id} share.
 * False: none is left for another *ret_wait_s seconds.  Thread: any. */
bool rest_admits(struct rest *rest, int64_t user_id, int *ret_wait_s);

/* Charges ${n} more requests to ${user_id}: items of an array beyond the first.
 * False: none was charged, and ${r} is the refusal. */
bool rest_charge_items(
    struct rest *rest, int64_t user_id, size_t n, struct refusal *r);

#endif
