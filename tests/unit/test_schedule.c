/* SPDX-License-Identifier: MIT */
/*
 * The lanes that have work: each is under way once at a time, in the order in
 * which the lanes became ready, and no wake-up is forgotten.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/mem.h"
#include "model/message.h"
#include "relay/schedule.h"

static void
wake(struct schedule *s, int64_t lane)
{

	assert_int_equal(schedule_wake(s, lane, 0), RC_OK);
}

static size_t
take(struct schedule *s, int64_t *lanes, size_t max)
{
	struct schedule_take t = {.lanes = lanes, .max = max};

	return (schedule_take(s, &t));
}

static void
assert_counts(const struct schedule *s, size_t ready, size_t busy)
{

	assert_int_equal(schedule_ready(s), ready);
	assert_int_equal(schedule_busy(s), busy);
}

static void
test_wake_take_done(void **state)
{
	int64_t lanes[4] = {0, 0, 0, 0};
	struct schedule *s;

	(void)state;
	s = schedule_new();
	assert_counts(s, 0, 0);
	assert_int_equal(take(s, lanes, 4), 0);
	wake(s, 7);
	wake(s, 7);
	assert_counts(s, 1, 0);
	assert_int_equal(take(s, lanes, 0), 0);
	assert_int_equal(take(s, lanes, 4), 1);
	assert_int_equal(lanes[0], 7);
	assert_counts(s, 0, 1);
	assert_int_equal(take(s, lanes, 4), 0);
	schedule_done(s, 7, LANE_DONE);
	assert_counts(s, 0, 0);
	assert_int_equal(take(s, lanes, 4), 0);
	/* It works as if for the first time. */
	wake(s, 7);
	assert_int_equal(take(s, lanes, 4), 1);
	schedule_done(s, 7, LANE_MORE);
	assert_counts(s, 1, 0);
	assert_int_equal(take(s, lanes, 4), 1);
	schedule_done(s, 7, LANE_DONE);
	assert_counts(s, 0, 0);
	schedule_free(s);
	schedule_free(NULL);
}

/* A wake-up while a lane is under way makes the lane run again, once. */
static void
test_woken_while_busy(void **state)
{
	struct schedule *s;
	int64_t lane;
	int i;

	(void)state;
	s = schedule_new();
	wake(s, 1);
	for (i = 0; i < 3; i++) {
		assert_int_equal(take(s, &lane, 1), 1);
		wake(s, 1);
		wake(s, 1);
		assert_counts(s, 0, 1);
		/* A lane is never under way twice at a time. */
		assert_int_equal(take(s, &lane, 1), 0);
		schedule_done(s, 1, i == 1 ? LANE_MORE : LANE_DONE);
		assert_counts(s, 1, 0);
	}
	assert_int_equal(take(s, &lane, 1), 1);
	schedule_done(s, 1, LANE_DONE);
	assert_counts(s, 0, 0);
	schedule_free(s);
}

static void
test_first_in_first_out(void **state)
{
	int64_t lanes[8];
	struct schedule *s;
	int64_t i;

	(void)state;
	s = schedule_new();
	for (i = 5; i > 0; i--)
		wake(s, i);
	wake(s, 5);
	assert_int_equal(take(s, lanes, 2), 2);
	assert_int_equal(lanes[0], 5);
	assert_int_equal(lanes[1], 4);
	/* A lane with more rows goes to the end, because the others have waited
	 * longer. */
	schedule_done(s, 5, LANE_MORE);
	wake(s, 9);
	assert_int_equal(take(s, lanes, 8), 5);
	assert_int_equal(lanes[0], 3);
	assert_int_equal(lanes[1], 2);
	assert_int_equal(lanes[2], 1);
	assert_int_equal(lanes[3], 5);
	assert_int_equal(lanes[4], 9);
	assert_counts(s, 0, 6);
	schedule_free(s);
}

/* R86: lanes with a higher priority go first, and within one priority those
 * that have waited longest.  The ratio is 8 to 4 to 1, so that the lowest
 * priority still moves. */
