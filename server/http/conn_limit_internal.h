/* SPDX-License-Identifier: MIT */
/*
 * The limit of connections per client address, and the answer to refused
 * connections (conn_limit.c).
 */
#ifndef HTTP_CONN_LIMIT_INTERNAL_H
#define HTTP_CONN_LIMIT_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/lock.h"
#include "base/uuid.h"
#include "http/conn_internal.h"
#include "http/http.h"

struct htab;

struct conn_limit {
	size_t per_address;  /* most connections per address; 0: no limit */
	struct uuid_gen ids; /* used by the front's thread only */
	struct lock lock;
	struct htab *counts; /* under lock: connections by address */
};

/* Initializes ${limit}, which is zeroed.  RC_NO_MEMORY is the only error. */
enum rc conn_limit_init(
    struct conn_limit *limit, const struct http_options *options) MUST_USE;

/* Frees what ${limit} holds.  Accepts a zeroed or half-made one. */
void conn_limit_fini(struct conn_limit *limit);

/* Counts ${conn} for its address, until conn_free() calls conn_limit_leave().
 * Returns false, and does not count ${conn}, if the address has reached its
 * limit or there is no memory to count.  If there is no limit, returns true and
 * counts nothing.  Thread: any. */
bool conn_limit_enter(struct conn_limit *limit, struct conn *conn);

/* Uncounts ${conn}, if it was counted.  Thread: any. */
void conn_limit_leave(struct conn_limit *limit, struct conn *conn);

/* Answers the refused connection ${fd} with the problem document of ${problem}
 * and ${detail}, without waiting.  Does not close ${fd}.  Returns true if at
 * least a part was sent; false: the socket took nothing, or there was no
 * memory.  Thread: the front's. */
bool conn_limit_refuse(
    struct conn_limit *limit, int fd, enum problem problem, const char *detail);

#endif
