/* SPDX-License-Identifier: MIT */
/*
 * The writer on a multi-writer database when another transaction holds a row:
 * the units that need the row are deferred, others go on, and when the row is
 * free the deferred units run first, in their order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/timing.h"
#include "unit/writer_fixture.h"

static struct work work[26];
static struct unit_kind passable;

/* Submits a client's unit ${name} that needs row ${row}; 0: none. */
static enum rc
submit(char name, char row)
{
	struct work *w = &work[name - 'a'];
	enum rc rc;

	rc = world_submit(w, &world_client, name);
	w->needs = row;
	return (rc);
}

static void
others_hold(const char *rows)
{

	memset(world->others, 0, sizeof(world->others));
	memcpy(world->others, rows, strlen(rows));
}

static void
run(const char *story)
{

	world_forget();
	(void)writer_run_once(world->writer);
	assert_string_equal(world->story, story);
}

static void
pass(int64_t ms)
{

	clk_fake_advance(&world->clk, ms);
}

/* Unit a needs row x, which another transaction holds, and is deferred. */
static void
defer_a(void)
{

	others_hold("x");
	assert_int_equal(submit('a', 'x'), RC_OK);
	assert_int_equal(submit('b', 'y'), RC_OK);
	assert_int_equal(submit('c', 0), RC_OK);
	run("BEGIN begin lock ROLLBACK aborted "
	    "BEGIN begin search second: b c flush COMMIT committed SYNC "
	    "published b=ok c=ok ");
	assert_int_equal(work[0].dones, 0);
	assert_int_equal(writer_stats_get(world->writer).deferred, 1);
}

/* A free row is not waited for again.  No unit waits for a row that is known to
 * be held: later units that need the row queue behind the first one. */
static void
test_others_go_on(void **state)
{

	(void)state;
	defer_a();
	assert_int_equal(submit('d', 'x'), RC_OK);
	assert_int_equal(submit('e', 0), RC_OK);
	run("BEGIN begin lock second: e flush COMMIT committed SYNC "
	    "published e=ok ");
	assert_int_equal(writer_stats_get(world->writer).deferred, 2);
	others_hold("");
	pass(timing_real()->db_look_ms);
	assert_int_equal(submit('f', 'x'), RC_OK);
	run("BEGIN begin probe ROLLBACK aborted "
	    "BEGIN begin lock second: a d flush COMMIT committed SYNC "
	    "published a=ok d=ok "
	    "BEGIN begin lock second: f flush COMMIT committed SYNC "
	    "published f=ok ");
	assert_int_equal(writer_stats_get(world->writer).deferred, 0);
	pass(timing_real()->db_look_ms);
	run("");
}

/* While the row is held, the writer probes it from time to time.  If all units
 * of a batch are deferred, the batch changes nothing. */
static void
test_still_held(void **state)
{

	(void)state;
	defer_a();
	pass(timing_real()->db_look_ms - 1);
	run("");
	pass(1);
	run("BEGIN begin probe ROLLBACK aborted ");
	pass(timing_real()->db_wait_again_ms - timing_real()->db_look_ms);
	run("BEGIN begin forget ROLLBACK aborted "
	    "BEGIN begin lock ROLLBACK aborted ");
	assert_int_equal(work[0].dones, 0);
}

/* If batches take long, a wait takes long too, and comes less often. */
static void
test_waits_seldom(void **state)
{

	(void)state;
	world->commit_ms = 8000;
	assert_int_equal(submit('z', 0), RC_OK);
	run("BEGIN begin lock second: z flush COMMIT committed SYNC "
	    "published z=ok ");
	world->commit_ms = 0;
	defer_a();
	pass(timing_real()->db_wait_again_ms);
	run("BEGIN begin probe ROLLBACK aborted ");
	pass(3000 - 1);
	run("BEGIN begin probe ROLLBACK aborted ");
	pass(timing_real()->db_look_ms);
	run("BEGIN begin forget ROLLBACK aborted "
	    "BEGIN begin lock ROLLBACK aborted ");
}

