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
	struct limiter *requests; /* by user; NULL: off */
	struct lock poll_lock;    /* the state of every struct poll, streams */
	struct htab *streams;     /* how many each device has open */
};

#endif
