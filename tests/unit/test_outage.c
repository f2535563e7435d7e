/* SPDX-License-Identifier: MIT */
/*
 * How many lines of the log a failure causes that repeats.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/outage.h"

#define MINUTE 60000

static struct outage o;
static struct outage_line line;

static int
setup(void **state)
{

	(void)state;
	o = (struct outage){0};
	line = (struct outage_line){0};
	return (0);
}

static bool
fails(int64_t now_ms, uint64_t units)
{

	return (outage_failed(&o, now_ms, MINUTE, units, &line));
}

static void
assert_line(uint64_t tries, uint64_t units, int64_t ms)
{

	assert_int_equal(line.tries, tries);
	assert_int_equal(line.units, units);
	assert_int_equal(line.ms, ms);
}

/* One line when the outage begins, one each minute with a count, and one when
 * it is over. */
static void
test_one_outage(void **state)
{
	int64_t now;

	(void)state;
	assert_false(outage_over(&o, 500, &line));
	assert_true(fails(1000, 3));
	assert_line(1, 3, 0);
	for (now = 1100; now < 1000 + MINUTE; now += 100)
		assert_false(fails(now, 2));
	assert_true(fails(1000 + MINUTE, 2));
	assert_line(600, 1200, MINUTE);
	assert_false(fails(1001 + MINUTE, 5));
	assert_true(outage_over(&o, 2000 + MINUTE, &line));
	assert_line(1, 5, 1000 + MINUTE);
	assert_false(outage_over(&o, 2001 + MINUTE, &line));
}

/* An outage that begins within a minute of the last line is not logged.  The
 * next line includes its counts. */
static void
test_flapping(void **state)
{

	(void)state;
	assert_true(fails(1000, 1));
	assert_true(outage_over(&o, 1500, &line));
	assert_line(0, 0, 500);
	assert_false(fails(2000, 1));
	assert_false(outage_over(&o, 2500, &line));
	assert_false(fails(3000, 4));
	assert_false(outage_over(&o, 3500, &line));
	assert_true(fails(1000 + MINUTE, 1));
	assert_line(3, 6, 0);
	assert_true(outage_over(&o, 1100 + MINUTE, &line));
	assert_line(0, 0, 100);
}

/* A long outage that began without a line is logged when the minute is over. */
static void
test_late(void **state)
{

	(void)state;
	assert_true(fails(1000, 1));
	assert_true(outage_over(&o, 1001, &line));
	assert_false(fails(2000, 1));
	assert_true(fails(1000 + MINUTE, 1));
	assert_line(2, 2, MINUTE - 1000);
	assert_true(outage_over(&o, 2000 + MINUTE, &line));
	assert_line(0, 0, MINUTE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(test_one_outage, setup),
	    cmocka_unit_test_setup(test_flapping, setup),
	    cmocka_unit_test_setup(test_late, setup),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