/* A unit whose row is held for too long is refused. */
static void
test_too_long(void **state)
{

	(void)state;
	defer_a();
	pass(timing_real()->db_lock_ms - 1);
	run("BEGIN begin forget ROLLBACK aborted "
	    "BEGIN begin lock ROLLBACK aborted ");
	pass(timing_real()->db_wait_again_ms);
	run("BEGIN begin forget ROLLBACK aborted a=RC_BUSY ");
	assert_int_equal(work[0].dones, 1);
	assert_int_equal(writer_stats_get(world->writer).deferred, 0);
}

/* A commit that no standby confirms keeps its rows.  A unit that is deferred
 * for too long then fails with this reason, until a commit succeeds. */
static void
test_unconfirmed(void **state)
{

	(void)state;
	world->begin_rc = RC_UNCONFIRMED;
	assert_int_equal(submit('u', 0), RC_OK);
	(void)writer_run_once(world->writer);
	assert_int_equal(work['u' - 'a'].unit.rc, RC_UNCONFIRMED);
	others_hold("x");
	assert_int_equal(submit('a', 'x'), RC_OK);
	(void)writer_run_once(world->writer);
	pass(timing_real()->db_lock_ms);
	(void)writer_run_once(world->writer);
	assert_int_equal(work[0].unit.rc, RC_UNCONFIRMED);

	assert_int_equal(submit('b', 0), RC_OK);
	assert_int_equal(submit('c', 'x'), RC_OK);
	(void)writer_run_once(world->writer);
	pass(timing_real()->db_lock_ms);
	(void)writer_run_once(world->writer);
	assert_int_equal(work[2].unit.rc, RC_BUSY);
}

/* Another transaction takes the row again before the deferred unit had it. */
static void
test_taken_again(void **state)
{

	(void)state;
	defer_a();
	memset(world->known, 0, sizeof(world->known));
	assert_int_equal(submit('d', 0), RC_OK);
	pass(timing_real()->db_wait_again_ms);
	run("BEGIN begin forget ROLLBACK aborted "
	    "BEGIN begin lock ROLLBACK aborted "
	    "BEGIN begin search ROLLBACK aborted "
	    "BEGIN begin lock second: d flush COMMIT committed SYNC "
	    "published d=ok ");
	assert_string_equal(world->known, "x");
	assert_int_equal(writer_stats_get(world->writer).deferred, 1);
}

/* No more units are deferred than may wait. */
static void
test_bounded(void **state)
{
	char name;

	(void)state;
	defer_a();
	for (name = 'd'; name < 'h'; name++)
		assert_int_equal(submit(name, 'x'), RC_OK);
	run("BEGIN begin lock ROLLBACK aborted ");
	assert_int_equal(writer_stats_get(world->writer).deferred, 5);
	assert_int_equal(submit('h', 'x'), RC_OK);
	run("BEGIN begin lock ROLLBACK aborted h=RC_BUSY ");
}

/* A stop runs the units whose rows are free, and refuses the others. */
static void
test_stop(void **state)
{

	(void)state;
	others_hold("xz");
	assert_int_equal(submit('a', 'x'), RC_OK);
	assert_int_equal(submit('b', 'z'), RC_OK);
	run("BEGIN begin lock ROLLBACK aborted "
	    "BEGIN begin search ROLLBACK aborted ");
	others_hold("x");
	world_forget();
	writer_stop(world->writer);
	assert_string_equal(world->story,
	    "BEGIN begin forget ROLLBACK aborted "
	    "BEGIN begin lock second: b flush COMMIT committed SYNC "
	    "published b=ok a=RC_BUSY ");
}

#define ALONE(x)                                                               \
	"BEGIN begin lock second: ROLLBACK aborted "                           \
	"BEGIN begin search second: ROLLBACK aborted " x

/* A held row that the hooks did not foresee shows only when each unit runs
 * alone.  A unit that others may pass is deferred.  After three such units in a
 * row, the rest is refused without a wait. */
