/* SPDX-License-Identifier: MIT */
/*
 * The state of the kit.
 */
#ifndef REST_REST_INTERNAL_H
#define REST_REST_INTERNAL_H

#include <stdatomic.h>

#include "base/lock.h"
#include "rest/call.h"
#include "rest/limiter.h"
#include "rest/pool.h"

struct htab;

struct rest {
	struct rest_options o;
	atomic_size_t busy;
	atomic_bool stopped;
	struct pool *pool;        /* argon2 */
	struct limiter *requests; /* by user; NULL: no limit */
	struct lock poll_lock; /* of streams, and of the state of every poll */
	struct htab *streams;  /* the number of open streams by device */
};

#endif
