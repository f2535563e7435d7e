/* SPDX-License-Identifier: MIT */
/*
 * The argon2 pool: few threads, because each password costs 64 MiB and a tenth
 * of a second, and few jobs that may wait, because they are worth nothing once
 * their client has given up.
 */
#include <stddef.h>

#include "api/api_internal.h"
#include "base/mem.h"
#include "base/thr.h"

#define THREADS_MAX 16
#define WAITING_MAX 64

struct pool {
	struct mbox *box;
	struct thr *threads[THREADS_MAX];
	int n;
};

static void
pool_main(void *arg)
{
	struct pool *pool = arg;
	struct mbox_node *node;
	struct pool_job *job;

	while ((node = mbox_take_wait(pool->box, -1)) != NULL) {
		job = (struct pool_job *)(void *)((char *)node -
						  offsetof(
						      struct pool_job, node));
		job->run(job);
	}
}

enum rc
pool_new(int threads, struct pool **ret, struct err *err)
{
	struct pool *pool;
	enum rc rc = RC_OK;

	if ((pool = mem_zalloc(1, sizeof(*pool))) == NULL ||
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
	mem_free(pool);
}

enum rc
pool_submit(struct pool *pool, struct pool_job *job)
{

	return (mbox_put(pool->box, &job->node));
}