static void
test_unforeseen(void **state)
{
	char name;

	(void)state;
	world->unforeseen = true;
	passable = world_client;
	passable.any_order = true;
	for (name = 'a'; name < 'f'; name++) {
		assert_int_equal(submit(name, 0), RC_OK);
		work[name - 'a'].fails = RC_BUSY;
	}
	work[1].unit.kind = &passable;
	run(ALONE("") ALONE("a=RC_BUSY ") ALONE("")
		ALONE("c=RC_BUSY ") "d=RC_BUSY e=RC_BUSY ");
	assert_int_equal(writer_stats_get(world->writer).deferred, 1);
	work[1].fails = RC_OK;
	pass(timing_real()->db_wait_again_ms);
	run("BEGIN begin forget ROLLBACK aborted "
	    "BEGIN begin lock second: b flush COMMIT committed SYNC "
	    "published b=ok ");
}

/* A unit that others may pass is also deferred if it is alone in its batch. */
static void
test_unforeseen_alone(void **state)
{

	(void)state;
	world->unforeseen = true;
	passable = world_client;
	passable.any_order = true;
	assert_int_equal(submit('a', 0), RC_OK);
	work[0].fails = RC_BUSY;
	work[0].unit.kind = &passable;
	run("BEGIN begin lock second: ROLLBACK aborted "
	    "BEGIN begin search second: ROLLBACK aborted ");
	assert_int_equal(work[0].dones, 0);
	assert_int_equal(writer_stats_get(world->writer).deferred, 1);
	work[0].fails = RC_OK;
	pass(timing_real()->db_wait_again_ms);
	run("BEGIN begin forget ROLLBACK aborted "
	    "BEGIN begin lock second: a flush COMMIT committed SYNC "
	    "published a=ok ");
}

/* On a database with one writer, nothing runs deferred units again.  There a
 * unit that finds the database locked by another program is refused. */
static void
test_single_writer(void **state)
{

	(void)state;
	passable = world_client;
	passable.any_order = true;
	assert_int_equal(submit('a', 0), RC_OK);
	assert_int_equal(submit('b', 0), RC_OK);
	work[0].fails = RC_INTERNAL;
	work[1].fails = RC_BUSY;
	work[1].unit.kind = &passable;
	(void)writer_run_once(world->writer);
	assert_int_equal(work[0].unit.rc, RC_INTERNAL);
	assert_int_equal(work[1].dones, 1);
	assert_int_equal(work[1].unit.rc, RC_BUSY);
	assert_int_equal(writer_stats_get(world->writer).deferred, 0);
}

/* If batches take long, the writer waits longer for those of other nodes. */
static void
test_patience(void **state)
{
	int i;

	(void)state;
	assert_int_equal(
	    world->db.lock_timeout_ms, timing_real()->db_patience_ms);
	world->commit_ms = 40;
	for (i = 0; i < 30; i++) {
		assert_int_equal(submit('a', 0), RC_OK);
		(void)writer_run_once(world->writer);
	}
	assert_int_equal(world->db.lock_timeout_ms, 200);
	world->commit_ms = 5000;
	assert_int_equal(submit('a', 0), RC_OK);
	(void)writer_run_once(world->writer);
	assert_int_equal(world->db.lock_timeout_ms, 800);
	world->commit_ms = 0;
	for (i = 0; i < 60; i++) {
		assert_int_equal(submit('a', 0), RC_OK);
		(void)writer_run_once(world->writer);
	}
	assert_int_equal(
	    world->db.lock_timeout_ms, timing_real()->db_patience_ms);
}

/* A stop without a thread tries the units that its last batch has deferred. */
static void
test_stop_at_once(void **state)
{

	(void)state;
	others_hold("x");
	assert_int_equal(submit('a', 'x'), RC_OK);
	world_forget();
	writer_stop(world->writer);
	assert_int_equal(work[0].dones, 1);
	assert_int_equal(work[0].unit.rc, RC_BUSY);
}

#define T(test)                                                                \
	cmocka_unit_test_setup_teardown(                                       \
	    test, world_set_up_multi_writer, world_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    T(test_others_go_on),
	    T(test_still_held),
	    T(test_waits_seldom),
	    T(test_too_long),
	    T(test_unconfirmed),
	    T(test_taken_again),
	    T(test_bounded),
	    T(test_stop),
	    T(test_unforeseen),
	    T(test_unforeseen_alone),
	    cmocka_unit_test_setup_teardown(
		test_single_writer, world_set_up, world_tear_down),
	    T(test_patience),
	    T(test_stop_at_once),
	};

	(void)alarm(60);
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
