/* SPDX-License-Identifier: MIT */
/*
 * Locks in one order.  Each lock has a rank, and a thread takes only locks of a
 * higher rank than those that it holds, so that no two threads can wait for
 * each other.  Builds with fault points assert it; all builds assert that a
 * lock could be taken and given back.
 *
 * Condition variables are made by lock_cond_init() and wait on the monotonic
 * clock.
 */
#ifndef BASE_LOCK_H
#define BASE_LOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* From the first that is taken to the last.  X(rank) */
#define LOCK_TABLE(X)                                                          \
	X(LOCK_CONTROL)                                                        \
	X(LOCK_UPKEEP)                                                         \
	X(LOCK_ALERT_THREAD)                                                   \
	X(LOCK_ALERTS)                                                         \
	X(LOCK_ADMIN)                                                          \
	X(LOCK_RELAY_TURN)                                                     \
	X(LOCK_RELAY)                                                          \
	X(LOCK_CARRIER)                                                        \
	X(LOCK_DIRECTORY)                                                      \
	X(LOCK_PEER_CLOCKS)                                                    \
	X(LOCK_CLUSTER)                                                        \
	X(LOCK_POLL)                                                           \
	X(LOCK_HTTP_TIMER)                                                     \
	X(LOCK_HTTP)                                                           \
	X(LOCK_POOL)                                                           \
	X(LOCK_LOGIN_THROTTLE)                                                 \
	X(LOCK_USAGE)                                                          \
	X(LOCK_SEND_GATE)                                                      \
	X(LOCK_LIMITER)                                                        \
	X(LOCK_AUTH)                                                           \
	X(LOCK_KEYRING)                                                        \
	X(LOCK_COMMITS)                                                        \
	X(LOCK_SYNC)                                                           \
	X(LOCK_INTAKE)                                                         \
	X(LOCK_MBOX)                                                           \
	X(LOCK_FAIRQ)                                                          \
	X(LOCK_BUDGET)                                                         \
	X(LOCK_FAULT)                                                          \
	X(LOCK_LOG)                                                            \
	X(LOCK_LOG_DIRECT)

enum lock_rank {
#define X(rank) rank,
	LOCK_TABLE(X)
#undef X
	    LOCK_RANKS
};

struct lock {
	pthread_mutex_t mutex;
	enum lock_rank rank;
};

/* A lock of static storage. */
#define LOCK_INIT(rank_)                                                       \
	{                                                                      \
		.mutex = PTHREAD_MUTEX_INITIALIZER, .rank = (rank_)            \
	}

/* Makes ${l} a lock; frees what it holds.  Nobody may hold it. */
void lock_init(struct lock *l, enum lock_rank rank);
void lock_fini(struct lock *l);

/* Blocks until the lock is the caller's; gives it back. */
void lock_take(struct lock *l);
void lock_drop(struct lock *l);

/* As lock_take(), until ${until} of CLOCK_REALTIME at most; false: it is not
 * the caller's. */
bool lock_take_until(struct lock *l, const struct timespec *until);

/* Makes a condition variable of the monotonic clock. */
void lock_cond_init(pthread_cond_t *cond);

/* Gives ${l} back, waits for ${cond}, and takes it again.  May return without a
 * reason. */
void lock_wait(struct lock *l, pthread_cond_t *cond);

/* ${ms} from now, of CLOCK_MONOTONIC. */
struct timespec lock_deadline(int64_t ms);

/* The same until ${until} of CLOCK_MONOTONIC; false: it is over. */
bool lock_wait_until(
    struct lock *l, pthread_cond_t *cond, const struct timespec *until);

#endif
