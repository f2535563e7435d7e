/* SPDX-License-Identifier: MIT */
/*
 * Memory: sizes of 0, overflow, copies, and the failure that a test orders,
 * which must hit exactly one allocation, however many threads there are.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/thr.h"

static void
test_nothing(void **state)
{
	void *p;

	(void)state;
	p = mem_alloc(0);
	assert_non_null(p);
	p = mem_realloc(p, 0);
	assert_non_null(p);
	mem_free(p);
	p = mem_zalloc(0, 8);
	assert_non_null(p);
	mem_free(p);
	mem_free(NULL);
}

static void
test_zalloc(void **state)
{
	unsigned char *p;
	/* volatile, or the compiler warns about the overflow that is tested */
	volatile size_t many = SIZE_MAX / 2;
	int i;

	(void)state;
	p = mem_zalloc(10, 10);
	for (i = 0; i < 100; i++)
		assert_int_equal(p[i], 0);
	mem_free(p);
	assert_null(mem_zalloc(many, 3));
}

static void
test_copies(void **state)
{
	char *p;

	(void)state;
	assert_null(mem_strdup(NULL));
	p = mem_strdup("text");
	assert_string_equal(p, "text");
	mem_free(p);
	p = mem_strndup("text", 2);
	assert_string_equal(p, "te");
	mem_free(p);
	p = mem_strndup(NULL, 0);
	assert_string_equal(p, "");
	mem_free(p);
	assert_null(mem_strndup("x", SIZE_MAX));
}

static void
test_kth_fails_once(void **state)
{
	void *p, *q;

	(void)state;
	mem_fail_at(3);
	p = mem_alloc(8);
	assert_non_null(p);
	q = mem_zalloc(1, 8);
	assert_non_null(q);
	memset(p, 'x', 8);
	assert_true(mem_fail_pending());
	assert_null(mem_realloc(p, 100000));
	assert_false(mem_fail_pending());
	assert_int_equal(((char *)p)[7], 'x');
	mem_free(q);
	q = mem_alloc(8);
	assert_non_null(q);
	mem_free(q);
	mem_free(p);
	mem_fail_at(1);
	assert_null(mem_strdup("x"));
	mem_fail_at(1);
	mem_fail_at(0);
	p = mem_alloc(1);
	assert_non_null(p);
	mem_free(p);
}

static atomic_int failures;

static void
allocate_many(void *arg)
{
	void *p;
	int i;

	(void)arg;
	for (i = 0; i < 10000; i++) {
		p = mem_alloc(1);
		if (p == NULL)
			atomic_fetch_add(&failures, 1);
		mem_free(p);
	}
}

static void
test_one_failure_among_threads(void **state)
{
	struct thr *thr[4];
	int i;

	(void)state;
	mem_fail_at(15000);
	for (i = 0; i < 4; i++)
		assert_int_equal(
		    thr_start(THR_OTHER, i, allocate_many, NULL, &thr[i], NULL),
		    RC_OK);
	for (i = 0; i < 4; i++)
		thr_join(&thr[i]);
	assert_int_equal(atomic_load(&failures), 1);
	assert_false(mem_fail_pending());
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_nothing),
	    cmocka_unit_test(test_zalloc),
	    cmocka_unit_test(test_copies),
	    cmocka_unit_test(test_kth_fails_once),
	    cmocka_unit_test(test_one_failure_among_threads),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
