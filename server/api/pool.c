/* SPDX-License-Identifier: MIT */
/*
 * The argon2 pool: few threads, because each password costs 64 MiB and a tenth
 * of a second, and few jobs that may wait, because they are worth nothing once
 * their client has given up.  One owner has at most half of the places.
 */
#include <stddef.h>

#include "api/api_internal.h"
#include "base/mem.h"
#include "base/thr.h"

#define THREADS_MAX 16
#define WAITING_MAX 64
#define SHARE_MAX (WAITING_MAX / 2)
#define OWNERS_MAX (WAITING_MAX + THREADS_MAX)

struct share {
	uint64_t owner;
	int jobs; /* waiting or running; 0: the place is free */
};

struct pool {
	struct mbox *box;
	pthread_mutex_t lock; /* of the shares */
	struct share shares[OWNERS_MAX];
	struct thr *threads[THREADS_MAX];
	int n;
};

/* The share of ${owner}, or a free one; NULL: there is none. */
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

static bool
share_take(struct pool *pool, uint64_t owner)
{
	struct share *s;
	bool ok;

	(void)pthread_mutex_lock(&pool->lock);
	s = share_find(pool, owner);
	ok = s != NULL && s->jobs < SHARE_MAX;
	if (ok) {
		s->owner = owner;
		s->jobs++;
	}
	(void)pthread_mutex_unlock(&pool->lock);
	return (ok);
}

static void
share_return(struct pool *pool, uint64_t owner)
{

	(void)pthread_mutex_lock(&pool->lock);
	share_find(pool, owner)->jobs--;
	(void)pthread_mutex_unlock(&pool->lock);
}

static void
pool_main(void *arg)
{
	struct pool *pool = arg;
	struct mbox_node *node;
	struct pool_job *job;
	uint64_t owner;

	while ((node = mbox_take_wait(pool->box, -1)) != NULL) {
		job = (struct pool_job *)(void *)((char *)node -
						  offsetof(
						      struct pool_job, node));
		/* The job is gone once it is answered. */
		owner = job->owner;
		job->run(job);
		share_return(pool, owner);
	}
}

enum rc
pool_new(int threads, struct pool **ret, struct err *err)
{
	struct pool *pool;
	enum rc rc = RC_OK;

	if ((pool = mem_zalloc(1, sizeof(*pool))) != NULL)
		(void)pthread_mutex_init(&pool->lock, NULL);
	if (pool == NULL ||
	    (pool->box = mbox_new(WAITING_MAX, false)) == NULL) {
		pool_free(pool);
		return (err_set(err, RC_NO_MEMORY, "argon2 pool"));
	}
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

	mbox_close(pool->box);
	for (i = 0; i < pool->n; i++)
		thr_join(&pool->threads[i]);
}

void
pool_free(struct pool *pool)
{

	if (pool == NULL)
		return;
	mbox_free(pool->box);
	(void)pthread_mutex_destroy(&pool->lock);
	mem_free(pool);
}

enum rc
pool_submit(struct pool *pool, struct pool_job *job)
{

	uint64_t owner = job->owner;
	enum rc rc;

	if (!share_take(pool, owner))
		return (RC_BUSY);
	if ((rc = mbox_put(pool->box, &job->node)) != RC_OK)
		share_return(pool, owner);
	return (rc);
}
