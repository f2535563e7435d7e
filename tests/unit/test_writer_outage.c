/* SPDX-License-Identifier: MIT */
/*
 * The writer while the database is away: the result of units, and how many
 * lines the log has.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit/logged.h"
#include "unit/writer_fixture.h"

static size_t
count(const char *text, const char *word)
{
	size_t n = 0;

	for (; (text = strstr(text, word)) != NULL; text++)
		n++;
	return (n);
}

/* Runs a batch whose begin fails with ${rc}.  Returns the result of its
 * unit. */
static enum rc
run_away(enum rc rc)
{
	struct work w;

	world->begin_rc = rc;
	assert_int_equal(world_submit(&w, &world_client, 'a'), RC_OK);
	assert_int_equal(writer_run_once(world->writer), 1);
	return (w.unit.rc);
}

/* An outage of 90 s with ten tries a second gives a line when it begins, one
 * after a minute, and one when it is over.  Refused units get the reason. */
static void
test_outage_lines(void **state)
{
	const char *said;
	int i;

	(void)state;
	logged_start(NULL);
	clk_fake_advance(&world->clk, 1000);
	for (i = 0; i < 900; i++) {
		assert_int_equal(run_away(RC_AWAY), RC_AWAY);
		clk_fake_advance(&world->clk, 100);
	}
	assert_int_equal(run_away(RC_OK), RC_OK);
	assert_int_equal(run_away(RC_OK), RC_OK);
	said = logged_stop();
	assert_int_equal(count(said, "store.fail"), 2);
	assert_non_null(strstr(said, "store.fail tries=1 units=1 ms=0 error="));
	assert_non_null(
	    strstr(said, "store.fail tries=600 units=600 ms=60000 error="));
	assert_int_equal(count(said, "store.back"), 1);
	assert_non_null(
	    strstr(said, "store.back tries=299 units=299 ms=90000"));
}

/* A commit that no standby confirms keeps its rows.  A unit that cannot lock
 * them fails with this reason, until a commit succeeds. */
static void
test_unconfirmed(void **state)
{

	(void)state;
	assert_int_equal(run_away(RC_BUSY), RC_BUSY);
	assert_int_equal(run_away(RC_UNCONFIRMED), RC_UNCONFIRMED);
	assert_int_equal(run_away(RC_BUSY), RC_UNCONFIRMED);
	assert_int_equal(run_away(RC_AWAY), RC_AWAY);
	assert_int_equal(run_away(RC_BUSY), RC_BUSY);
	assert_int_equal(run_away(RC_UNCONFIRMED), RC_UNCONFIRMED);
	assert_int_equal(run_away(RC_OK), RC_OK);
	assert_int_equal(run_away(RC_BUSY), RC_BUSY);
}

static int
set_up_two(void **state)
{

	return (world_set_up_limited(state, 2));
}

/* The refusal of a full queue has the reason why the queue is full. */
static void
test_full_queue_says_why(void **state)
{
	static const enum rc why[] = {RC_OK, RC_AWAY, RC_UNCONFIRMED};
	struct work w[3];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(why) / sizeof(why[0]); i++) {
		assert_int_equal(run_away(why[i]), why[i]);
		assert_int_equal(
		    world_submit(&w[0], &world_client, 'a'), RC_OK);
		assert_int_equal(
		    world_submit(&w[1], &world_client, 'b'), RC_OK);
		assert_int_equal(world_submit(&w[2], &world_client, 'c'),
		    why[i] == RC_OK ? RC_BUSY : why[i]);
		assert_int_equal(writer_run_once(world->writer), 2);
	}
}

#define T(test)                                                                \
	cmocka_unit_test_setup_teardown(test, world_set_up, world_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    T(test_outage_lines),
	    T(test_unconfirmed),
	    cmocka_unit_test_setup_teardown(
		test_full_queue_says_why, set_up_two, world_tear_down),
	};

	/* A thread that waits for ever ends the test. */
	(void)alarm(60);
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
