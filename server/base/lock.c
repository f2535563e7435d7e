/* SPDX-License-Identifier: MIT */
/*
 * See lock.h.
 */
#include "base/lock.h"

#include <assert.h>
#include <errno.h>

/* ---- the order ---- */

#ifdef TWINBOX_FAULTS
/* The most locks that a thread holds at once. */
#define HELD_MOST 8

/* The ranks of the locks that the calling thread holds, in ascending order. */
static _Thread_local enum lock_rank held[HELD_MOST];
static _Thread_local int nheld;

static void
note_taken(const struct lock *l)
{

	assert(nheld < HELD_MOST);
	assert(nheld == 0 || held[nheld - 1] < l->rank);
	held[nheld++] = l->rank;
}

static void
note_dropped(const struct lock *l)
{
	int i = 0;

	while (i < nheld && held[i] != l->rank)
		i++;
	assert(i < nheld);
	for (nheld--; i < nheld; i++)
		held[i] = held[i + 1];
}
#else
static void
note_taken(const struct lock *l)
{

	(void)l;
}

static void
note_dropped(const struct lock *l)
{

	(void)l;
}
#endif

/* ---- locks ---- */

/* Asserts that a pthread call has succeeded.  These calls fail only by a
 * mistake of the caller, such as a lock that is destroyed while a thread holds
 * it. */
static void
must(int error)
{

	assert(error == 0);
	(void)error;
}

void
lock_init(struct lock *l, enum lock_rank rank)
{

	l->rank = rank;
	must(pthread_mutex_init(&l->mutex, NULL));
}

void
lock_fini(struct lock *l)
{

	must(pthread_mutex_destroy(&l->mutex));
}

void
lock_take(struct lock *l)
{

	/* Check the order, which only builds with fault points do, before
	 * waiting: locks in the wrong order then fail the assertion instead of
	 * hanging in a deadlock. */
	note_taken(l);
	must(pthread_mutex_lock(&l->mutex));
}

/* As pthread_mutex_timedlock(), but ${until} is of CLOCK_MONOTONIC.  The
 * fallback is used where pthread_mutex_clocklock() is missing, and under
 * ThreadSanitizer, which in GCC does not know pthread_mutex_clocklock().  In
 * the fallback a wall clock that is set back meanwhile prolongs the wait. */
static int
lock_monotonic(pthread_mutex_t *mutex, const struct timespec *until)
{
#if defined(HAVE_PTHREAD_MUTEX_CLOCKLOCK) && !defined(__SANITIZE_THREAD__)
	return (pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, until));
#else
	struct timespec now, wall;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	(void)clock_gettime(CLOCK_REALTIME, &wall);
	wall.tv_sec += until->tv_sec - now.tv_sec;
	wall.tv_nsec += until->tv_nsec - now.tv_nsec;
	if (wall.tv_nsec < 0) {
		wall.tv_sec--;
		wall.tv_nsec += 1000000000;
	} else if (wall.tv_nsec >= 1000000000) {
		wall.tv_sec++;
		wall.tv_nsec -= 1000000000;
	}
	return (pthread_mutex_timedlock(mutex, &wall));
#endif
}

bool
lock_take_until(struct lock *l, const struct timespec *until)
{
	const int error = lock_monotonic(&l->mutex, until);

	assert(error == 0 || error == ETIMEDOUT);
	if (error != 0)
		return (false);
	note_taken(l);
	return (true);
}

void
lock_drop(struct lock *l)
{

	note_dropped(l);
	must(pthread_mutex_unlock(&l->mutex));
}

/* ---- conditions ---- */

void
lock_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t monotonic;

	must(pthread_condattr_init(&monotonic));
	must(pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC));
	must(pthread_cond_init(cond, &monotonic));
	must(pthread_condattr_destroy(&monotonic));
}

void
lock_wait(struct lock *l, pthread_cond_t *cond)
{

	must(pthread_cond_wait(cond, &l->mutex));
}

struct timespec
lock_deadline(int64_t ms)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	ts.tv_sec += (time_t)(ms / 1000);
	ts.tv_nsec += (long)(ms % 1000) * 1000000;
	if (ts.tv_nsec >= 1000000000) {
		ts.tv_sec++;
		ts.tv_nsec -= 1000000000;
	}
	return (ts);
}

bool
lock_wait_until(
    struct lock *l, pthread_cond_t *cond, const struct timespec *until)
{
	const int error = pthread_cond_timedwait(cond, &l->mutex, until);

	assert(error == 0 || error == ETIMEDOUT);
	return (error == 0);
}
