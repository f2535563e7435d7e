/* SPDX-License-Identifier: MIT */
/*
 * The REST routes, one file per resource.  Handlers parse, submit units of
 * work or read jobs that are embedded in the request, and answer when those
 * come back.
 */
#ifndef API_API_H
#define API_API_H

#include "base/clk.h"
#include "base/rnd.h"
#include "domain/auth.h"
#include "http/http.h"
#include "metrics/metrics.h"
#include "push/push.h"
#include "store/reader.h"
#include "store/writer.h"

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
	double rate_limit; /* requests/s a user; 0: off */
	int argon2_threads;
	bool (*ready)(void *arg, const char **ret_why); /* for /readyz */
	void *ready_arg;
};

/* Makes the api and starts its argon2 pool. */
enum rc api_new(const struct api_options *options, struct api **ret,
    struct err *err) MUST_USE;

/* Ends the pool and frees.  NULL is allowed. */
void api_free(struct api *api);

/* The route table for http_options (ends with method NULL); handlers take the
 * api as their argument. */
const struct http_route *api_routes(void);

/* For http_options.authorize; the argument is the api. */
void api_authorize(struct http_request *req, void *arg);

#endif
