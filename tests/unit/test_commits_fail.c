/* SPDX-License-Identifier: MIT */
/*
 * A log that cannot be synced: no commit is published any more, and no thread
 * stays waiting (commits_rig.h).
 */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit/commits_rig.h"
#include "unit/sleeps.h"

static bool
run_fail(void)
{

	rig_fail_elsewhere();
	return (true);
}

/* The failure is reported once.  After it no commit is published, and every
 * unit is refused, even if a later sync would succeed.  Readers that wait
 * return with the failure. */
static void
test_sync_fails(void **state)
{
	struct runner r;

	(void)state;
	rig->sync_rc = RC_IO;
	rig_give('a', 2, true);
	rig_await(&rig->begun, 1);
	rig_give('b', 1, true);
	assert_true(rig_waits(&r, rig_run_wait));
	atomic_store(&rig->held, false);
	(void)sem_post(&rig->go);
	thr_join(&r.thr);
	assert_false(r.result);
	rig_await(&rig->answered, 3);
	assert_string_equal(rig_story(),
	    "sync( )fails fatal=RC_IO -a aRC_IO aRC_IO -b bRC_IO ");
	assert_false(commits_wait(rig->commits));
	rig_forget();
	rig_give('c', 1, true);
	rig_give('d', 1, false);
	commits_announce(rig->commits);
	rig_withdraw();
	rig_await(&rig->answered, 2);
	assert_string_equal(rig_story(), "-c cRC_IO -d dRC_IO ");
	assert_false(commits_wait(rig->commits));
	assert_int_equal(rig->fatals, 1);
}

/* Another sync fails while one is under way that succeeds.  The commit of this
 * one is not published, and a reader of it gets the failure. */
static void
test_fails_elsewhere(void **state)
{
	struct runner r;

	(void)state;
	rig_give('a', 1, true);
	rig_await(&rig->begun, 1);
	assert_true(rig_waits(&r, rig_run_wait));
	rig_fail_elsewhere();
	thr_join(&r.thr);
	assert_false(r.result);
	(void)sem_post(&rig->go);
	rig_await(&rig->answered, 1);
	assert_string_equal(rig_story(), "sync( fatal=RC_IO ) -a aRC_IO ");
	/* Later commits are not even synced. */
	atomic_store(&rig->held, false);
	rig_give('b', 1, true);
	rig_await(&rig->answered, 1);
	assert_string_equal(
	    rig_story(), "sync( fatal=RC_IO ) -a aRC_IO -b bRC_IO ");
	assert_int_equal(rig->fatals, 1);
}

/* The fatal hook normally ends the process; clients without an answer then
 * repeat their requests.  Before the hook has returned, no unit finishes and no
 * waiting thread returns.  The hook is called once. */
static void
test_silent_until_end(void **state)
{
	struct runner first, second, reader, late;

	(void)state;
	atomic_store(&rig->hold_end, true);
	rig_give('a', 1, true);
	rig_await(&rig->begun, 1);
	assert_true(rig_waits(&reader, rig_run_wait));
	assert_true(rig_waits(&first, run_fail));
	assert_true(rig_waits(&second, run_fail));
	assert_true(rig_waits(&late, rig_run_wait));
	(void)sem_post(&rig->go);
	while (atomic_load(&rig->syncing) == 0 ||
	       !sleeps(atomic_load(&rig->syncing)))
		(void)sched_yield();
	assert_string_equal(rig_story(), "sync( fatal=RC_IO ) ");
	assert_false(atomic_load(&reader.returned));
	assert_false(atomic_load(&second.returned));
	(void)sem_post(&rig->end);
	rig_await(&rig->answered, 1);
	thr_join(&first.thr);
	thr_join(&second.thr);
	thr_join(&reader.thr);
	thr_join(&late.thr);
	assert_false(reader.result);
	assert_false(late.result);
	assert_string_equal(rig_story(), "sync( fatal=RC_IO ) -a aRC_IO ");
	assert_int_equal(rig->fatals, 1);
}

/* Two commits share a sync, and the store fails while the first one is
 * published: the second one is not published. */
static void
test_fails_between(void **state)
{

	(void)state;
	rig->fails_at = 'b';
	rig_give('a', 1, true);
	rig_await(&rig->begun, 1);
	rig_give('b', 1, true);
	rig_give('c', 1, true);
	(void)sem_post(&rig->go);
	rig_await(&rig->begun, 1);
	(void)sem_post(&rig->go);
	rig_await(&rig->answered, 3);
	assert_string_equal(
	    rig_story(), "sync( ) +a1 a sync( ) +b1 b fatal=RC_IO -c cRC_IO ");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    T(test_sync_fails, set_up_held),
	    T(test_fails_elsewhere, set_up_held),
	    T(test_silent_until_end, set_up_held),
	    T(test_fails_between, set_up_held),
	};

	/* A thread that waits for ever ends the test. */
	(void)alarm(60);
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
