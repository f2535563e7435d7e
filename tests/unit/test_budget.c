/* SPDX-License-Identifier: MIT */
/*
 * Budgets: the total, the shares of owners, and the state after refusals and
 * failed allocations.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/budget.h"
#include "base/mem.h"

static void
test_total(void **state)
{
	struct budget *b = budget_new(100, 100);
	struct budget_hold one = {.owner = {1}}, two = {.owner = {2}};

	(void)state;
	assert_true(budget_take(b, &one, 60));
	assert_false(budget_take(b, &two, 41));
	assert_int_equal(two.bytes, 0);
	assert_true(budget_take(b, &two, 40));
	assert_int_equal(budget_used(b), 100);
	assert_false(budget_take(b, &two, 1));
	assert_true(budget_take(b, &two, 0));
	budget_give(b, &one);
	assert_int_equal(one.bytes, 0);
	assert_int_equal(budget_used(b), 40);
	budget_give(b, &one); /* holds nothing, so this does nothing */
	assert_false(budget_take(b, &one, 101));
	assert_false(budget_take(b, &one, SIZE_MAX));
	assert_true(budget_take(b, &one, 60));
	budget_give(b, &one);
	budget_give(b, &two);
	assert_int_equal(budget_used(b), 0);
	budget_free(b);
	budget_free(NULL);
}

/* The share limits the sum of all that one owner holds. */
static void
test_share(void **state)
{
	struct budget *b = budget_new(100, 25);
	struct budget_hold a1 = {.owner = {1}}, a2 = {.owner = {1}},
			   c = {.owner = {2}}, nobody = {.owner = {0}};

	(void)state;
	assert_false(budget_take(b, &a1, 26));
	assert_true(budget_take(b, &a1, 10));
	assert_true(budget_take(b, &a2, 10));
	assert_true(budget_take(b, &a1, 5));
	assert_int_equal(a1.bytes, 15);
	assert_false(budget_take(b, &a2, 1));
	assert_true(budget_take(b, &c, 25));
	budget_give(b, &a1);
	assert_true(budget_take(b, &a2, 15));
	/* Without an owner, only the total is limited. */
	assert_true(budget_take(b, &nobody, 50));
	assert_false(budget_take(b, &nobody, 1));
	budget_free(b);
}

/* With two owners both shares are limited.  If the second refuses, the share of
 * the first is unchanged. */
static void
test_two_owners(void **state)
{
	struct budget *b = budget_new(1000, 100);
	struct budget_hold both = {.owner = {1, 2}}, one = {.owner = {1}},
			   two = {.owner = {2}};

	(void)state;
	assert_true(budget_take(b, &two, 50));
	assert_true(budget_take(b, &both, 50));
	assert_false(budget_take(b, &both, 1));
	assert_true(budget_take(b, &one, 50));
	assert_false(budget_take(b, &one, 1));
	budget_give(b, &both);
	assert_int_equal(budget_used(b), 100);
	assert_true(budget_take(b, &one, 50));
	assert_true(budget_take(b, &two, 50));
	budget_free(b);
}

/* An allocation that fails, whichever it is, changes nothing. */
static void
test_no_memory(void **state)
{
	struct budget_hold hold = {.owner = {1, 2}};
	struct budget *b = NULL;
	int64_t k;

	(void)state;
	for (k = 1; b == NULL; k++) {
		mem_fail_at(k);
		b = budget_new(100, 100);
	}
	mem_fail_at(0);
	assert_true(k > 2);
	for (k = 1;; k++) {
		mem_fail_at(k);
		if (budget_take(b, &hold, 100))
			break;
		assert_int_equal(hold.bytes, 0);
		assert_int_equal(budget_used(b), 0);
	}
	mem_fail_at(0);
	assert_int_equal(hold.bytes, 100);
	budget_give(b, &hold);
	budget_free(b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_total),
	    cmocka_unit_test(test_share),
	    cmocka_unit_test(test_two_owners),
	    cmocka_unit_test(test_no_memory),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
