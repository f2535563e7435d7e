/* SPDX-License-Identifier: MIT */
/*
 * Requests to /v1/admin: their paths, their filters, and cures for their
 * refusals that say what an operator can do.  An answer is the server's JSON,
 * unchanged.
 */
#ifndef LIB_ADMIN_H
#define LIB_ADMIN_H

#include <stdint.h>

#include "lib/rest.h"

/* The largest number of dead letters that one call requeues or discards. */
#define ADMIN_BATCH_MAX 1000

/* A filter of a list; initialize it with ADMIN_FILTER_INIT.  Members that are
 * NULL or negative are left out of the query.  Each list supports only some of
 * the members, and admin.c sends all that are set without a check.  stuck_ms is
 * sent in whole seconds, rounded down.  near_failure selects the entries that
 * have at most this number of retries left. */
struct admin_filter {
	const char *state;
	const char *destination;
	const char *sender;
	const char *reason;
	const char *resolved;
	const char *before; /* cursor from the previous page, or NULL */
	const char *after;
	int64_t stuck_ms;
	int64_t near_failure;
	int64_t limit;
};

#define ADMIN_FILTER_INIT                                                      \
	{                                                                      \
		.stuck_ms = -1, .near_failure = -1, .limit = -1                \
	}

/* Returns the path "/v1/admin/${what}?..." with the members of ${filter} (may
 * be NULL) as query parameters.  The caller frees the path with mem_free().
 * Returns NULL when memory runs out; with a NULL path, rest_call() and
 * admin_call() fail with kind MEMORY. */
char *admin_path(const char *what, const struct admin_filter *filter);

/* Returns "/v1/admin/${what}/${name}${verb}" with ${name} percent-encoded.
 * Ownership and failure are those of admin_path(). */
char *admin_path_of(const char *what, const char *name, const char *verb);

/* Returns the body of a request that requeues or discards dead letters: those
 * in ${ids} (an array of numbers; copied; ${filter} and ${limit} are ignored),
 * or, if ${ids} is NULL, up to ${limit} that match the reason, destination and
 * sender of ${filter}, which must not be NULL.  The caller passes at most
 * ADMIN_BATCH_MAX ids, or at most that as ${limit}, which is not checked here.
 * The caller owns the result, which is NULL when memory runs out. */
json_t *admin_batch(
    const json_t *ids, const struct admin_filter *filter, int64_t limit);

/* Runs ${request} with ${path}, which admin_path() or admin_path_of() made and
 * which this function always frees.  Fails if the answer is not a JSON object,
 * unless the request has a sink.  After a 403, or a 404 for a list, the cure in
 * ${fail} says what an operator can do.  Only on RC_OK does the caller free
 * ${ret} with rest_reply_fini().  Blocks as long as rest_call(). */
enum rc admin_call(struct rest *rest, struct rest_request *request, char *path,
    struct rest_reply *ret, struct fail *fail) MUST_USE;

#endif
