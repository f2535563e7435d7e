/* SPDX-License-Identifier: MIT */
/*
 * The order in which lanes to another server get their turn: a claim continues
 * where the one before ended, so that no lane keeps others waiting.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "contract/far.h"
#include "store/lane.h"

#define FAR "a.example"

static struct rig rig;
static struct parcel parcel;
static struct claim_passes passes;
static struct err err;
static char left[256]; /* the recipients of what has left, by far_claim_on() */

/* Their lanes get ids in this order. */
static const char *const people[] = {
    "bob@" FAR, "dan@" FAR, "eve@" FAR, "fay@" FAR};

static int
open_rig(void **state)
{

	(void)state;
	memset(&parcel, 0, sizeof(parcel));
	memset(&passes, 0, sizeof(passes));
	err = (struct err)ERR_INIT;
	left[0] = '\0';
	rig_open(&rig);
	(void)rig_user(&rig, "ann", NULL);
	return (0);
}

static int
close_rig(void **state)
{

	(void)state;
	buf_fini(&parcel.text);
	rig_check_promises(&rig);
	rig_close(&rig);
	return (0);
}

/* Sends ${n} messages to each of the first ${npeople} people. */
static void
send_all(size_t npeople, int n, int priority)
{
	size_t i;
	int k;

	for (i = 0; i < npeople; i++)
		for (k = 0; k < n; k++)
			(void)far_send(&rig, 1, people[i], priority, 0);
}

/* Claims at most ${most} messages, those of ${priority} first.  Appends the
 * first letters of the recipients and a space to ${left}. */
static size_t
claim_first(size_t most, int priority)
{
	size_t i, n = strlen(left);

	(void)far_claim_on(&rig, &parcel, FAR, most, priority, &passes);
	assert_true(n + parcel.n + 2 < sizeof(left));
	for (i = 0; i < parcel.n; i++)
		left[n++] = parcel.text.data[parcel.items[i].to];
	left[n++] = ' ';
	left[n] = '\0';
	return (parcel.n);
}

static size_t
claim(size_t most)
{

	return (claim_first(most, PRIORITY_NORMAL));
}

/* Claims ${times} times.  Each time ${answer} comes back at once. */
static void
carry(int times, size_t most, enum answer answer)
{

	while (times-- > 0) {
		(void)claim(most);
		(void)far_answer(&rig, &parcel, answer);
	}
}

/* A lane that always has more than a parcel holds does not keep the others
 * waiting. */
static void
test_each_in_turn(void **state)
{

	(void)state;
	send_all(3, 4, PRIORITY_NORMAL);
	carry(7, 2, ANSWER_ACCEPTED);
	assert_string_equal(left, "bb dd ee bb dd ee  ");
	rig_check_promises(&rig);
}

/* A parcel that ends within a lane: that lane continues in the next pass. */
static void
test_rest_of_a_lane(void **state)
{

	(void)state;
	send_all(2, 3, PRIORITY_NORMAL);
	carry(4, 2, ANSWER_ACCEPTED);
	assert_string_equal(left, "bb dd bd  ");
}

/* A lane that becomes ready behind the place of the pass has its turn in the
 * next pass. */
static void
test_new_lane(void **state)
{

	(void)state;
	send_all(1, 1, PRIORITY_NORMAL);
	carry(1, 1, ANSWER_ACCEPTED);
	(void)far_send(&rig, 1, people[1], PRIORITY_NORMAL, 0);
	(void)far_send(&rig, 1, people[1], PRIORITY_NORMAL, 0);
	(void)far_send(&rig, 1, people[2], PRIORITY_NORMAL, 0);
	(void)far_send(&rig, 1, people[2], PRIORITY_NORMAL, 0);
	carry(1, 1, ANSWER_ACCEPTED);
	(void)far_send(&rig, 1, people[0], PRIORITY_NORMAL, 0);
	carry(4, 1, ANSWER_ACCEPTED);
	assert_string_equal(left, "b d e b d e ");
}

/* Within a pass the lane that has been due for the longest time comes first,
 * whatever its id.  Only due lanes come. */
