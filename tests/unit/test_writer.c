/* SPDX-License-Identifier: MIT */
/*
 * The writer without failures: the units of a batch and their order, the order
 * of the callbacks, limits, stopping, many senders.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/thr.h"
#include "engine/commits.h"
#include "unit/writer_fixture.h"

/* ---- one batch ---- */

/* "Accepted": a unit finishes after the commit and after publishing. */
static void
test_order_of_calls(void **state)
{
	struct work w[5];

	(void)state;
	assert_int_equal(writer_run_once(world->writer), 0);
	assert_string_equal(world->story, "");
	assert_int_equal(world_submit(&w[0], &world_upkeep, 'u'), RC_OK);
	assert_int_equal(world_submit(&w[1], &world_client, 'c'), RC_OK);
	assert_int_equal(world_submit(&w[2], &world_delivery, 'd'), RC_OK);
	assert_int_equal(world_submit(&w[3], &world_client, 'e'), RC_OK);
	assert_int_equal(world_submit(&w[4], &world_delivery, 'f'), RC_OK);
	assert_int_equal(writer_waiting(world->writer), 5);
	world->commit_ms = 3;
	world->sync_ms = 4;
	assert_int_equal(writer_run_once(world->writer), 5);
	assert_int_equal(world->published, 5);
	assert_string_equal(world->story,
	    "BEGIN begin first: d f second: c e third: u flush COMMIT "
	    "committed SYNC published d=ok f=ok c=ok e=ok u=ok ");
	assert_int_equal(writer_waiting(world->writer), 0);
	assert_int_equal(writer_stats_get(world->writer).batches, 1);
	assert_int_equal(writer_stats_get(world->writer).units, 5);
}

