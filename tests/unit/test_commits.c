/* SPDX-License-Identifier: MIT */
/*
 * Commits before they are durable: the order of syncs, publishing and finished
 * units, and which threads wait for what (commits_rig.h).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit/commits_rig.h"

/* ---- answers ---- */

static bool
run_stop(void)
{

	commits_stop(rig->commits);
	return (true);
}

static bool
run_add_c(void)
{

	rig_give('c', 1, true);
	return (true);
}

/* "Accepted": no commit is published, and no unit is finished, before the sync
 * has returned.  Then each commit is published before its units finish, in the
 * order of the commits. */
static void
test_sync_then_answer(void **state)
{

	(void)state;
	rig_give('a', 2, true);
	rig_await(&rig->begun, 1);
	assert_string_equal(rig_story(), "sync( ");
	rig_give('b', 1, true);
	assert_string_equal(rig_story(), "sync( ");
	(void)sem_post(&rig->go);
	rig_await(&rig->begun, 1);
	/* A commit that came during a sync does not count as synced by it. */
	assert_string_equal(rig_story(), "sync( ) +a2 a a sync( ");
	(void)sem_post(&rig->go);
	rig_await(&rig->answered, 3);
	assert_string_equal(rig_story(), "sync( ) +a2 a a sync( ) +b1 b ");
	assert_int_equal(rig->fatals, 0);
}

/* If no unit waits for the writer, the writer syncs and finishes the commit
 * itself, unless the thread still has commits: then this one must stay behind
 * them. */
static void
test_last(void **state)
{

	(void)state;
	atomic_store(&rig->held, false);
	rig->last = true;
	rig->wanted = thr_self();
	rig_give('a', 2, true);
	assert_string_equal(rig_story(), "sync( ) +a2 a a ");
	rig_give('b', 1, false);
	assert_string_equal(rig_story(), "sync( ) +a2 a a +b1 b ");
	assert_int_equal(rig->elsewhere, 0);
	assert_true(commits_wait(rig->commits));
	rig_forget();
	rig->wanted = THR_SYNC;
	atomic_store(&rig->held, true);
	rig->last = false;
	rig_give('c', 1, true);
	rig_await(&rig->begun, 1);
	rig->last = true;
	rig_give('d', 1, true);
	assert_string_equal(rig_story(), "sync( ");
	(void)sem_post(&rig->go);
	rig_await(&rig->begun, 1);
	(void)sem_post(&rig->go);
	rig_await(&rig->answered, 5);
	assert_string_equal(rig_story(), "sync( ) +c1 c sync( ) +d1 d ");
	assert_int_equal(rig->elsewhere, 0);
}

/* Gives two commits, again and again until the thread finds both at once: then
 * they share a sync, and units finish in order in any case. */
static void
share(bool a_owed, bool b_owed, const char *apart, const char *shared)
{
	int i;

	for (i = 0; i < 100000; i++) {
		rig_forget();
		rig_give('a', 1, a_owed);
		rig_give('b', 2, b_owed);
		rig_await(&rig->answered, 3);
		if (strcmp(rig_story(), apart) != 0)
			break;
	}
	assert_string_equal(rig_story(), shared);
}

static void
test_shared_sync(void **state)
{

	(void)state;
	share(true, true, "sync( ) +a1 a sync( ) +b2 b b ",
	    "sync( ) +a1 a +b2 b b ");
	/* A commit that needs no sync stays behind one that does. */
	share(false, true, "+a1 a sync( ) +b2 b b ", "sync( ) +a1 a +b2 b b ");
}

/* The story is the same whether the two are found apart or together.  In many
 * rounds both cases occur. */
static void
test_first_alone_owes(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 2000; i++)
		share(true, false, "", "sync( ) +a1 a +b2 b b ");
}

/* While one commit is being synced, two may wait, and the writer waits with a
 * third.  Commits that waited share the next sync. */
static void
test_bounded(void **state)
{
	struct runner r;

	(void)state;
	rig_give('a', 1, true);
	rig_await(&rig->begun, 1);
	rig_give('b', 1, true);
	rig_give('d', 1, true);
	assert_true(rig_waits(&r, run_add_c));
	assert_string_equal(rig_story(), "sync( ");
	(void)sem_post(&rig->go);
	rig_await(&rig->begun, 1);
	/* There is room again as soon as the thread has taken the two, before
	 * they are synced. */
	thr_join(&r.thr);
	assert_true(r.returned);
	assert_string_equal(rig_story(), "sync( ) +a1 a sync( ");
	(void)sem_post(&rig->go);
	rig_await(&rig->begun, 1);
	assert_string_equal(
	    rig_story(), "sync( ) +a1 a sync( ) +b1 b +d1 d sync( ");
	(void)sem_post(&rig->go);
	rig_await(&rig->answered, 4);
	assert_string_equal(
	    rig_story(), "sync( ) +a1 a sync( ) +b1 b +d1 d sync( ) +c1 c ");
}

