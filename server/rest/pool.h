/* SPDX-License-Identifier: MIT */
/*
 * The argon2 pool: threads that hash passwords, and the queue of the jobs that
 * wait for them.  Its order and its room: pool.c.
 */
#ifndef REST_POOL_H
#define REST_POOL_H

#include <stdint.h>

#include "base/err.h"

struct pool;

/* The class of a password job; the best class is first. */
enum pool_class {
	/* a log-in from a network where the name has logged in, or a user with
	 * a token */
	POOL_KNOWN,
	POOL_STRANGER, /* a log-in from another network */
	POOL_REGISTRATION,
	POOL_CLASSES
};

struct pool_job {
	void (*run)(struct pool_job *job); /* thread: argon2 */
	enum pool_class class;
	uint64_t owner; /* the network, whose share of the queue it takes */

	struct pool_job *next; /* these two are the pool's */
	uint64_t turn;
};

/* Starts ${threads} threads. */
enum rc pool_new(int threads, struct pool **ret, struct err *err) MUST_USE;

/* Finishes the jobs that wait, and ends the threads. */
void pool_stop(struct pool *pool);
void pool_free(struct pool *pool);

/* Runs ${job} when its turn comes (pool.c).  RC_BUSY: the queue of its class is
 * full, or its owner has half of it, so that one network cannot keep all others
 * from logging in.  RC_CLOSED: the pool is stopping.  Thread: any. */
enum rc pool_submit(struct pool *pool, struct pool_job *job) MUST_USE;

#endif
