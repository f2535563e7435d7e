/* SPDX-License-Identifier: MIT */
/*
 * Shared strings: dropping the last reference frees the string, wherever this
 * happens.  Errors show under the sanitizers, with which the tests also run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/text.h"
#include "base/thr.h"

static void
test_copy(void **state)
{
	char from[] = "a\0b";
	struct text *t;

	(void)state;
	t = text_new(from, 3);
	from[0] = 'x';
	assert_int_equal(t->len, 3);
	assert_memory_equal(t->data, "a\0b\0", 4);
	assert_ptr_equal(text_ref(t), t);
	text_unref(t);
	assert_int_equal(t->data[0], 'a');
	text_unref(t);
	text_unref(NULL);
	t = text_new(NULL, 0);
	assert_string_equal(t->data, "");
	text_unref(t);
}

static void
test_no_memory(void **state)
{

	(void)state;
	mem_fail_at(1);
	assert_null(text_new("x", 1));
	assert_false(mem_fail_pending());
	assert_null(text_new("x", SIZE_MAX - 8));
}

static void
use_and_drop(void *arg)
{
	struct text *t = arg;
	int i;

	for (i = 0; i < 5000; i++) {
		text_ref(t);
		assert_int_equal(t->data[0], 'm');
		text_unref(t);
	}
	assert_int_equal(t->data[6], 'e');
	text_unref(t);
}

static void
test_threads(void **state)
{
	struct thr *thr[4];
	struct text *t;
	int i, round;

	(void)state;
	for (round = 0; round < 20; round++) {
		t = text_new("message", 7);
		for (i = 0; i < 4; i++)
			assert_int_equal(thr_start(THR_OTHER, i, use_and_drop,
					     text_ref(t), &thr[i], NULL),
			    RC_OK);
		text_unref(t);
		for (i = 0; i < 4; i++)
			thr_join(&thr[i]);
	}
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_copy),
	    cmocka_unit_test(test_no_memory),
	    cmocka_unit_test(test_threads),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