static void
test_priorities(void **state)
{
	static const int classes[] = {
	    PRIORITY_LOW, PRIORITY_NORMAL, PRIORITY_HIGH};
	int64_t lanes[50];
	struct schedule *s;
	size_t taken[3] = {0, 0, 0};
	int i, k;

	(void)state;
	s = schedule_new();
	for (k = 0; k < 3; k++)
		for (i = 1; i <= 20; i++)
			assert_int_equal(
			    schedule_wake(s, k * 100 + i, classes[k]), RC_OK);
	assert_int_equal(take(s, lanes, 13), 13);
	assert_int_equal(lanes[0], 201);
	for (i = 0; i < 13; i++) {
		k = (int)(lanes[i] / 100);
		assert_int_equal(lanes[i] % 100, ++taken[k]);
	}
	assert_int_equal(taken[2], 8);
	assert_int_equal(taken[1], 4);
	assert_int_equal(taken[0], 1);
	schedule_free(s);
}

/* Takes one lane and returns it (0: none). */
static int64_t
take_one(struct schedule *s)
{
	int64_t lane = 0;

	(void)take(s, &lane, 1);
	return (lane);
}

static void
wake_as(struct schedule *s, int64_t lane, int priority)
{

	assert_int_equal(schedule_wake(s, lane, priority), RC_OK);
}

/* A lane is as urgent as its most urgent wake-up, also if this comes while the
 * lane waits or is under way. */
static void
test_woken_by_more_urgent(void **state)
{
	struct schedule *s;

	(void)state;
	s = schedule_new();
	wake_as(s, 1, PRIORITY_NORMAL);
	wake_as(s, 2, PRIORITY_LOW);
	wake_as(s, 2, PRIORITY_HIGH);
	wake_as(s, 2, PRIORITY_NORMAL);
	assert_int_equal(take_one(s), 2);
	/* Lane 2 is under way: its new wake-ups decide, and its former priority
	 * does not. */
	wake_as(s, 2, PRIORITY_LOW);
	schedule_done(s, 2, LANE_DONE);
	assert_int_equal(take_one(s), 1);
	wake_as(s, 1, PRIORITY_HIGH);
	wake_as(s, 1, PRIORITY_LOW);
	schedule_done(s, 1, LANE_DONE);
	wake_as(s, 3, PRIORITY_NORMAL);
	assert_int_equal(take_one(s), 1);
	schedule_done(s, 1, LANE_DONE);
	assert_int_equal(take_one(s), 3);
	assert_int_equal(take_one(s), 2);
	assert_counts(s, 0, 2);
	schedule_free(s);
}

/* A lane in which rows are left is as urgent as its most urgent row, whether
 * this row came while the lane was under way or waited before. */
static void
test_woken_with_more(void **state)
{
	static const enum lane_outcome left[] = {LANE_MORE, LANE_LATER};
	struct schedule *s;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
		s = schedule_new();
		wake_as(s, 1, PRIORITY_LOW);
		assert_int_equal(take_one(s), 1);
		wake_as(s, 2, PRIORITY_LOW);
		wake_as(s, 1, PRIORITY_HIGH);
		schedule_done(s, 1, left[i]);
		assert_int_equal(take_one(s), 1);
		wake_as(s, 1, PRIORITY_LOW);
		schedule_done(s, 1, left[i]);
		assert_int_equal(take_one(s), 1);
		schedule_done(s, 1, LANE_DONE);
		assert_int_equal(take_one(s), 2);
		schedule_free(s);
	}
}

/* If the class whose turn it is has no lane, the highest class is next. */
static void
test_highest_instead(void **state)
{
	struct schedule *s;
	int i;

	(void)state;
	s = schedule_new();
	for (i = 1; i <= 13; i++)
		wake_as(s, i, PRIORITY_LOW);
	wake_as(s, 20, PRIORITY_NORMAL);
	assert_int_equal(take_one(s), 20);
	for (i = 1; i <= 13; i++)
		assert_int_equal(take_one(s), i);
	assert_int_equal(take_one(s), 0);
	schedule_free(s);
}

/* A lane whose delivery broke off is tried alone and before all others, until
 * it succeeds.  After the fifth time in a row that it breaks off alone, it is
 * poison.  A delivery that could not be tried does not count. */
