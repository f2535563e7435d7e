/* SPDX-License-Identifier: MIT */
/*
 * The argon2 pool.  It has few threads, because each password costs 64 MiB and
 * a tenth of a second.  Few jobs may wait, because a job is worthless once its
 * client has given up.
 *
 * Order.  Jobs have a class (enum pool_class), and a better class goes first:
 * many people who register do not keep users from logging in.  A class goes
 * before the better classes once OVERDUE (4) of their jobs were taken while its
 * own jobs waited, so that a user who logs in again and again does not keep
 * all others out.  Within a class, networks take turns: the waiting jobs of one
 * network have ascending turn numbers, the lowest number of the class goes
 * first, and equal numbers go in order of arrival (job_link()).
 *
 * Room.  At most PLACES (64) jobs of each class may wait, so that the jobs of
 * one class do not take the room of another.  One network may have at most
 * SHARE_MAX (32) jobs that wait or run, in all classes together, so that it
 * cannot fill a class alone.
 *
 * Invariants, under the lock:
 *   1. waiting[c] is the length of the list first[c];
 *   2. the share of an owner (a network) counts its jobs that wait or run.
 */
#include <assert.h>
#include <stddef.h>

#include "base/lock.h"
#include "base/mem.h"
#include "base/thr.h"
#include "rest/pool.h"

#define THREADS_MAX 16
#define PLACES 64 /* per class */
#define SHARE_MAX (PLACES / 2)
#define OWNERS_MAX (POOL_CLASSES * PLACES + THREADS_MAX)
/* A class goes first once this number of jobs of better classes were taken
 * while its own jobs waited.  With 4, if jobs of all classes wait, one in five
 * of the jobs taken is of POOL_REGISTRATION, and at least one in seven of
 * POOL_STRANGER: all classes make progress, and POOL_KNOWN stays quick. */
#define OVERDUE 4

struct share {
	uint64_t owner;
	int jobs;                    /* 0: this entry is free */
	uint64_t turn[POOL_CLASSES]; /* of the owner's last job in each class */
};

struct pool {
	struct lock lock; /* of all fields but the threads */
	pthread_cond_t arrived;
	bool closed;
	struct pool_job *first[POOL_CLASSES]; /* in order of arrival */
	int waiting[POOL_CLASSES];
	int passed[POOL_CLASSES];    /* since the last turn of the class */
	uint64_t turn[POOL_CLASSES]; /* of the job that was taken last */
	struct share shares[OWNERS_MAX];
	struct thr *threads[THREADS_MAX];
	int n;
};

/* ---- shares ---- */

/* Returns the share of ${owner}, or else a free entry, or NULL if there is
 * neither. */
static struct share *
share_find(struct pool *pool, uint64_t owner)
{
	struct share *vacant = NULL;
	int i;

	for (i = 0; i < OWNERS_MAX; i++) {
		if (pool->shares[i].jobs == 0)
			vacant = &pool->shares[i];
		else if (pool->shares[i].owner == owner)
			return (&pool->shares[i]);
	}
	return (vacant);
}

/* Counts one more job in the share of ${owner}, and returns the share.  Returns
 * NULL, and counts nothing, if SHARE_MAX jobs of the owner already wait or run,
 * or no share is free for a new owner. */
static struct share *
share_take(struct pool *pool, uint64_t owner)
{
	struct share *s = share_find(pool, owner);

	if (s == NULL || s->jobs == SHARE_MAX)
		return (NULL);
	if (s->jobs == 0)
		*s = (struct share){.owner = owner};
	s->jobs++;
	return (s);
}

static void
share_return(struct pool *pool, uint64_t owner)
{
	struct share *s;

	lock_take(&pool->lock);
	s = share_find(pool, owner);
	assert(s != NULL && s->jobs > 0); /* share_take() has counted it */
	s->jobs--;
	lock_drop(&pool->lock);
}

/* ---- the order ---- */

/* Returns the class that has the next turn, or POOL_CLASSES if no job waits. */
static int
class_next(struct pool *pool)
{
	int c;

	for (c = POOL_CLASSES - 1; c > 0; c--) {
		if (pool->waiting[c] > 0 && pool->passed[c] >= OVERDUE)
			return (c);
	}
	while (c < POOL_CLASSES && pool->waiting[c] == 0)
		c++;
	return (c);
}

