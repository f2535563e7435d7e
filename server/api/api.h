/* SPDX-License-Identifier: MIT */
/*
 * The REST routes, one file per resource.  Handlers parse, submit units of
 * work or read jobs that are embedded in the request, and answer when those
 * come back.
 */
#ifndef API_API_H
#define API_API_H

#include "api/usage.h"
#include "base/clk.h"
#include "base/rnd.h"
#include "chat/auth.h"
#include "engine/reader.h"
#include "engine/writer.h"
#include "http/http.h"
#include "metrics/metrics.h"
#include "push/push.h"

struct admin;
struct api;

/* Everything a route may need; pointers are kept. */
struct api_options {
	const struct clk *clk;
	struct rnd *rnd;
	struct metrics *metrics;
	struct writer *writer;
	struct readers *readers;
	struct push *push;
	struct auth *auth;
	const char *epoch;
	const char *domain;
	const char *version;
	bool registration_open;
	double rate_limit; /* requests/s a user; 0: off, and so is the next */
	double registration_rate; /* a minute, of all networks; 0: off */
	bool shared;              /* other nodes serve the same database */
	int64_t quota_messages, quota_bytes; /* a day and user; 0: any */
	/* Set while the disk has too little room for new messages; kept. */
	const atomic_bool *disk_low;
	int max_retries; /* of a message */
	int argon2_threads;
	struct admin *admin; /* for the handlers of server/admin */
};

/* Makes the api and starts its argon2 pool. */
enum rc api_new(const struct api_options *options, struct api **ret,
    struct err *err) MUST_USE;

/* From now on handlers answer 503 draining; ends the argon2 pool.  Requests
 * that wait for the writer, a reader or push go on. */
void api_stop(struct api *api);

/* Requests that are with a handler, or with the writer, a reader, push or the
 * pool for it: once it is 0 after api_stop(), nobody touches a request any more
 * and http_stop() may free them. */
size_t api_busy(const struct api *api);

/* Frees; no request may come any more.  NULL is allowed. */
void api_free(struct api *api);

/* For handlers of other modules, whose argument is the api too: begins a
 * request (false: it is answered, the server is stopping), and ends it after
 * its answer.  Handlers of routes that are not HTTP_PUBLIC have begun. */
bool api_enter(struct api *api, struct http_request *req);
void api_leave(struct api *api);

/* What the options gave. */
struct admin *api_admin(const struct api *api);

/* The route table for http_options (ends with method NULL); handlers take the
 * api as their argument. */
const struct http_route *api_routes(void);

/* Whether ${user_id} may make one more request now, by the limit that all his
 * requests share; if not, *ret_wait_s says when.  Thread: any. */
bool api_admits(struct api *api, int64_t user_id, int *ret_wait_s);

/* Whether ${user_id} may send ${amount} now, which is then counted; if not,
 * ${r} says why.  Thread: any. */
bool api_admits_send(struct api *api, int64_t user_id,
    const struct usage_amount *amount, struct refusal *r);

/* ${amount} was not accepted after all, or had been before.  Thread: any. */
void api_send_undone(
    struct api *api, int64_t user_id, const struct usage_amount *amount);

/* For http_options.authorize, head and lookup; the argument is the api. */
void api_authorize(struct http_request *req, void *arg);
enum http_sender api_head(struct http_request *req, void *arg);
enum rc api_lookup(struct http_request *req, void *arg);

#endif