static void
test_longest_due(void **state)
{
	const struct store_pass pass = {.upto_ms = 800, .due_at = -1};
	struct store_lanes lanes;
	int64_t destination;
	char got[80] = "";
	size_t i, n;

	(void)state;
	send_all(4, 1, PRIORITY_NORMAL);
	(void)far_send(&rig, 1, "bob@b.example", PRIORITY_NORMAL, 0);
	assert_int_equal(
	    rig_exec(
		&rig, "UPDATE outbox_lanes SET due_at = 1000 - 100 * lane_id"),
	    5);
	destination = rig_number(&rig,
	    "SELECT destination_id FROM destinations WHERE name = '" FAR "'");
	assert_int_equal(db_begin(rig.db, &err), RC_OK);
	assert_int_equal(store_lanes_ready(rig.db, destination, PRIORITY_NORMAL,
			     &pass, &lanes, &err),
	    RC_OK);
	db_rollback(rig.db);
	for (i = n = 0; i < lanes.n; i++)
		n += (size_t)snprintf(got + n, sizeof(got) - n, "%lld/%lld ",
		    (long long)(lanes.ids[i] - lanes.ids[lanes.n - 1]),
		    (long long)lanes.due[i]);
	/* Not the first lane, which is not due, nor the other server's. */
	assert_string_equal(got, "2/600 1/700 0/800 ");
}

/* Lanes that are put off again and again do not keep a pass from ending: lanes
 * that come due after its beginning belong to the next pass. */
static void
test_pass_ends(void **state)
{
	int i;

	(void)state;
	send_all(1, 1, PRIORITY_NORMAL);
	carry(1, 1, ANSWER_ACCEPTED);
	(void)far_send(&rig, 1, people[1], PRIORITY_NORMAL, 0);
	(void)far_send(&rig, 1, people[2], PRIORITY_NORMAL, 0);
	for (i = 0; i < 5; i++) {
		carry(1, 1, ANSWER_RETRYABLE);
		clk_fake_advance(&rig.clk, 120 * 1000);
		/* Behind the place of the pass. */
		if (i == 1)
			(void)far_send(&rig, 1, people[0], PRIORITY_NORMAL, 0);
	}
	assert_string_equal(left, "b d e b d e ");
}

/* A message that may be poison travels alone.  Its lane has its turn even if
 * the lanes before it could always fill the parcel. */
static void
test_alone_in_turn(void **state)
{

	(void)state;
	send_all(2, 2, PRIORITY_NORMAL);
	assert_int_equal(
	    rig_exec(&rig, "UPDATE outbox SET rescue_count = 3, attempts = 3, "
			   "last_attempt_at = created_at WHERE id = "
			   "(SELECT min(id) + 2 FROM outbox WHERE dest_kind = "
			   "'server')"),
	    1);
	(void)far_send(&rig, 1, people[2], PRIORITY_NORMAL, 0);
	carry(3, 50, ANSWER_ACCEPTED);
	assert_string_equal(left, "bb d ed ");
}

/* Lanes of another priority have separate passes. */
static void
test_priorities_apart(void **state)
{

	(void)state;
	send_all(2, 2, PRIORITY_NORMAL);
	(void)far_send(&rig, 1, people[2], PRIORITY_HIGH, 0);
	(void)far_send(&rig, 1, people[3], PRIORITY_HIGH, 0);
	assert_int_equal(claim(1), 1);
	assert_int_equal(claim_first(1, PRIORITY_HIGH), 1);
	assert_int_equal(claim(1), 1);
	assert_int_equal(claim_first(50, PRIORITY_HIGH), 1);
	assert_string_equal(left, "b e d f ");
}

/* The clock was put back: a pass that began at a later time takes no lane that
 * is not due now. */
static void
test_clock_put_back(void **state)
{

	(void)state;
	send_all(2, 2, PRIORITY_NORMAL);
	assert_int_equal(claim(1), 1);
	(void)far_answer(&rig, &parcel, ANSWER_ACCEPTED);
	assert_int_equal(passes.of[1].upto_ms, rig.clk.wall_ms);
	assert_int_equal(
	    rig_exec(&rig, "UPDATE outbox_lanes SET due_at = 1500"), 2);
	rig.clk.wall_ms = 1000;
	assert_int_equal(claim(1), 0);
	rig.clk.wall_ms = 1500;
	assert_int_equal(claim(50), 3);
	assert_string_equal(left, "b  bdd ");
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_rig, close_rig)
	const struct CMUnitTest tests[] = {
	    TEST(test_each_in_turn),
	    TEST(test_rest_of_a_lane),
	    TEST(test_new_lane),
	    TEST(test_longest_due),
	    TEST(test_pass_ends),
	    TEST(test_alone_in_turn),
	    TEST(test_priorities_apart),
	    TEST(test_clock_put_back),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
