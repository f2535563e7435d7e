/* SPDX-License-Identifier: MIT */
/*
 * The writer over a database that only notes what is asked of it and fails on
 * demand: what a batch holds and in which order, who is called when, and what
 * becomes of units when the store does not work.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/thr.h"
#include "db/db_internal.h"
#include "store/writer.h"

/* ---- a database that notes and fails ---- */

struct world {
	struct db db; /* first */
	char story[4096];
	size_t len;
	bool open; /* a transaction is */

	/* What the next calls do; RC_OK for good afterwards. */
	enum rc begin_rc, flush_rc, commit_rc, checkpoint_rc;
	int commit_after; /* commits that still succeed before commit_rc */

	int64_t log_bytes;
	int64_t log_frames, done_frames;
	int applied, finished, fatals;
	size_t committed; /* units, as the hook was told */
	int64_t commit_ms; /* what a commit takes */
	struct clk_fake clk;
	struct writer_hooks hooks;
	struct writer *writer;
};

static struct world *world;

static void
tell(const char *what)
{
	size_t n = strlen(what);

	if (world->len + n + 2 > sizeof(world->story))
		return;
	memcpy(world->story + world->len, what, n);
	world->len += n;
	world->story[world->len++] = ' ';
	world->story[world->len] = '\0';
}

static void
forget(void)
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
	tell("BEGIN");
	world->open = world->begin_rc == RC_OK;
	return (take_rc(&world->begin_rc, err));
}

