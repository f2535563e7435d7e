/* SPDX-License-Identifier: MIT */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "unit/commits_rig.h"
#include "unit/sleeps.h"

struct rig *rig;

static void
note(const char *before, char name, const char *after)
{
	int n;

	(void)pthread_mutex_lock(&rig->lock);
	n = snprintf(rig->story + rig->len, sizeof(rig->story) - rig->len,
	    "%s%c%s ", before, name, after);
	if (n > 0 && (size_t)n < sizeof(rig->story) - rig->len)
		rig->len += (size_t)n;
	(void)pthread_mutex_unlock(&rig->lock);
}

static void
tell(const char *before, char name, const char *after)
{

	if (thr_self() != rig->wanted)
		rig->elsewhere++;
	note(before, name, after);
}

/* The story up to now. */
const char *
rig_story(void)
{
	static char copy[sizeof(rig->story)];

	(void)pthread_mutex_lock(&rig->lock);
	memcpy(copy, rig->story, sizeof(copy));
	(void)pthread_mutex_unlock(&rig->lock);
	return (copy);
}

void
rig_forget(void)
{

	(void)pthread_mutex_lock(&rig->lock);
	rig->len = 0;
	rig->story[0] = '\0';
	(void)pthread_mutex_unlock(&rig->lock);
}

/* ---- the database and the hooks ---- */

static enum rc
fake_sync(struct db *db, struct err *err)
{
	enum rc rc;

	assert_ptr_equal(db, &rig->db);
	tell("sync", '(', "");
	if (atomic_load(&rig->held)) {
		(void)sem_post(&rig->begun);
		(void)sem_wait(&rig->go);
		atomic_store(&rig->syncing, (int)gettid());
	}
	clk_fake_advance(&rig->clk, SYNC_MS);
	rc = rig->sync_rc;
	rig->sync_rc = RC_OK;
	tell("", ')', rc == RC_OK ? "" : "fails");
	return (rc == RC_OK ? RC_OK : err_set(err, rc, "on purpose"));
}

static const struct db_driver driver = {.sync = fake_sync};

static void
on_published(void *arg, void *told, size_t units, int64_t commit_us)
{
	static const char *const counts[] = {"0", "1", "2"};

	assert_ptr_equal(arg, rig);
	rig->commit_us = commit_us;
	tell("+", *(char *)told, counts[units]);
}

static void
on_lost(void *arg, void *told)
{

	assert_ptr_equal(arg, rig);
	if (told != NULL)
		tell("-", *(char *)told, "");
}

static void
on_fatal(void *arg, const struct err *err)
{

	assert_ptr_equal(arg, rig);
	rig->fatals++;
	note("fatal", '=', rc_name(err->rc));
	if (atomic_load(&rig->hold_end))
		(void)sem_wait(&rig->end);
}

/* Another sync fails: the sync of a checkpoint. */
void
rig_fail_elsewhere(void)
{
	struct err err = ERR_INIT;

	(void)err_set(&err, RC_IO, "elsewhere");
	commits_fail(rig->commits, &err);
}

static void
done(struct unit *unit)
{
	struct item *item = (struct item *)(void *)unit;

	tell("", item->name, unit->rc == RC_OK ? "" : rc_name(unit->rc));
	if (rig->fails_at == item->name)
		rig_fail_elsewhere();
	(void)sem_post(&rig->answered);
}

static const struct unit_kind kind = {.name = "test"};

/* ---- the writer's part ---- */

/* Hands over a commit called ${name}, which was announced before. */
void
rig_add(char name, size_t units, bool owed)
{
	struct commit c = {.n = units,
	    .last = rig->last,
	    .told = &rig->told[name - 'a'],
	    .owed = owed,
	    .began_us = rig->began_us};
	struct item *items = rig->items[name - 'a'];
	size_t i;

	for (i = 0; i < units; i++) {
		items[i].unit = (struct unit){.kind = &kind, .finish = done};
		items[i].unit.node.next =
		    i + 1 < units ? &items[i + 1].unit.node : NULL;
		items[i].name = name;
	}
	rig->told[name - 'a'] = name;
	c.units = units > 0 ? &items[0].unit : NULL;
	commits_add(rig->commits, &c);
}

void
rig_give(char name, size_t units, bool owed)
{

	commits_announce(rig->commits);
	rig_add(name, units, owed);
}

void
rig_withdraw(void)
{
	struct commit none = {0};

	commits_add(rig->commits, &none);
}

void
rig_await(sem_t *sem, int n)
{

	while (n-- > 0)
		(void)sem_wait(sem);
}

/* ---- a thread that may have to wait ---- */

static void
run(void *arg)
{
	struct runner *r = arg;

	atomic_store(&r->tid, (int)gettid());
	r->result = r->run();
	atomic_store(&r->returned, true);
}

/* Starts a thread that runs ${fn}, and returns when the thread sleeps or is
 * done.  True if it sleeps. */
bool
rig_waits(struct runner *r, bool (*fn)(void))
{
	struct err err = ERR_INIT;

	memset(r, 0, sizeof(*r));
	r->run = fn;
	assert_int_equal(thr_start(THR_OTHER, 0, run, r, &r->thr, &err), RC_OK);
	while (!atomic_load(&r->returned)) {
		if (atomic_load(&r->tid) != 0 && sleeps(atomic_load(&r->tid)))
			break;
		(void)sched_yield();
	}
	return (!atomic_load(&r->returned));
}

bool
rig_run_wait(void)
{

	return (commits_wait(rig->commits));
}

/* ---- set-up ---- */

int
rig_set_up_inline(void **state)
{

	(void)state;
	rig = mem_zalloc(1, sizeof(*rig));
	assert_non_null(rig);
	rig->db.driver = &driver;
	rig->wanted = thr_self();
	clk_fake_init(&rig->clk, 1700000000000);
	(void)pthread_mutex_init(&rig->lock, NULL);
	(void)sem_init(&rig->begun, 0, 0);
	(void)sem_init(&rig->go, 0, 0);
	(void)sem_init(&rig->end, 0, 0);
	(void)sem_init(&rig->answered, 0, 0);
	rig->hooks =
	    (struct commits_hooks){rig, on_published, on_lost, on_fatal};
	rig->commits = commits_new(&rig->db, &rig->clk.clk, &rig->hooks);
	return (rig->commits != NULL ? 0 : -1);
}

int
rig_set_up(void **state)
{
	struct err err = ERR_INIT;

	if (rig_set_up_inline(state) != 0)
		return (-1);
	rig->wanted = THR_SYNC;
	return (commits_start(rig->commits, &err) == RC_OK ? 0 : -1);
}

int
rig_set_up_held(void **state)
{

	if (rig_set_up(state) != 0)
		return (-1);
	atomic_store(&rig->held, true);
	return (0);
}

int
rig_tear_down(void **state)
{
	int i;

	(void)state;
	/* A test that has failed may have left threads that wait. */
	atomic_store(&rig->held, false);
	for (i = 0; i < NAMES; i++)
		(void)sem_post(&rig->go);
	(void)sem_post(&rig->end);
	commits_stop(rig->commits);
	assert_int_equal(rig->elsewhere, 0);
	commits_free(rig->commits);
	(void)sem_destroy(&rig->answered);
	(void)sem_destroy(&rig->end);
	(void)sem_destroy(&rig->go);
	(void)sem_destroy(&rig->begun);
	(void)pthread_mutex_destroy(&rig->lock);
	mem_free(rig);
	commits_free(NULL);
	return (0);
}
