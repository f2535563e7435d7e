/* SPDX-License-Identifier: MIT */
/*
 * The thread that syncs, for a rig whose options say "held".  It is the
 * product's own (engine/commits.c), but stops before each sync until
 * rig_turn().  Either this thread or the test runs, never both, so that each
 * run is the same.
 *
 * The thread stops in the driver's sync, where it has no locks.  So a COMMIT or
 * a checkpoint that syncs the log itself can pass it, as in the product.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#include <cmocka.h>

#include "contract/rig_internal.h"
#include "db/db_internal.h"
#include "engine/commits.h"

/* One batch is before its sync and two are behind it (engine/commits.c).  With
 * more, the writer would wait. */
#define HELD_MOST 3
#define GIVE_UP_S 120

struct contended {
	struct db *db;
	const struct db_driver *real;
	struct db_driver driver; /* the same, apart from its sync */
	struct commits *commits;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool there;               /* the thread is before a sync */
	bool granted;             /* the thread may go on */
	bool turning;             /* the test waits for it */
	bool open;                /* the thread need not stop any more */
	bool drops;               /* its syncs are skipped */
	bool early;               /* a unit was answered OK before its sync */
	uint64_t asked, answered; /* units submitted, answered */
	struct rig_turns turns;

	/* Used by the test's thread only. */
	bool running;
	uint64_t before; /* units before the current batch */
	size_t owed;     /* batches without a sync */
};

static enum rc
held_sync(struct db *db, struct err *err)
{
	struct contended *h =
	    (struct contended *)(void *)((char *)(uintptr_t)db->driver -
					 offsetof(struct contended, driver));
	bool drops;

	(void)pthread_mutex_lock(&h->lock);
	h->there = true;
	(void)pthread_cond_broadcast(&h->changed);
	while (!h->granted && !h->open)
		(void)pthread_cond_wait(&h->changed, &h->lock);
	h->granted = h->there = false;
	h->turns.syncs++;
	drops = h->drops;
	(void)pthread_cond_broadcast(&h->changed);
	(void)pthread_mutex_unlock(&h->lock);
	return (drops ? RC_OK : h->real->sync(db, err));
}

/* Waits until the thread has changed something.  The caller has the lock. */
static void
wait_change(struct contended *h)
{
	struct timespec until;

	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += GIVE_UP_S;
	if (pthread_cond_timedwait(&h->changed, &h->lock, &until) != 0)
		fail_msg("the thread that syncs does not come");
}

void
rig_hold(struct rig *r)
{
	struct err err = ERR_INIT;
	struct contended *h;

	h = calloc(1, sizeof(*h));
	assert_non_null(h);
	h->db = r->db;
	h->real = r->db->driver;
	h->driver = *h->real;
	h->driver.sync = held_sync;
	h->commits = writer_commits(r->writer);
	h->drops = r->options.drops_syncs;
	(void)pthread_mutex_init(&h->lock, NULL);
	(void)pthread_cond_init(&h->changed, NULL);
	r->db->driver = &h->driver;
	assert_int_equal(commits_start(h->commits, &err), RC_OK);
	r->held = h;
}

void
rig_let_go(struct rig *r)
{
	struct contended *h = r->held;

	if (h == NULL)
		return;
	rig_turn(r);
	assert_false(h->early);
	assert_int_equal(h->answered, h->asked);
	(void)pthread_mutex_lock(&h->lock);
	h->open = true;
	(void)pthread_cond_broadcast(&h->changed);
	(void)pthread_mutex_unlock(&h->lock);
	commits_stop(h->commits);
	h->db->driver = h->real;
	(void)pthread_cond_destroy(&h->changed);
	(void)pthread_mutex_destroy(&h->lock);
	free(h);
	r->held = NULL;
}

void
rig_run(struct rig *r, size_t n)
{
	struct contended *h = r->held;

	if (h == NULL) {
		assert_true(writer_run_once(r->writer) >= n);
		return;
	}
	if (h->owed == HELD_MOST)
		rig_turn(r);
	(void)pthread_mutex_lock(&h->lock);
	h->before = h->asked;
	h->asked += n;
	(void)pthread_mutex_unlock(&h->lock);
	h->running = true;
	assert_int_equal(writer_run_once(r->writer), n);
	h->running = false;
	h->owed++;
	/* Waits until the thread stands before the sync, or all units were
	 * answered (refused). */
	(void)pthread_mutex_lock(&h->lock);
	while (!h->there && h->answered < h->asked)
		wait_change(h);
	if (h->owed > h->turns.owed_most && h->there)
		h->turns.owed_most = h->owed;
	(void)pthread_mutex_unlock(&h->lock);
}

void
rig_turn(struct rig *r)
{
	struct contended *h = r->held;
	uint64_t upto;

	if (h == NULL)
		return;
	(void)pthread_mutex_lock(&h->lock);
	upto = h->running ? h->before : h->asked;
	h->turning = true;
	while (h->answered < upto || (h->there && !h->running)) {
		h->granted = h->there;
		(void)pthread_cond_broadcast(&h->changed);
		wait_change(h);
	}
	h->turning = false;
	(void)pthread_mutex_unlock(&h->lock);
	h->owed = 0;
}

void
rig_answered(struct rig *r, enum rc rc)
{
	struct contended *h = r->held;

	if (h == NULL)
		return;
	(void)pthread_mutex_lock(&h->lock);
	/* A unit with writes must not be answered OK without a turn.  Only a
	 * unit without writes needs no sync. */
	h->early =
	    h->early || (rc == RC_OK && !h->turning && h->answered < h->before);
	h->answered++;
	(void)pthread_cond_broadcast(&h->changed);
	(void)pthread_mutex_unlock(&h->lock);
}

struct rig_turns
rig_turns(const struct rig *r)
{

	return (r->held->turns);
}
