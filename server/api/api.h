/* SPDX-License-Identifier: MIT */
/*
 * The REST routes of the chat, one file per resource.  A handler parses its
 * request, and either answers at once, for example with a refusal, or submits a
 * unit of work (a change, which the writer commits), a read job, a long-poll or
 * a password job (argon2).  Each of them lies in the request's memory and runs
 * in another thread.  At its end that thread calls a function of the route,
 * which answers the request or submits the next step: a log-in needs a read
 * job, then a password job, then a unit of work.
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

/* Parts of the server that the routes use.  The pointers are kept. */
struct api_options {
	const struct clk *clk;
	struct rnd *rnd;
	struct metrics *metrics;
	struct writer *writer;
	struct readers *readers;
	struct auth *auth;
	const char *epoch;
	/* Points to a flag that another thread sets to true when the epoch of
	 * the database (a name that changes when the database may have lost
	 * commits) is no longer ${epoch}; the server then restarts.  NULL:
	 * treated like a flag that stays false. */
	const atomic_bool *epoch_changed;
	const char *domain;
	const char *version;
	bool registration_open;
	struct rest *rest;
	struct send_gate *gate;
	double rate_limit;        /* 0: no limit of registrations either */
	double registration_rate; /* per minute, all networks; 0: no limit */
	int max_retries;          /* per message */
};

/* Makes the api.  RC_NO_MEMORY is the only error. */
enum rc api_new(const struct api_options *options, struct api **ret,
    struct err *err) MUST_USE;

/* Frees ${api}.  No request may enter any more.  NULL is allowed. */
void api_free(struct api *api);

/* Returns the static table of the routes, for the member `list` of a struct
 * http_routes; an entry with method NULL ends the table.  The caller must set
 * the member `module` of that struct to the struct api, and the argument of the
 * handlers (http_options.route_arg) to the struct rest. */
const struct http_route *api_routes(void);

#endif
