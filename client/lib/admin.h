/* SPDX-License-Identifier: MIT */
/*
 * Requests to /v1/admin: their paths, their filters, and what an operator can
 * do about their refusals.  Answers are the server's JSON.
 */
#ifndef LIB_ADMIN_H
#define LIB_ADMIN_H

#include <stdint.h>

#include "lib/rest.h"

/* The most that one call requeues or discards. */
#define ADMIN_BATCH_MAX 1000

/* Which of a list: members that are NULL or negative are left out.  Each list
 * has only some of them. */
struct admin_filter {
	const char *state;
	const char *destination;
	const char *sender;
	const char *reason;
	const char *resolved;
	const char *before; /* cursors, as the page before says */
	const char *after;
	int64_t stuck_ms;
	int64_t near_failure;
	int64_t limit;
};

#define ADMIN_FILTER_INIT                                                      \
	{                                                                      \
		.stuck_ms = -1, .near_failure = -1, .limit = -1                \
	}

/* "/v1/admin/${what}?..." with what is in ${filter} (NULL: nothing), to be
 * freed by mem_free(); NULL without memory, which rest_call() then reports. */
char *admin_path(const char *what, const struct admin_filter *filter);

/* "/v1/admin/${what}/${name}${verb}" with ${name} percent-encoded; as
 * admin_path(). */
char *admin_path_of(const char *what, const char *name, const char *verb);

/* What a batch of dead letters is asked for with: ${ids} (numbers; borrowed)
 * or, where that is NULL, ${limit} of what ${filter} lets through.  The
 * caller's; NULL without memory. */
json_t *admin_batch(
    const json_t *ids, const struct admin_filter *filter, int64_t limit);

/* Does ${request}, whose path (of admin_path(), taken) it is given in ${path};
 * the answer is an object.  The caller frees ${ret} by rest_reply_fini().
 * Blocks: as rest_call(). */
enum rc admin_call(struct rest *rest, struct rest_request *request, char *path,
    struct rest_reply *ret, struct fail *fail) MUST_USE;

#endif
