/* SPDX-License-Identifier: MIT */
/*
 * A short ring of commits, and the thread that syncs them.
 *
 * Four counters of commits: announced (the writer is about to commit), added
 * (committed and handed over), taken (out of the ring, where their places are
 * free again), and durable (synced).  Commits become durable in their order.
 */
#include <assert.h>
#include <stdatomic.h>

#include "base/fault.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/thr.h"
#include "engine/commits.h"
#include "engine/writer.h"

/* Maximum number of commits that may wait for their sync while earlier ones are
 * synced and their units finished.  Beyond it commits_add() waits. */
#define AHEAD 2

struct commits {
	struct db *db;
	const struct clk *clk;
	const struct commits_hooks *hooks;

	atomic_uint_fast64_t announced, durable;

	struct lock lock;
	pthread_cond_t work;       /* signals: added has grown, or stopping */
	pthread_cond_t room;       /* signals: taken has grown */
	pthread_cond_t synced;     /* signals: durable has grown, or ended */
	uint64_t added, taken;     /* under lock */
	struct commit ring[AHEAD]; /* [taken, added) under lock */
	bool busy;                 /* under lock: the thread works on commits */
	bool stopping;             /* under lock */
	atomic_bool failed;        /* set under lock, never cleared */
	bool ended;                /* under lock: fatal has returned, too */

	struct thr *thread;
};

struct commits *
commits_new(
    struct db *db, const struct clk *clk, const struct commits_hooks *hooks)
{
	struct commits *c;

	c = mem_zalloc(1, sizeof(*c));
	if (c == NULL)
		return (NULL);
	c->db = db;
	c->clk = clk;
	c->hooks = hooks;
	lock_init(&c->lock, LOCK_COMMITS);
	lock_cond_init(&c->work);
	lock_cond_init(&c->room);
	lock_cond_init(&c->synced);
	return (c);
}

void
commits_free(struct commits *c)
{

	if (c == NULL)
		return;
	assert(c->thread == NULL && c->taken == c->added);
	(void)pthread_cond_destroy(&c->synced);
	(void)pthread_cond_destroy(&c->room);
	(void)pthread_cond_destroy(&c->work);
	lock_fini(&c->lock);
	mem_free(c);
}

/* ---- to the disk ---- */

static void
finish(struct unit *units, enum rc rc)
{
	struct unit *unit;

	while (units != NULL) {
		unit = units;
		units = unit_next(unit);
		if (rc != RC_OK)
			unit->rc = rc;
		unit->finish(unit);
	}
}

/* Waits until the thread that found the failure has called fatal. */
static void
await_end(struct commits *c)
{

	lock_take(&c->lock);
	while (!c->ended)
		lock_wait(&c->lock, &c->synced);
	lock_drop(&c->lock);
}

void
commits_fail(struct commits *c, const struct err *err)
{
	bool first;

	lock_take(&c->lock);
	first = !atomic_exchange(&c->failed, true);
	lock_drop(&c->lock);
	if (!first) {
		await_end(c);
		return;
	}
	c->hooks->fatal(c->hooks->arg, err);
	lock_take(&c->lock);
	c->ended = true;
	(void)pthread_cond_broadcast(&c->synced);
	lock_drop(&c->lock);
}

static void
settle(struct commits *c, uint64_t upto)
{

	lock_take(&c->lock);
	atomic_store(&c->durable, upto);
	(void)pthread_cond_broadcast(&c->synced);
	lock_drop(&c->lock);
}

/* Publishes a commit and finishes its units.  If the store has failed by now,
 * waits instead until the hook fatal has returned, discards the commit (hook
 * lost), even if it was synced, and finishes its units with RC_IO: a dying disk
 * may report one sync as done and fail the next one microseconds later.  The
 * clients repeat these requests with the same ids, as after a lost response. */
static void
publish(struct commits *c, const struct commit *commit)
{
	const enum rc rc = atomic_load(&c->failed) ? RC_IO : RC_OK;

	if (rc != RC_OK) {
		await_end(c);
		c->hooks->lost(c->hooks->arg, commit->told);
	} else if (commit->n > 0 || commit->told != NULL)
		c->hooks->published(c->hooks->arg, commit->told, commit->n,
		    clk_mono_us(c->clk) - commit->began_us);
	FAULT("writer.published");
	finish(commit->units, rc);
}

/* Syncs once, if needed, for the ${n} commits of ${list}, of which the last has
 * number ${upto}; then publishes them and finishes their units.  If the sync
 * fails, reports that with commits_fail(), and publish() discards all of them.
 */
static void
take(struct commits *c, const struct commit *list, size_t n, uint64_t upto)
{
	struct err err = ERR_INIT;
	bool owed;
	enum rc rc;
	size_t i;

	for (i = 0, owed = false; i < n; i++)
		owed = owed || list[i].owed;
	if (owed && !atomic_load(&c->failed)) {
		FAULT("writer.sync.before");
		rc = db_sync(c->db, &err);
		FAULT("writer.sync.after");
		if (rc != RC_OK)
			commits_fail(c, &err);
	}
	if (!atomic_load(&c->failed))
		settle(c, upto);
	for (i = 0; i < n; i++)
		publish(c, &list[i]);
}

static void
loop(void *arg)
{
	struct commits *c = arg;
	struct commit list[AHEAD];
	uint64_t upto;
	size_t n;

	lock_take(&c->lock);
	for (;;) {
		while (c->added == c->taken && !c->stopping)
			lock_wait(&c->lock, &c->work);
		if (c->added == c->taken)
			break;
		upto = c->added;
		for (n = 0; c->taken < upto; c->taken++)
			list[n++] = c->ring[c->taken % AHEAD];
		c->busy = true;
		(void)pthread_cond_signal(&c->room);
		lock_drop(&c->lock);
		take(c, list, n, upto);
		lock_take(&c->lock);
		c->busy = false;
	}
	lock_drop(&c->lock);
}

enum rc
commits_start(struct commits *c, struct err *err)
{

	return (thr_start(THR_SYNC, 0, loop, c, &c->thread, err));
}

void
commits_stop(struct commits *c)
{

	lock_take(&c->lock);
	c->stopping = true;
	(void)pthread_cond_signal(&c->work);
	lock_drop(&c->lock);
	thr_join(&c->thread);
}

/* ---- what others call ---- */

void
commits_announce(struct commits *c)
{

	atomic_fetch_add(&c->announced, 1);
}

void
commits_add(struct commits *c, const struct commit *commit)
{

	if (c->thread == NULL) {
		c->taken = ++c->added;
		take(c, commit, 1, c->added);
		return;
	}
	lock_take(&c->lock);
	if (commit->last && c->added == c->taken && !c->busy) {
		/* Only the writer adds commits, so the sync thread stays idle
		 * meanwhile. */
		c->taken = ++c->added;
		lock_drop(&c->lock);
		take(c, commit, 1, c->added);
		return;
	}
	while (c->added - c->taken == AHEAD)
		lock_wait(&c->lock, &c->room);
	c->ring[c->added % AHEAD] = *commit;
	c->added++;
	(void)pthread_cond_signal(&c->work);
	lock_drop(&c->lock);
}

bool
commits_wait(struct commits *c)
{
	uint64_t upto;

	upto = atomic_load(&c->announced);
	if (atomic_load(&c->durable) >= upto)
		return (true);
	lock_take(&c->lock);
	while (!c->ended && atomic_load(&c->durable) < upto)
		lock_wait(&c->lock, &c->synced);
	lock_drop(&c->lock);
	return (atomic_load(&c->durable) >= upto);
}
