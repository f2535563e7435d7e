/* SPDX-License-Identifier: MIT */
/*
 * See writer_fixture.h.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "unit/writer_fixture.h"

/* ---- a database that records calls and fails ---- */

struct world *world;

static void
tell(const char *what)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	size_t n = strlen(what);

	/* Threads of the writer call this, too. */
	(void)pthread_mutex_lock(&lock);
	if (world->len + n + 2 > sizeof(world->story)) {
		(void)pthread_mutex_unlock(&lock);
		return;
	}
	memcpy(world->story + world->len, what, n);
	world->len += n;
	world->story[world->len++] = ' ';
	world->story[world->len] = '\0';
	(void)pthread_mutex_unlock(&lock);
}

/* A clock that stands still is not written to, because several threads read
 * it. */
static void
let_pass(int64_t ms)
{

	if (ms > 0)
		clk_fake_advance(&world->clk, ms);
}

void
world_forget(void)
{

	world->len = 0;
	world->story[0] = '\0';
}

static enum rc
take_rc(enum rc *rc, struct err *err)
{
	enum rc now = *rc;

	*rc = RC_OK;
	if (now != RC_OK)
		(void)err_set(err, now, "on purpose");
	return (now);
}

static enum rc
fake_begin(struct db *db, struct err *err)
{

	(void)db;
	assert_false(world->open);
	world->retryable = false;
	tell("BEGIN");
	world->open = world->begin_rc == RC_OK;
	return (take_rc(&world->begin_rc, err));
}

static enum rc
fake_commit(struct db *db, struct err *err)
{

	(void)db;
	assert_true(world->open);
	let_pass(world->commit_ms);
	if (world->deadlocks > 0) {
		world->deadlocks--;
		world->retryable = true;
		tell("deadlock");
		return (err_set(err, world->deadlock_rc, "on purpose"));
	}
	if (world->commit_after > 0) {
		world->commit_after--;
		tell("COMMIT");
		world->open = false;
		return (RC_OK);
	}
	tell(world->commit_rc == RC_OK ? "COMMIT" : "commit-fails");
	if (world->commit_rc == RC_OK)
		world->open = false;
	return (take_rc(&world->commit_rc, err));
}

static enum rc
fake_commit_early(struct db *db, bool *ret_owed, struct err *err)
{

	*ret_owed = !world->owes_nothing;
	return (fake_commit(db, err));
}

static enum rc
fake_sync(struct db *db, struct err *err)
{

	(void)db;
	if (world->sync_gate != NULL)
		(void)sem_wait(world->sync_gate);
	let_pass(world->sync_ms);
	tell(world->sync_rc == RC_OK ? "SYNC" : "sync-fails");
	return (take_rc(&world->sync_rc, err));
}

static void
fake_rollback(struct db *db)
{

	(void)db;
	tell("ROLLBACK");
	world->open = false;
}

static bool
fake_retryable(const struct db *db)
{

	(void)db;
	return (world->retryable);
}

static enum rc
fake_checkpoint(
    struct db *db, bool truncate, struct db_checkpoint *ret, struct err *err)
{

	(void)db;
	assert_false(truncate);
	assert_false(world->open);
	tell("CHECKPOINT");
	ret->log_frames = world->log_frames;
	ret->done_frames = world->done_frames;
	return (take_rc(&world->checkpoint_rc, err));
}

static enum rc
fake_log_cut(struct db *db, struct err *err)
{

	(void)db;
	assert_false(world->open);
	tell("CUT");
	if (world->cut_rc == RC_OK)
		world->log_bytes = 0;
	return (take_rc(&world->cut_rc, err));
}

static int64_t
fake_log_bytes(struct db *db)
{

	(void)db;
	return (world->log_bytes);
}

static struct db_driver fake_driver = {
    .begin = fake_begin,
    .commit = fake_commit,
    .commit_early = fake_commit_early,
    .sync = fake_sync,
    .rollback = fake_rollback,
    .retryable = fake_retryable,
    .checkpoint = fake_checkpoint,
    .log_cut = fake_log_cut,
    .log_bytes = fake_log_bytes,
};

/* ---- hooks ---- */

static enum rc
on_begin(void *arg, struct tx *tx, struct err *err)
{
	enum rc rc = world->hook_rc;

	assert_ptr_equal(arg, world);
	assert_ptr_equal(tx->db, &world->db);
	assert_int_equal(tx->now_ms, world->clk.wall_ms);
	tx->env = (struct txn_env *)(void *)world;
	tell("begin");
	world->hook_rc = RC_OK;
	return (rc == RC_OK ? rc : err_set(err, rc, "begin"));
}

/* ---- a multi-writer database ---- */

static bool
is_in(const char *rows, char row)
{

	return (row != '\0' && strchr(rows, row) != NULL);
}

static enum rc
on_lock(
    void *arg, struct tx *tx, struct unit **units, size_t n, struct err *err)
{
	struct work *w;
	size_t i, known = strlen(world->known);

	(void)arg;
	tell(tx->search ? "search" : "lock");
	for (i = 0; i < n; i++) {
		w = (struct work *)(void *)units[i];
		if (is_in(world->known, w->needs)) {
			units[i]->deferred = true;
		} else if (is_in(world->others, w->needs) && tx->search) {
			units[i]->deferred = true;
			world->known[known++] = w->needs;
		} else if (is_in(world->others, w->needs)) {
			world->db.lock_timed_out = true;
			return (err_set(err, RC_BUSY, "row %c", w->needs));
		}
	}
	world->clk.wall_ms++;
	return (RC_OK);
}