/* Units of one kind keep the order of their arrival, however many there are. */
static void
test_stable(void **state)
{
	static struct work w[300];
	int i, last[2] = {-1, -1};

	(void)state;
	for (i = 0; i < 300; i++) {
		assert_int_equal(
		    world_submit(&w[i],
			i % 2 == 0 ? &world_client : &world_delivery, 'x'),
		    RC_OK);
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

/* A batch has 512 units: half of them for deliveries before clients get theirs,
 * a tenth at most for upkeep.  Places that are left go to the other queues. */
static void
test_shares(void **state)
{
	static struct work d[600], c[600], u[600];
	int i;

	(void)state;
	for (i = 0; i < 600; i++) {
		assert_int_equal(
		    world_submit(&d[i], &world_delivery, 'd'), RC_OK);
		assert_int_equal(
		    world_submit(&c[i], &world_client, 'c'), RC_OK);
		assert_int_equal(
		    world_submit(&u[i], &world_upkeep, 'u'), RC_OK);
	}
	assert_int_equal(writer_run_once(world->writer), 512);
	assert_int_equal(count_done(d, 600), 256);
	assert_int_equal(count_done(u, 600), 51);
	assert_int_equal(count_done(c, 600), 205);
	assert_int_equal(writer_run_once(world->writer), 512);
	assert_int_equal(count_done(d, 600), 512);
	assert_int_equal(count_done(u, 600), 102);
	assert_int_equal(count_done(c, 600), 410);
	/* 88 deliveries, 51 upkeep, 190 clients: all that wait, except for
	 * upkeep. */
	assert_int_equal(writer_run_once(world->writer), 88 + 51 + 190);
	assert_int_equal(count_done(d, 600), 600);
	assert_int_equal(count_done(c, 600), 600);
	/* Upkeep gets no larger share, even alone. */
	assert_int_equal(writer_run_once(world->writer), 51);
	assert_int_equal(writer_waiting(world->writer), 600 - 4 * 51);
	/* In order, and each of them once. */
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
		assert_int_equal(
		    world_submit(&d[i], &world_delivery, 'd'), RC_OK);
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
		w[i].unit.kind = &world_client;
		w[i].unit.finish = world_finish;
		w[i].unit.bytes = 1 << 20;
		assert_int_equal(
		    writer_submit(world->writer, &w[i].unit), RC_OK);
	}
	assert_int_equal(writer_run_once(world->writer), 4);
	assert_int_equal(writer_run_once(world->writer), 4);
	assert_int_equal(writer_run_once(world->writer), 2);
}

/* Each queue has its own limit, and refuses at once when it is full. */
static void
test_bounds(void **state)
{
	struct work w[4], more;
	const struct unit_kind *kinds[3] = {
	    &world_delivery, &world_client, &world_upkeep};
	int i, k;

	(void)world_tear_down(state);
	assert_int_equal(world_set_up_limited(state, 4), 0);
	for (k = 0; k < 3; k++) {
		for (i = 0; i < 4; i++)
			assert_int_equal(
			    world_submit(&w[i], kinds[k], 'x'), RC_OK);
		assert_int_equal(world_submit(&more, kinds[k], 'y'), RC_BUSY);
		assert_int_equal(
		    world_submit(&more, kinds[(k + 1) % 3], 'y'), RC_OK);
		assert_int_equal(writer_run_once(world->writer), 5);
		assert_int_equal(more.dones, 1);
		assert_int_equal(world_submit(&more, kinds[k], 'z'), RC_OK);
		assert_int_equal(writer_run_once(world->writer), 1);
	}
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
		assert_int_equal(
		    world_submit(&w[i], &world_upkeep, 'u'), RC_OK);
	writer_stop(world->writer);
	assert_int_equal(count_done(w, 700), 700);
	for (i = 0; i < 700; i++)
		assert_int_equal(w[i].unit.rc, RC_OK);
	assert_int_equal(world_submit(&late, &world_delivery, 'l'), RC_CLOSED);
	assert_int_equal(late.dones, 0);
	assert_int_equal(writer_run_once(world->writer), 0);
}

#define SENDERS 3
#define SENT 2000

static struct work load[SENDERS][SENT];
static int next_of[SENDERS]; /* used by the thread that finishes units */
static atomic_int out_of_order;

static void
done_in_order(struct unit *unit)
{
	struct work *w = (struct work *)(void *)unit;

	if ((thr_self() != THR_SYNC && thr_self() != THR_WRITER) ||
	    w->number != next_of[w->sender]++)
		atomic_fetch_add(&out_of_order, 1);
	w->dones++;
}

static enum rc
apply_nothing(struct tx *tx, struct unit **units, size_t n, struct err *err)
{

	(void)tx;
	(void)units;
	(void)n;
	(void)err;
	return (RC_OK);
}

static const struct unit_kind quick = {.name = "quick",
    .locks = unit_locks_nothing,
    .queue = UNIT_CLIENT,
    .order = 1,
    .apply = apply_nothing};

static void
sender(void *arg)
{
	struct work *w = arg;
	int i;

	for (i = 0; i < SENT; i++) {
		w[i].unit.kind = &quick;
		w[i].unit.finish = done_in_order;
		w[i].unit.bytes = 1;
		w[i].number = i;
		w[i].sender = (int)((w - load[0]) / SENT);
		while (writer_submit(world->writer, &w[i].unit) == RC_BUSY)
			(void)writer_waiting(world->writer);
	}
}

/* Several threads submit, one works: each unit is done once, in the order of
 * its sender, in a thread that may finish units, and before writer_stop()
 * returns. */
static void
test_threads(void **state)
{
	struct thr *threads[SENDERS];
	struct err err = ERR_INIT;
	int i, k;

	(void)state;
	assert_int_equal(writer_start(world->writer, &err), RC_OK);
	for (i = 0; i < SENDERS; i++)
		assert_int_equal(
		    thr_start(THR_OTHER, i, sender, load[i], &threads[i], &err),
		    RC_OK);
	for (i = 0; i < SENDERS; i++)
		thr_join(&threads[i]);
	writer_stop(world->writer);
	assert_int_equal(atomic_load(&out_of_order), 0);
	for (i = 0; i < SENDERS; i++)
		for (k = 0; k < SENT; k++)
			assert_int_equal(load[i][k].dones, 1);
	assert_int_equal(writer_stats_get(world->writer).units, SENDERS * SENT);
}

/* ---- truncating the log ---- */

/* Once for each request, and only when no unit waits. */
static void
test_cut(void **state)
{
	struct work w;

	(void)state;
	world->log_bytes = 500;
	writer_truncate_log(world->writer);
	assert_int_equal(world_submit(&w, &world_client, 'a'), RC_OK);
	assert_int_equal(writer_run_once(world->writer), 1);
	assert_null(strstr(world->story, "CUT"));
	assert_int_equal(writer_stats_get(world->writer).log_bytes, 500);
	world_forget();
	assert_int_equal(writer_run_once(world->writer), 0);
	assert_int_equal(writer_run_once(world->writer), 0);
	assert_string_equal(world->story, "CUT ");
	assert_int_equal(writer_stats_get(world->writer).log_bytes, 0);
	assert_int_equal(writer_stats_get(world->writer).checkpoints, 1);
}

static struct work behind;

static enum rc
apply_and_ask(struct tx *tx, struct unit **units, size_t n, struct err *err)
{

	(void)tx;
	(void)units;
	(void)n;
	(void)err;
	return (world_submit(&behind, &world_client, 'b'));
}

/* Another unit comes while this one is applied, so the sync thread gets the
 * commit. */
static const struct unit_kind followed = {.name = "followed",
    .locks = unit_locks_nothing,
    .queue = UNIT_CLIENT,
    .order = 1,
    .apply = apply_and_ask};

/* A sync that is still pending does not delay the truncation: SQLite syncs the
 * log itself before a checkpoint (tests/fault/test_power_early). */
static void
test_cut_before_sync(void **state)
{
	struct commits *commits = writer_commits(world->writer);
	struct err err = ERR_INIT;
	struct work w;
	sem_t gate;

	(void)state;
	(void)sem_init(&gate, 0, 0);
	world->sync_gate = &gate;
	assert_int_equal(commits_start(commits, &err), RC_OK);
	assert_int_equal(world_submit(&w, &followed, 'a'), RC_OK);
	assert_int_equal(writer_run_once(world->writer), 1);
	assert_int_equal(writer_run_once(world->writer), 1);
	writer_truncate_log(world->writer);
	assert_int_equal(writer_run_once(world->writer), 0);
	(void)sem_post(&gate);
	(void)sem_post(&gate);
	commits_stop(commits);
	assert_non_null(strstr(world->story, "b flush COMMIT committed CUT "));
	assert_non_null(strstr(world->story, "CUT SYNC published a=ok "));
	(void)sem_destroy(&gate);
}

#define T(test)                                                                \
	cmocka_unit_test_setup_teardown(test, world_set_up, world_tear_down)

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
	    T(test_stop_drains),
	    T(test_threads),
	    T(test_cut),
	    T(test_cut_before_sync),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
