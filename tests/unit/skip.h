/* SPDX-License-Identifier: MIT */
/*
 * Tests that cannot run here, in the form that TAP requires: "ok 2 - NAME #
 * SKIP REASON". cmocka's own skip() prints "not ok", which make check counts as
 * a failure.
 */
#ifndef TESTS_SKIP_H
#define TESTS_SKIP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static inline void
skip_nothing(void **state)
{

	(void)state;
}

static inline void
skip_test(
    struct CMUnitTest *tests, size_t n, CMUnitTestFunction test, const char *as)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (tests[i].test_func == test)
			tests[i] = (struct CMUnitTest){
			    .name = as, .test_func = skip_nothing};
}

/* Replaces ${test} in the array ${tests} by a skipped one.  ${reason} is a
 * string literal. */
#define SKIP_TEST(tests, test, reason)                                         \
	skip_test(tests, sizeof(tests) / sizeof((tests)[0]), test,             \
	    #test " # SKIP " reason)

#endif
