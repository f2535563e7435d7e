/* SPDX-License-Identifier: MIT */
/*
 * Locks with a fixed order.  Each lock has a rank, and a thread takes only
 * locks of a higher rank than those it holds, so that threads cannot deadlock.
 * Builds with fault points assert the order; all builds assert that a lock is
 * taken and released without an error.
 *
 * Condition variables must be made by lock_cond_init().  They wait on the
 * monotonic clock, which a change of the wall clock does not affect.
 */
#ifndef BASE_LOCK_H
#define BASE_LOCK_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* The ranks, from the first lock that is taken to the last.  X(rank) */
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

/* Initialises a lock in static storage. */
#define LOCK_INIT(rank_)                                                       \
	{                                                                      \
		.mutex = PTHREAD_MUTEX_INITIALIZER, .rank = (rank_)            \
	}

/* Initialises ${l} with ${rank}; frees its resources.  No thread may hold ${l}
 * then. */
void lock_init(struct lock *l, enum lock_rank rank);
void lock_fini(struct lock *l);

/* Waits until ${l} is free and takes it; releases it. */
void lock_take(struct lock *l);
void lock_drop(struct lock *l);

/* As lock_take(), but waits at most until ${until} of CLOCK_MONOTONIC.  Builds
 * with fault points assert the order of the locks only after ${l} is taken, not
 * before the wait.  Returns false if ${l} was not free in time and is therefore
 * not taken. */
bool lock_take_until(struct lock *l, const struct timespec *until);

/* Makes a condition variable that waits on the monotonic clock. */
void lock_cond_init(pthread_cond_t *cond);

/* Releases ${l}, which the caller holds, waits until ${cond} is signalled, and
 * takes ${l} again.  May also return without a signal, so the caller checks in
 * a loop whether the event for which it waits has happened. */
void lock_wait(struct lock *l, pthread_cond_t *cond);

/* Returns the time ${ms} from now, on CLOCK_MONOTONIC. */
struct timespec lock_deadline(int64_t ms);

/* As lock_wait(), but waits at most until ${until} of CLOCK_MONOTONIC.  Returns
 * false on time-out. */
bool lock_wait_until(
    struct lock *l, pthread_cond_t *cond, const struct timespec *until);

#endif