/* Removes and returns the job of class ${c}, of which at least one must wait,
 * that has the lowest turn number (job_link()); of several with this number,
 * the one that arrived first. */
static struct pool_job *
job_unlink(struct pool *pool, int c)
{
	struct pool_job **at, **best = &pool->first[c], *job;

	for (at = best; *at != NULL; at = &(*at)->next) {
		if ((*at)->turn < (*best)->turn)
			best = at;
	}
	job = *best;
	*best = job->next;
	pool->waiting[c]--;
	pool->turn[c] = job->turn;
	return (job);
}

/* Waits for the next job.  Returns NULL if the pool is closed and no job waits.
 */
static struct pool_job *
job_take(struct pool *pool)
{
	struct pool_job *job = NULL;
	int c, worse;

	lock_take(&pool->lock);
	while ((c = class_next(pool)) == POOL_CLASSES && !pool->closed)
		lock_wait(&pool->lock, &pool->arrived);
	if (c < POOL_CLASSES) {
		job = job_unlink(pool, c);
		pool->passed[c] = 0;
		for (worse = c + 1; worse < POOL_CLASSES; worse++)
			pool->passed[worse] += pool->waiting[worse] > 0;
	}
	lock_drop(&pool->lock);
	return (job);
}

static void
pool_main(void *arg)
{
	struct pool *pool = arg;
	struct pool_job *job;
	uint64_t owner;

	while ((job = job_take(pool)) != NULL) {
		/* run() may free the job, as it answers the request. */
		owner = job->owner;
		job->run(job);
		share_return(pool, owner);
	}
}

/* ---- life ---- */

enum rc
pool_new(int threads, struct pool **ret, struct err *err)
{
	struct pool *pool;
	enum rc rc = RC_OK;

	if ((pool = mem_zalloc(1, sizeof(*pool))) == NULL)
		return (err_set(err, RC_NO_MEMORY, "argon2 pool"));
	lock_init(&pool->lock, LOCK_POOL);
	lock_cond_init(&pool->arrived);
	if (threads > THREADS_MAX)
		threads = THREADS_MAX;
	while (pool->n < threads && rc == RC_OK) {
		rc = thr_start(THR_ARGON2, pool->n, pool_main, pool,
		    &pool->threads[pool->n], err);
		pool->n += rc == RC_OK;
	}
	if (rc != RC_OK) {
		pool_stop(pool);
		pool_free(pool);
		return (rc);
	}
	*ret = pool;
	return (RC_OK);
}

void
pool_stop(struct pool *pool)
{
	int i;

	lock_take(&pool->lock);
	pool->closed = true;
	(void)pthread_cond_broadcast(&pool->arrived);
	lock_drop(&pool->lock);
	for (i = 0; i < pool->n; i++)
		thr_join(&pool->threads[i]);
}

void
pool_free(struct pool *pool)
{

	if (pool == NULL)
		return;
	(void)pthread_cond_destroy(&pool->arrived);
	lock_fini(&pool->lock);
	mem_free(pool);
}

/* Appends ${job} to the list of its class, and sets its turn number to the
 * higher of two: one more than the number of the owner's previous job in this
 * class (1 if there was none since the owner last had no job in the pool), and
 * the number of the job that was taken last from the list of this class. */
static void
job_link(struct pool *pool, struct pool_job *job, struct share *share)
{
	struct pool_job **at = &pool->first[job->class];
	uint64_t *last = &share->turn[job->class];

	job->turn = *last + 1;
	if (job->turn < pool->turn[job->class])
		job->turn = pool->turn[job->class];
	*last = job->turn;
	while (*at != NULL)
		at = &(*at)->next;
	job->next = NULL;
	*at = job;
	pool->waiting[job->class]++;
}

enum rc
pool_submit(struct pool *pool, struct pool_job *job)
{
	struct share *share = NULL;
	enum rc rc = RC_OK;

	lock_take(&pool->lock);
	if (pool->closed)
		rc = RC_CLOSED;
	else if (pool->waiting[job->class] == PLACES ||
		 (share = share_take(pool, job->owner)) == NULL)
		rc = RC_BUSY;
	else {
		/* A class is not passed over while none of its jobs waits. */
		if (pool->waiting[job->class] == 0)
			pool->passed[job->class] = 0;
		job_link(pool, job, share);
		(void)pthread_cond_signal(&pool->arrived);
	}
	lock_drop(&pool->lock);
	return (rc);
}
