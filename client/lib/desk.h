/* SPDX-License-Identifier: MIT */
/*
 * The operator's requests (/v1/admin/...): their paths, their filters, and what
 * their refusals mean to him.  What comes back is the server's JSON.
 */
#ifndef LIB_DESK_H
#define LIB_DESK_H

#include <stdint.h>

#include "lib/rest.h"

/* The most that one call requeues or discards. */
#define DESK_BATCH_MAX 1000

/* Which of a list: members that are NULL or negative are left out.  Each list
 * has only some of them. */
struct desk_filter {
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

#define DESK_FILTER_INIT                                                       \
	{                                                                      \
		.stuck_ms = -1, .near_failure = -1, .limit = -1                \
	}

/* "/v1/admin/${what}?..." with what is in ${filter} (NULL: nothing), to be
 * freed by mem_free(); NULL without memory, which rest_call() then reports. */
char *desk_path(const char *what, const struct desk_filter *filter);

/* "/v1/admin/${what}/${name}${verb}" with ${name} percent-encoded; as
 * desk_path(). */
char *desk_path_of(const char *what, const char *name, const char *verb);

/* What a batch of dead letters is asked for with: ${ids} (numbers; borrowed)
 * or, where that is NULL, ${limit} of what ${filter} lets through.  The
 * caller's; NULL without memory. */
json_t *desk_batch(
    const json_t *ids, const struct desk_filter *filter, int64_t limit);

/* Does ${request}, whose path (of desk_path(), taken) it is given in ${path};
 * the answer is an object.  The caller frees ${ret} by rest_reply_fini().
 * Blocks: as rest_call(). */
enum rc desk_call(struct rest *rest, struct rest_request *request, char *path,
    struct rest_reply *ret, struct fail *fail) MUST_USE;

#endif