static enum rc
fake_commit(struct db *db, struct err *err)
{

	(void)db;
	assert_true(world->open);
	clk_fake_advance(&world->clk, world->commit_ms);
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

static void
fake_rollback(struct db *db)
{

	(void)db;
	tell("ROLLBACK");
	world->open = false;
}

static enum rc
fake_checkpoint(struct db *db, bool truncate, struct db_checkpoint *ret,
    struct err *err)
{

	(void)db;
	assert_false(truncate);
	assert_false(world->open);
	tell("CHECKPOINT");
	ret->log_frames = world->log_frames;
	ret->done_frames = world->done_frames;
	return (take_rc(&world->checkpoint_rc, err));
}

static int64_t
fake_log_bytes(struct db *db)
{

	(void)db;
	return (world->log_bytes);
}

static const struct db_driver fake_driver = {
    .begin = fake_begin,
    .commit = fake_commit,
    .rollback = fake_rollback,
    .checkpoint = fake_checkpoint,
    .log_bytes = fake_log_bytes,
};

/* ---- hooks ---- */

static void
on_begin(void *arg, struct tx *tx)
{

	assert_ptr_equal(arg, world);
	assert_ptr_equal(tx->db, &world->db);
	assert_int_equal(tx->now_ms, world->clk.wall_ms);
	tx->ledger = world;
	tell("begin");
}

static enum rc
on_flush(void *arg, struct tx *tx, struct err *err)
{

	(void)arg;
	assert_ptr_equal(tx->ledger, world);
	tell("flush");
	return (take_rc(&world->flush_rc, err));
}

static void
on_committed(void *arg, struct tx *tx, size_t units, int64_t commit_us)
{

	(void)arg;
	world->committed += units;
	assert_int_equal(commit_us, world->commit_ms * 1000);
	assert_ptr_equal(tx->ledger, world);
	tell("committed");
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

struct work {
	struct unit unit; /* first */
	char name;
	enum rc fails; /* what applying it gives */
	int dones;
	int sender, number;
};

static enum rc
apply_work(struct tx *tx, struct unit **units, size_t n, struct err *err)
{
	struct work *w;
	char text[8];
	size_t i;

	assert_ptr_equal(tx->ledger, world);
	(void)snprintf(text, sizeof(text), "%s:", units[0]->kind->name);
	tell(text);
	for (i = 0; i < n; i++) {
		w = (struct work *)(void *)units[i];
		assert_int_equal(units[i]->rc, RC_OK);
		world->applied++;
		if (w->fails != RC_OK)
			return (err_set(err, w->fails, "on purpose"));
		(void)snprintf(text, sizeof(text), "%c", w->name);
		tell(text);
	}
	return (RC_OK);
}

static void
done_work(struct unit *unit)
{
	struct work *w = (struct work *)(void *)unit;
	char text[16];

	w->dones++;
	world->finished++;
	(void)snprintf(text, sizeof(text), "%c=%s", w->name,
	    unit->rc == RC_OK ? "ok" : rc_name(unit->rc));
	tell(text);
}

static const struct unit_kind first = {
    "first", UNIT_DELIVERY, 1, apply_work, done_work};
static const struct unit_kind second = {
    "second", UNIT_CLIENT, 5, apply_work, done_work};
static const struct unit_kind third = {
    "third", UNIT_UPKEEP, 9, apply_work, done_work};

static enum rc
submit(struct work *w, const struct unit_kind *kind, char name)
{

	memset(w, 0, sizeof(*w));
	w->unit.kind = kind;
	w->unit.bytes = 1;
	w->name = name;
	return (writer_submit(world->writer, &w->unit));
}

static int
set_up_limited(void **state, size_t limit)
{
	struct writer_options o = {0};
	struct err err = ERR_INIT;

	(void)state;
	world = mem_zalloc(1, sizeof(*world));
	assert_non_null(world);
	world->db.driver = &fake_driver;
	clk_fake_init(&world->clk, 1700000000000);
	world->hooks = (struct writer_hooks){world, on_begin, on_flush,
	    on_committed, on_aborted, on_fatal};
	o.db = &world->db;
	o.clk = &world->clk.clk;
	o.hooks = &world->hooks;
	o.queue_limit = limit;
	o.checkpoint_bytes = 1000;
	return (writer_new(&o, &world->writer, &err) == RC_OK ? 0 : -1);
}

static int
set_up(void **state)
{

	return (set_up_limited(state, 5000));
}

static int
tear_down(void **state)
{

	(void)state;
	writer_stop(world->writer);
	writer_free(world->writer);
	mem_free(world);
	return (0);
}

/* ---- one batch ---- */

/* "Accepted": the answer comes after the commit and what is published. */
static void
test_order_of_calls(void **state)
{
	struct work w[5];

	(void)state;
	assert_int_equal(writer_run_once(world->writer), 0);
	assert_string_equal(world->story, "");
	assert_int_equal(submit(&w[0], &third, 'u'), RC_OK);
	assert_int_equal(submit(&w[1], &second, 'c'), RC_OK);
	assert_int_equal(submit(&w[2], &first, 'd'), RC_OK);
	assert_int_equal(submit(&w[3], &second, 'e'), RC_OK);
	assert_int_equal(submit(&w[4], &first, 'f'), RC_OK);
	assert_int_equal(writer_waiting(world->writer), 5);
	world->commit_ms = 3;
	assert_int_equal(writer_run_once(world->writer), 5);
	assert_int_equal(world->committed, 5);
	assert_string_equal(world->story,
	    "BEGIN begin first: d f second: c e third: u flush COMMIT "
	    "committed d=ok f=ok c=ok e=ok u=ok ");
	assert_int_equal(writer_waiting(world->writer), 0);
	assert_int_equal(writer_stats_get(world->writer).batches, 1);
	assert_int_equal(writer_stats_get(world->writer).units, 5);
}

/* Arrival order within a kind, whatever their number. */
static void
test_stable(void **state)
{
	static struct work w[300];
	int i, last[2] = {-1, -1};

	(void)state;
	for (i = 0; i < 300; i++) {
		assert_int_equal(
		    submit(&w[i], i % 2 == 0 ? &second : &first, 'x'), RC_OK);
		w[i].number = i;
	}
	assert_int_equal(writer_run_once(world->writer), 300);
	for (i = 0; i < 300; i++) {
		assert_int_equal(w[i].dones, 1);
		assert_true(w[i].number > last[i % 2]);
		last[i % 2] = w[i].number;
	}
}

static int
count_done(const struct work *w, int n)
{
	int i, k;

	for (i = k = 0; i < n; i++)
		k += w[i].dones;
	return (k);
}

/* A batch has 512 units: of deliveries half before clients get theirs, of
 * upkeep at most a tenth; what is left over goes to whoever waits. */
static void
test_shares(void **state)
{
	static struct work d[600], c[600], u[600];
	int i;

	(void)state;
	for (i = 0; i < 600; i++) {
		assert_int_equal(submit(&d[i], &first, 'd'), RC_OK);
		assert_int_equal(submit(&c[i], &second, 'c'), RC_OK);
		assert_int_equal(submit(&u[i], &third, 'u'), RC_OK);
	}
	assert_int_equal(writer_run_once(world->writer), 512);
	assert_int_equal(count_done(d, 600), 256);
	assert_int_equal(count_done(u, 600), 51);
	assert_int_equal(count_done(c, 600), 205);
	assert_int_equal(writer_run_once(world->writer), 512);
	assert_int_equal(count_done(d, 600), 512);
	assert_int_equal(count_done(u, 600), 102);
	assert_int_equal(count_done(c, 600), 410);
	/* 88 deliveries, 51 upkeep, 190 clients: all that waits but upkeep. */
	assert_int_equal(writer_run_once(world->writer), 88 + 51 + 190);
	assert_int_equal(count_done(d, 600), 600);
	assert_int_equal(count_done(c, 600), 600);
	/* Upkeep alone gets no more. */
	assert_int_equal(writer_run_once(world->writer), 51);
	assert_int_equal(writer_waiting(world->writer), 600 - 4 * 51);
	/* In order, and each once. */
	for (i = 0; i < 600; i++)
		assert_int_equal(u[i].dones, i < 204 ? 1 : 0);
}

static void
test_deliveries_alone(void **state)
{
	static struct work d[600];
	int i;

	(void)state;
	for (i = 0; i < 600; i++)
		assert_int_equal(submit(&d[i], &first, 'd'), RC_OK);
	assert_int_equal(writer_run_once(world->writer), 512);
	assert_int_equal(writer_run_once(world->writer), 88);
	assert_int_equal(count_done(d, 600), 600);
}

/* At 4 MiB a batch is full. */
static void
test_bytes(void **state)
{
	struct work w[10];
	int i;

	(void)state;
	for (i = 0; i < 10; i++) {
		memset(&w[i], 0, sizeof(w[i]));
		w[i].unit.kind = &second;
		w[i].unit.bytes = 1 << 20;
		assert_int_equal(
		    writer_submit(world->writer, &w[i].unit), RC_OK);
	}
	assert_int_equal(writer_run_once(world->writer), 4);
	assert_int_equal(writer_run_once(world->writer), 4);
	assert_int_equal(writer_run_once(world->writer), 2);
}

/* Each queue has its own bound; a full one refuses at once. */
static void
test_bounds(void **state)
{
	struct work w[4], more;
	const struct unit_kind *kinds[3] = {&first, &second, &third};
	int i, k;

	(void)tear_down(state);
	assert_int_equal(set_up_limited(state, 4), 0);
	for (k = 0; k < 3; k++) {
		for (i = 0; i < 4; i++)
			assert_int_equal(
			    submit(&w[i], kinds[k], 'x'), RC_OK);
		assert_int_equal(submit(&more, kinds[k], 'y'), RC_BUSY);
		assert_int_equal(
		    submit(&more, kinds[(k + 1) % 3], 'y'), RC_OK);
		assert_int_equal(writer_run_once(world->writer), 5);
		assert_int_equal(more.dones, 1);
		assert_int_equal(submit(&more, kinds[k], 'z'), RC_OK);
		assert_int_equal(writer_run_once(world->writer), 1);
	}
}

/* ---- when it fails ---- */

/* One bad unit costs the others nothing but a transaction each. */
static void
test_run_singly(void **state)
{
	struct work w[3];

	(void)state;
	assert_int_equal(submit(&w[0], &second, 'a'), RC_OK);
	assert_int_equal(submit(&w[1], &second, 'b'), RC_OK);
	assert_int_equal(submit(&w[2], &second, 'c'), RC_OK);
	w[1].fails = RC_CONFLICT;
	assert_int_equal(writer_run_once(world->writer), 3);
	assert_string_equal(world->story,
	    "BEGIN begin second: a ROLLBACK aborted "
	    "BEGIN begin second: a flush COMMIT committed a=ok "
	    "BEGIN begin second: ROLLBACK aborted b=RC_CONFLICT "
	    "BEGIN begin second: c flush COMMIT committed c=ok ");
	assert_int_equal(writer_stats_get(world->writer).abandoned, 1);
	assert_int_equal(writer_stats_get(world->writer).units, 2);
	assert_int_equal(world->fatals, 0);
	forget();
	assert_int_equal(submit(&w[0], &second, 'd'), RC_OK);
	assert_int_equal(writer_run_once(world->writer), 1);
	assert_int_equal(w[0].unit.rc, RC_OK);
}

static void
test_flush_fails(void **state)
{
	struct work w;

	(void)state;
	world->flush_rc = RC_NO_MEMORY;
	assert_int_equal(submit(&w, &first, 'a'), RC_OK);
	assert_int_equal(writer_run_once(world->writer), 1);
	assert_string_equal(world->story,
	    "BEGIN begin first: a flush ROLLBACK aborted "
	    "BEGIN begin first: a flush COMMIT committed a=ok ");
}

static void
test_commit_fails_once(void **state)
{
	struct work w;

	(void)state;
	world->commit_rc = RC_NO_MEMORY;
	assert_int_equal(submit(&w, &first, 'a'), RC_OK);
	assert_int_equal(writer_run_once(world->writer), 1);
	assert_string_equal(world->story,
	    "BEGIN begin first: a flush commit-fails ROLLBACK aborted "
	    "BEGIN begin first: a flush COMMIT committed a=ok ");
	assert_int_equal(w.dones, 1);
}

/* A full disk refuses the whole batch at once; with room it goes on. */
static void
test_full(void **state)
{
	struct work w[2];

	(void)state;
	world->commit_rc = RC_FULL;
	assert_int_equal(submit(&w[0], &first, 'a'), RC_OK);
	assert_int_equal(submit(&w[1], &second, 'b'), RC_OK);
	assert_int_equal(writer_run_once(world->writer), 2);
	assert_string_equal(world->story,
	    "BEGIN begin first: a second: b flush commit-fails ROLLBACK "
	    "aborted a=RC_FULL b=RC_FULL ");
	assert_int_equal(writer_stats_get(world->writer).full, 1);
	assert_int_equal(world->fatals, 0);
	assert_int_equal(submit(&w[0], &first, 'c'), RC_OK);
	assert_int_equal(writer_run_once(world->writer), 1);
	assert_int_equal(w[0].unit.rc, RC_OK);
}

/* After an I/O error nothing this process says about the store is true: it is
 * told once, and every later unit is refused without touching the store. */
static void
check_fatal(enum rc rc)
{
	struct work w[2];

	assert_int_equal(submit(&w[0], &first, 'a'), RC_OK);
	assert_int_equal(submit(&w[1], &second, 'b'), RC_OK);
	assert_int_equal(writer_run_once(world->writer), 2);
	assert_int_equal(w[0].unit.rc, rc);
	assert_int_equal(w[1].unit.rc, rc);
	assert_int_equal(world->fatals, 1);
	forget();
	assert_int_equal(submit(&w[0], &first, 'c'), RC_OK);
	assert_int_equal(submit(&w[1], &second, 'd'), RC_OK);
	assert_int_equal(writer_run_once(world->writer), 2);
	assert_string_equal(
	    world->story, "c=RC_CLOSED d=RC_CLOSED ");
	assert_int_equal(world->fatals, 1);
}

static void
test_fatal_commit(void **state)
{

	(void)state;
	world->commit_rc = RC_IO;
	check_fatal(RC_IO);
}

static void
test_fatal_begin(void **state)
{

	(void)state;
	world->begin_rc = RC_CORRUPT;
	check_fatal(RC_CORRUPT);
}

static void
test_fatal_flush(void **state)
{

	(void)state;
	world->flush_rc = RC_IO;
	check_fatal(RC_IO);
}

static void
test_fatal_uncertain(void **state)
{

	(void)state;
	world->commit_rc = RC_UNCERTAIN;
	check_fatal(RC_UNCERTAIN);
}

/* Redoing singly, the store breaks: what was committed stays accepted, the
 * rest is refused. */
static void
test_fatal_while_singly(void **state)
{
	struct work w[4];
	int i;

	(void)state;
	for (i = 0; i < 4; i++)
		assert_int_equal(
		    submit(&w[i], &second, (char)('a' + i)), RC_OK);
	w[3].fails = RC_CONFLICT;
	world->commit_after = 1;
	world->commit_rc = RC_IO;
	assert_int_equal(writer_run_once(world->writer), 4);
	assert_string_equal(world->story,
	    "BEGIN begin second: a b c ROLLBACK aborted "
	    "BEGIN begin second: a flush COMMIT committed a=ok "
	    "BEGIN begin second: b flush commit-fails ROLLBACK aborted "
	    "fatal b=RC_IO c=RC_CLOSED d=RC_CLOSED ");
	assert_int_equal(world->fatals, 1);
}

/* The lock cannot be had: one wait for the batch, not one for each unit. */
static void
test_busy(void **state)
{
	struct work w[2];

	(void)state;
	world->begin_rc = RC_BUSY;
	assert_int_equal(submit(&w[0], &first, 'a'), RC_OK);
	assert_int_equal(submit(&w[1], &second, 'b'), RC_OK);
	assert_int_equal(writer_run_once(world->writer), 2);
	assert_string_equal(world->story, "BEGIN a=RC_BUSY b=RC_BUSY ");
	assert_int_equal(world->fatals, 0);
}

/* ---- checkpoints ---- */

static void
run_one(void)
{
	struct work w;

	forget();
	assert_int_equal(submit(&w, &first, 'a'), RC_OK);
	assert_int_equal(writer_run_once(world->writer), 1);
}

static bool
checkpointed(void)
{

	return (strstr(world->story, "CHECKPOINT") != NULL);
}

/* After the answers, never before; where a reader holds it back, again when
 * the log has grown by a quarter. */
static void
test_checkpoint(void **state)
{

	(void)state;
	world->log_bytes = 999;
	run_one();
	assert_false(checkpointed());
	assert_int_equal(writer_stats_get(world->writer).log_bytes, 999);
	world->log_bytes = 1000;
	world->log_frames = 10;
	world->done_frames = 4;
	run_one();
	assert_string_equal(world->story,
	    "BEGIN begin first: a flush COMMIT committed a=ok CHECKPOINT ");
	world->log_bytes = 1249;
	run_one();
	assert_false(checkpointed());
	world->log_bytes = 1250;
	world->done_frames = 10;
	run_one();
	assert_true(checkpointed());
	/* All of it is done: back to the first mark. */
	world->log_bytes = 900;
	run_one();
	assert_false(checkpointed());
	world->log_bytes = 1001;
	run_one();
	assert_true(checkpointed());
	assert_int_equal(writer_stats_get(world->writer).checkpoints, 3);
	assert_int_equal(world->fatals, 0);
}

static void
test_checkpoint_busy(void **state)
{

	(void)state;
	world->log_bytes = 1000;
	world->checkpoint_rc = RC_BUSY;
	run_one();
	assert_true(checkpointed());
	assert_int_equal(world->fatals, 0);
	run_one();
	assert_false(checkpointed());
	world->log_bytes = 1250;
	run_one();
	assert_true(checkpointed());
}

static void
test_checkpoint_fails(void **state)
{
	struct work w;

	(void)state;
	world->log_bytes = 1000;
	world->checkpoint_rc = RC_IO;
	run_one();
	assert_int_equal(world->fatals, 1);
	assert_int_equal(submit(&w, &first, 'b'), RC_OK);
	assert_int_equal(writer_run_once(world->writer), 1);
	assert_int_equal(w.unit.rc, RC_CLOSED);
}

/* ---- stopping, threads ---- */

static void
test_stop_drains(void **state)
{
	static struct work w[700];
	struct work late;
	int i;

	(void)state;
	for (i = 0; i < 700; i++)
		assert_int_equal(submit(&w[i], &third, 'u'), RC_OK);
	writer_stop(world->writer);
	assert_int_equal(count_done(w, 700), 700);
	for (i = 0; i < 700; i++)
		assert_int_equal(w[i].unit.rc, RC_OK);
	assert_int_equal(submit(&late, &first, 'l'), RC_CLOSED);
	assert_int_equal(late.dones, 0);
	assert_int_equal(writer_run_once(world->writer), 0);
}

#define SENDERS 3
#define SENT 2000

static struct work load[SENDERS][SENT];
static int next_of[SENDERS]; /* the writer's thread only */
static atomic_int out_of_order;

static void
done_in_order(struct unit *unit)
{
	struct work *w = (struct work *)(void *)unit;

	if (thr_self() != THR_WRITER || w->number != next_of[w->sender]++)
		atomic_fetch_add(&out_of_order, 1);
	w->dones++;
}

static enum rc
apply_nothing(
    struct tx *tx, struct unit **units, size_t n, struct err *err)
{

	(void)tx;
	(void)units;
	(void)n;
	(void)err;
	return (RC_OK);
}

static const struct unit_kind quick = {
    "quick", UNIT_CLIENT, 1, apply_nothing, done_in_order};

static void
sender(void *arg)
{
	struct work *w = arg;
	int i;

	for (i = 0; i < SENT; i++) {
		w[i].unit.kind = &quick;
		w[i].unit.bytes = 1;
		w[i].number = i;
		w[i].sender = (int)((w - load[0]) / SENT);
		while (writer_submit(world->writer, &w[i].unit) == RC_BUSY)
			(void)writer_waiting(world->writer);
	}
}

/* Many submit, one works: each is done once, in its sender's order, in the
 * writer's thread, and before stop returns. */
static void
test_threads(void **state)
{
	struct thr *threads[SENDERS];
	struct err err = ERR_INIT;
	int i, k;

	(void)state;
	assert_int_equal(writer_start(world->writer, &err), RC_OK);
	for (i = 0; i < SENDERS; i++)
		assert_int_equal(thr_start(THR_OTHER, i, sender, load[i],
				     &threads[i], &err),
		    RC_OK);
	for (i = 0; i < SENDERS; i++)
		thr_join(&threads[i]);
	writer_stop(world->writer);
	assert_int_equal(atomic_load(&out_of_order), 0);
	for (i = 0; i < SENDERS; i++)
		for (k = 0; k < SENT; k++)
			assert_int_equal(load[i][k].dones, 1);
	assert_int_equal(
	    writer_stats_get(world->writer).units, SENDERS * SENT);
}

#define T(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    T(test_order_of_calls),
	    T(test_stable),
	    T(test_shares),
	    T(test_deliveries_alone),
	    T(test_bytes),
	    T(test_bounds),
	    T(test_run_singly),
	    T(test_flush_fails),
	    T(test_commit_fails_once),
	    T(test_full),
	    T(test_fatal_commit),
	    T(test_fatal_begin),
	    T(test_fatal_flush),
	    T(test_fatal_uncertain),
	    T(test_fatal_while_singly),
	    T(test_busy),
	    T(test_checkpoint),
	    T(test_checkpoint_busy),
	    T(test_checkpoint_fails),
	    T(test_stop_drains),
	    T(test_threads),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
