/* SPDX-License-Identifier: MIT */
/*
 * The argon2 pool: threads that hash passwords, and the queue of jobs for them.
 * pool.c describes the order of the jobs and the limits.
 */
#ifndef REST_POOL_H
#define REST_POOL_H

#include <stdint.h>

#include "base/err.h"

struct pool;

/* The class of a password job, best first. */
enum pool_class {
	/* A log-in from a network from which this user has logged in before, as
	 * far as login_throttle.c remembers; a user with a token who sets a new
	 * password; or an administrator who sets a password for a user. */
	POOL_KNOWN,
	POOL_STRANGER, /* a log-in from any other network */
	POOL_REGISTRATION,
	POOL_CLASSES
};

struct pool_job {
	void (*run)(struct pool_job *job); /* thread: argon2 */
	enum pool_class class;
	uint64_t owner; /* the client's network, whose share it uses */

	struct pool_job *next; /* next and turn belong to the pool */
	uint64_t turn;
};

/* Makes the pool and starts ${threads} threads, or 16 if ${threads} is larger.
 * After RC_NO_MEMORY, or the error of starting a thread, no thread is left and
 * *ret is not set. */
enum rc pool_new(int threads, struct pool **ret, struct err *err) MUST_USE;

/* Runs the jobs that wait, and ends the threads.  Blocks until then. */
void pool_stop(struct pool *pool);
void pool_free(struct pool *pool);

/* Puts ${job} into the queue of its class.  After RC_OK a thread of the pool
 * calls job->run when the job's turn comes (pool.c).  After other results
 * job->run is not called.  RC_BUSY: the queue of the class is full, or the
 * owner has used up its share of the pool, which is limited so that one network
 * cannot keep all others from logging in.  RC_CLOSED: the pool is stopping.
 * Thread: any. */
enum rc pool_submit(struct pool *pool, struct pool_job *job) MUST_USE;

#endif
