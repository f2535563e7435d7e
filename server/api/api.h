/* SPDX-License-Identifier: MIT */
/*
 * The REST routes, one file per resource.  Handlers parse, submit units of
 * work or read jobs that are embedded in the request, and answer when those
 * come back.
 */
#ifndef API_API_H
#define API_API_H

#include <stdatomic.h>

#include "base/clk.h"
#include "base/rnd.h"
#include "engine/reader.h"
#include "engine/writer.h"
#include "metrics/metrics.h"
#include "rest/rest.h"

struct api;
struct send_gate;

/* Everything a route may need; pointers are kept. */
struct api_options {
	const struct clk *clk;
	struct rnd *rnd;
	struct metrics *metrics;
	struct writer *writer;
	struct readers *readers;
	struct auth *auth;
	const char *epoch;
	const atomic_bool *epoch_changed; /* the end comes, because it has */
	const char *domain;
	const char *version;
	bool registration_open;
	struct rest *rest;
	struct send_gate *gate;
	double rate_limit;        /* 0: off, and so is the next */
	double registration_rate; /* a minute, of all networks; 0: off */
	int max_retries;          /* of a message */
};

/* Makes the api. */
enum rc api_new(const struct api_options *options, struct api **ret,
    struct err *err) MUST_USE;

/* Frees; no request may come any more.  NULL is allowed. */
void api_free(struct api *api);

/* The route table for http_options (ends with method NULL); handlers take the
 * rest as their argument, and the api is the module of their routes. */
const struct http_route *api_routes(void);

#endif
