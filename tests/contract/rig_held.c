/* SPDX-License-Identifier: MIT */
/*
 * The thread that syncs, of a rig whose options say "held": the product's own
 * (engine/commits.c), stopped before each sync until rig_turn().  Either it or
 * the test runs, never both, so that a run is the same each time.
 *
 * It is stopped in the driver's sync, above all locks: a COMMIT or a checkpoint
 * that syncs the log itself goes on past it, as it may in the product.
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

/* One before its sync, two behind it (engine/commits.c): the writer would wait
 * with the next. */
#define HELD_MOST 3
#define GIVE_UP_S 120

struct contended {
	struct db *db;
	const struct db_driver *real;
	struct db_driver driver; /* the same, but for its sync */
	struct commits *commits;

	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool there;   /* the thread is before a sync */
	bool granted; /* it may */
	bool turning; /* the test waits for it */
	bool open;    /* it need not wait any more */
	bool drops;   /* its syncs are not made */
	bool early;   /* something owed was accepted without a turn */
	uint64_t asked, answered; /* units */
	struct rig_turns turns;

	/* The test's. */
	bool running;
	uint64_t before; /* asked before the batch that runs */
	size_t owed;     /* batches */
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

/* With the lock: until the thread has done something. */
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
	/* The thread has come to the sync, or what was refused is. */
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
	/* Only what has written nothing needs no sync, and nobody's turn. */
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
