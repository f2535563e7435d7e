/* SPDX-License-Identifier: MIT */
/*
 * The number of new servers that a user may write to in a day.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "txn/new_domains.h"

#define SECOND INT64_C(1000)
#define DAY (86400 * SECOND)

static struct new_domains *q;
static int wait_s;

static int
set_up(void **state)
{

	(void)state;
	q = new_domains_new(4);
	assert_non_null(q);
	new_domains_begin(q);
	return (0);
}

static int
tear_down(void **state)
{

	(void)state;
	new_domains_free(q);
	return (0);
}

/* Returns how many new servers user ${id} may write to at ${now}. */
static int
takes(int64_t id, int64_t now)
{
	int n = 0;

	while (n < 100 && new_domains_take(q, id, now, &wait_s))
		n++;
	return (n);
}

static void
test_day(void **state)
{

	(void)state;
	assert_int_equal(takes(1, 0), 4);
	assert_int_equal(wait_s, 86400 / 4 + 1);
	/* Each user has a quota of their own. */
	assert_int_equal(takes(2, 0), 4);
	assert_int_equal(takes(1, DAY / 8), 0);
	assert_int_equal(wait_s, 86400 / 8 + 1);
	assert_int_equal(takes(1, DAY / 4), 1);
	/* A pause saves the quota of one day at most. */
	assert_int_equal(takes(1, 100 * DAY), 4);
	/* The clock stands still: no more quota. */
	assert_int_equal(takes(1, 100 * DAY), 0);
}

static void
test_any(void **state)
{

	(void)state;
	new_domains_free(q);
	q = new_domains_new(0);
	assert_int_equal(takes(1, 0), 100);
	assert_int_equal(new_domains_users(q), 0);
}

/* When a transaction is abandoned, the user gets back what it has taken, and no
 * more. */
static void
test_abandoned(void **state)
{

	(void)state;
	assert_true(new_domains_take(q, 1, 0, &wait_s));
	new_domains_begin(q);
	assert_int_equal(takes(1, 0), 3);
	new_domains_abort(q);
	new_domains_begin(q);
	assert_int_equal(takes(1, 0), 3);
	new_domains_begin(q);
	new_domains_abort(q);
	assert_int_equal(takes(1, 0), 0);
}

/* However many users there are, memory is bounded.  Users whose quota is full
 * are forgotten first. */
static void
test_bound(void **state)
{
	int64_t id;

	(void)state;
	for (id = 1; id <= NEW_DOMAINS_USERS; id++)
		assert_true(new_domains_take(q, id, 0, &wait_s));
	assert_int_equal(new_domains_users(q), NEW_DOMAINS_USERS);
	/* By this time the quota of all of them is full. */
	new_domains_begin(q);
	assert_int_equal(takes(id, DAY), 4);
	assert_int_equal(new_domains_users(q), 1);
	for (id = 1; id <= 2 * NEW_DOMAINS_USERS; id++) {
		assert_true(new_domains_take(q, id, DAY, &wait_s));
		assert_true(new_domains_users(q) <= NEW_DOMAINS_USERS);
	}
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(test_day),
	    TEST(test_any),
	    TEST(test_abandoned),
	    TEST(test_bound),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