/* A commit that needs no sync finishes without one.  A withdrawn commit
 * publishes nothing. */
static void
test_nothing_owed(void **state)
{

	(void)state;
	rig_give('a', 1, false);
	rig_await(&rig->answered, 1);
	assert_string_equal(rig_story(), "+a1 a ");
	assert_true(commits_wait(rig->commits));
	commits_announce(rig->commits);
	rig_withdraw();
	assert_true(commits_wait(rig->commits));
	rig_give('b', 1, false);
	rig_await(&rig->answered, 1);
	assert_string_equal(rig_story(), "+a1 a +b1 b ");
	/* A commit without units is complete as soon as it is handed over. */
	rig_give('c', 0, false);
	assert_true(commits_wait(rig->commits));
	rig_give('d', 1, false);
	rig_await(&rig->answered, 1);
	assert_string_equal(rig_story(), "+a1 a +b1 b +c0 +d1 d ");
}

/* commits_stop() finishes all commits that were handed over. */
static void
test_stop(void **state)
{
	struct runner r;

	(void)state;
	rig_give('a', 1, true);
	rig_await(&rig->begun, 1);
	rig_give('b', 2, true);
	assert_true(rig_waits(&r, run_stop));
	(void)sem_post(&rig->go);
	(void)sem_post(&rig->go);
	thr_join(&r.thr);
	assert_string_equal(rig_story(), "sync( ) +a1 a sync( ) +b2 b b ");
}

/* Without a thread, everything is done on return, as simulators need it. */
static void
test_inline(void **state)
{

	(void)state;
	rig_give('a', 2, true);
	assert_string_equal(rig_story(), "sync( ) +a2 a a ");
	/* From before the COMMIT to after the sync. */
	assert_int_equal(rig->commit_us, SYNC_MS * 1000);
	assert_true(commits_wait(rig->commits));
	rig_forget();
	rig->began_us = rig->clk.mono_us - 500;
	rig_give('b', 1, false);
	commits_announce(rig->commits);
	rig_withdraw();
	assert_string_equal(rig_story(), "+b1 b ");
	assert_int_equal(rig->commit_us, 500);
	assert_true(commits_wait(rig->commits));
	rig->sync_rc = RC_IO;
	rig_forget();
	rig_give('c', 1, true);
	rig_give('d', 1, true);
	assert_string_equal(
	    rig_story(), "sync( )fails fatal=RC_IO -c cRC_IO -d dRC_IO ");
	assert_false(commits_wait(rig->commits));
}

/* ---- readers of a commit that is not durable ---- */

/* All commits are durable: there is no wait. */
static void
test_wait_for_nothing(void **state)
{

	(void)state;
	assert_true(commits_wait(rig->commits));
	rig_give('a', 1, true);
	rig_await(&rig->answered, 1);
	assert_true(commits_wait(rig->commits));
	assert_string_equal(rig_story(), "sync( ) +a1 a ");
}

/* A reader waits from the announcement on, because it may see the COMMIT before
 * the COMMIT has returned to the writer. */
static void
test_wait_for_sync(void **state)
{
	struct runner early, late;

	(void)state;
	commits_announce(rig->commits);
	assert_true(rig_waits(&early, rig_run_wait));
	rig_add('a', 1, true);
	rig_await(&rig->begun, 1);
	assert_true(rig_waits(&late, rig_run_wait));
	assert_false(early.returned);
	/* A commit that is announced later is not waited for. */
	commits_announce(rig->commits);
	(void)sem_post(&rig->go);
	thr_join(&early.thr);
	thr_join(&late.thr);
	assert_true(early.result);
	assert_true(late.result);
	assert_true(rig_waits(&early, rig_run_wait));
	rig_withdraw();
	thr_join(&early.thr);
	assert_true(early.result);
	rig_await(&rig->answered, 1);
	assert_string_equal(rig_story(), "sync( ) +a1 a ");
}

/* A commit is withdrawn behind one that is not synced: a reader waits for the
 * earlier one. */
static void
test_wait_behind(void **state)
{
	struct runner r;

	(void)state;
	rig_give('a', 1, true);
	rig_await(&rig->begun, 1);
	commits_announce(rig->commits);
	rig_withdraw();
	assert_true(rig_waits(&r, rig_run_wait));
	(void)sem_post(&rig->go);
	thr_join(&r.thr);
	assert_true(r.result);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    T(test_sync_then_answer, set_up_held),
	    T(test_last, set_up),
	    T(test_shared_sync, set_up),
	    T(test_first_alone_owes, set_up),
	    T(test_bounded, set_up_held),
	    T(test_nothing_owed, set_up),
	    T(test_stop, set_up_held),
	    T(test_inline, set_up_inline),
	    T(test_wait_for_nothing, set_up),
	    T(test_wait_for_sync, set_up_held),
	    T(test_wait_behind, set_up_held),
	};

	/* A thread that waits for ever ends the test. */
	(void)alarm(60);
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