static void
test_broken(void **state)
{
	int64_t lanes[8];
	struct schedule_take t = {.lanes = lanes, .max = 8};
	struct schedule *s;
	int i;

	(void)state;
	s = schedule_new();
	wake(s, 1);
	wake(s, 2);
	assert_int_equal(schedule_take(s, &t), 2);
	assert_false(t.poison);
	schedule_done(s, 1, LANE_BROKEN);
	schedule_done(s, 2, LANE_BROKEN);
	wake_as(s, 3, PRIORITY_HIGH);
	/* Lane 2 succeeds alone, with more rows: it waits with the others. */
	assert_int_equal(take_one(s), 1);
	schedule_done(s, 1, LANE_LATER);
	assert_int_equal(take_one(s), 2);
	schedule_done(s, 2, LANE_MORE);
	for (i = 1; i <= SCHEDULE_POISON_AFTER; i++) {
		lanes[0] = 0;
		assert_int_equal(schedule_take(s, &t), 1);
		assert_int_equal(lanes[0], 1);
		assert_false(t.poison);
		schedule_done(s, 1, LANE_BROKEN);
	}
	for (i = 0; i < 2; i++) {
		assert_int_equal(schedule_take(s, &t), 1);
		assert_int_equal(lanes[0], 1);
		assert_true(t.poison);
		schedule_done(s, 1, i == 0 ? LANE_LATER : LANE_MORE);
	}
	/* Its first message is delivered: the count starts again. */
	assert_int_equal(schedule_take(s, &t), 3);
	assert_int_equal(lanes[0], 3);
	assert_int_equal(lanes[1], 2);
	assert_int_equal(lanes[2], 1);
	assert_false(t.poison);
	schedule_done(s, 1, LANE_BROKEN);
	assert_int_equal(schedule_take(s, &t), 1);
	assert_false(t.poison);
	schedule_free(s);
}

#define MANY 20000

/* Many lanes that come and go: each woken lane is taken, and the table has no
 * more entries than there are lanes ready or under way. */
static void
test_many(void **state)
{
	static uint8_t taken[MANY];
	int64_t lanes[50];
	struct schedule *s;
	size_t i, n, all;

	(void)state;
	s = schedule_new();
	for (i = 0; i < MANY; i++)
		wake(s, (int64_t)(i * 7919 % MANY) + INT64_C(1) * 4000000000);
	for (all = 0; (n = take(s, lanes, 50)) > 0; all += n)
		for (i = 0; i < n; i++) {
			taken[lanes[i] - 4000000000]++;
			schedule_done(s, lanes[i],
			    lanes[i] % 3 == 0 &&
				    taken[lanes[i] - 4000000000] == 1
				? LANE_MORE
				: LANE_DONE);
		}
	assert_counts(s, 0, 0);
	for (i = 0; i < MANY; i++)
		assert_int_equal(
		    taken[i], ((int64_t)i + 4000000000) % 3 == 0 ? 2 : 1);
	assert_true(all > MANY);
	schedule_free(s);
}

static void
test_no_memory(void **state)
{
	struct schedule *s;
	int64_t lane, k;
	bool all;

	(void)state;
	for (k = 1, all = false; !all; k++) {
		mem_fail_at(k);
		s = schedule_new();
		if (s != NULL && schedule_wake(s, 1, 0) != RC_OK)
			assert_counts(s, 0, 0);
		all = mem_fail_pending();
		mem_fail_at(0);
		if (s == NULL)
			continue;
		wake(s, 1);
		assert_int_equal(take(s, &lane, 1), 1);
		schedule_free(s);
	}
	assert_true(k > 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_wake_take_done),
	    cmocka_unit_test(test_woken_while_busy),
	    cmocka_unit_test(test_first_in_first_out),
	    cmocka_unit_test(test_priorities),
	    cmocka_unit_test(test_woken_by_more_urgent),
	    cmocka_unit_test(test_woken_with_more),
	    cmocka_unit_test(test_highest_instead),
	    cmocka_unit_test(test_broken),
	    cmocka_unit_test(test_many),
	    cmocka_unit_test(test_no_memory),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