static enum rc
on_probe(
    void *arg, struct tx *tx, bool forget, bool *ret_freed, struct err *err)
{
	char *from = world->known, *to = world->known;

	(void)arg;
	(void)err;
	assert_ptr_equal(tx->env, world);
	tell(forget ? "forget" : "probe");
	for (; *from != '\0'; from++)
		if (is_in(world->others, *from))
			*to++ = *from;
	*ret_freed = to != from;
	memset(to, 0, (size_t)(from - to));
	return (RC_OK);
}

static bool
on_contended(void *arg)
{

	(void)arg;
	return (world->known[0] != '\0');
}

static enum rc
on_flush(void *arg, struct tx *tx, struct err *err)
{

	(void)arg;
	assert_ptr_equal(tx->env, world);
	tell("flush");
	return (take_rc(&world->flush_rc, err));
}

static void *
on_committed(void *arg, struct tx *tx)
{

	(void)arg;
	assert_ptr_equal(tx->env, world);
	tell("committed");
	return (&world->told);
}

static void
on_published(void *arg, void *told, size_t units, int64_t commit_us)
{

	(void)arg;
	assert_ptr_equal(told, &world->told);
	world->published += units;
	assert_int_equal(commit_us, (world->commit_ms + world->sync_ms) * 1000);
	tell("published");
}

static void
on_lost(void *arg, void *told)
{

	(void)arg;
	if (told != NULL)
		tell("lost");
}

static void
on_aborted(void *arg, struct tx *tx)
{

	(void)arg;
	(void)tx;
	assert_false(world->open);
	tell("aborted");
}

static void
on_fatal(void *arg, const struct err *err)
{

	(void)arg;
	assert_true(err->rc != RC_OK);
	world->fatals++;
	tell("fatal");
}

/* ---- units ---- */

static enum rc
apply_work(struct tx *tx, struct unit **units, size_t n, struct err *err)
{
	struct work *w;
	char text[8];
	size_t i;

	assert_ptr_equal(tx->env, world);
	(void)snprintf(text, sizeof(text), "%s:", units[0]->kind->name);
	tell(text);
	for (i = 0; i < n; i++) {
		w = (struct work *)(void *)units[i];
		assert_int_equal(units[i]->rc, RC_OK);
		world->applied++;
		if (is_in(world->others, w->needs))
			tell("not ours");
		if (world->unforeseen && w->fails == RC_BUSY)
			world->db.lock_timed_out = true;
		if (w->fails != RC_OK)
			return (err_set(err, w->fails, "on purpose"));
		(void)snprintf(text, sizeof(text), "%c", w->name);
		tell(text);
	}
	return (RC_OK);
}

void
world_finish(struct unit *unit)
{
	struct work *w = (struct work *)(void *)unit;
	char text[16];

	w->dones++;
	world->finished++;
	(void)snprintf(text, sizeof(text), "%c=%s", w->name,
	    unit->rc == RC_OK ? "ok" : rc_name(unit->rc));
	tell(text);
}

const struct unit_kind world_delivery = {.name = "first",
    .locks = unit_locks_nothing,
    .queue = UNIT_DELIVERY,
    .order = 1,
    .apply = apply_work};
const struct unit_kind world_client = {.name = "second",
    .locks = unit_locks_nothing,
    .queue = UNIT_CLIENT,
    .order = 5,
    .apply = apply_work};
const struct unit_kind world_upkeep = {.name = "third",
    .locks = unit_locks_nothing,
    .queue = UNIT_UPKEEP,
    .order = 9,
    .apply = apply_work};

enum rc
world_submit(struct work *w, const struct unit_kind *kind, char name)
{

	memset(w, 0, sizeof(*w));
	w->unit.kind = kind;
	w->unit.finish = world_finish;
	w->unit.bytes = 1;
	w->name = name;
	return (writer_submit(world->writer, &w->unit));
}

int
world_set_up_limited(void **state, size_t limit)
{
	struct writer_options o = {0};
	struct err err = ERR_INIT;

	(void)state;
	world = mem_zalloc(1, sizeof(*world));
	assert_non_null(world);
	world->db.driver = &fake_driver;
	fake_driver.multi_writer = false;
	clk_fake_init(&world->clk, 1700000000000);
	world->hooks = (struct writer_hooks){world, on_begin, on_lock, on_probe,
	    on_contended, on_flush, on_committed, on_published, on_lost,
	    on_aborted, on_fatal};
	o.db = &world->db;
	o.clk = &world->clk.clk;
	o.hooks = &world->hooks;
	o.queue_limit = limit;
	o.checkpoint_bytes = 1000;
	return (writer_new(&o, &world->writer, &err) == RC_OK ? 0 : -1);
}

int
world_set_up(void **state)
{

	return (world_set_up_limited(state, 5000));
}

int
world_set_up_multi_writer(void **state)
{
	const int rc = world_set_up_limited(state, 5);

	fake_driver.multi_writer = true;
	return (rc);
}

int
world_tear_down(void **state)
{

	(void)state;
	writer_stop(world->writer);
	writer_free(world->writer);
	mem_free(world);
	return (0);
}
