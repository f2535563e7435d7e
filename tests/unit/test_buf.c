/* SPDX-License-Identifier: MIT */
/*
 * The growable buffer: appended bytes come out unchanged, the limit is exact, a
 * failure sticks, and no failed allocation loses or leaks bytes.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <wchar.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/mem.h"

static void
assert_holds(const struct buf *b, const char *text)
{

	assert_true(buf_ok(b));
	assert_int_equal(b->len, strlen(text));
	assert_memory_equal(b->data, text, b->len);
}

static void
test_appends(void **state)
{
	struct buf b = BUF_INIT;
	size_t len = 0;
	char *text;

	(void)state;
	buf_add(&b, NULL, 0);
	assert_null(b.data);
	buf_adds(&b, "{\"n\":");
	buf_addi(&b, -42);
	buf_addc(&b, ',');
	buf_addf(&b, "\"%s\":%d", "x", 7);
	buf_add(&b, "}abc", 1);
	assert_holds(&b, "{\"n\":-42,\"x\":7}");
	text = buf_take(&b, &len);
	assert_string_equal(text, "{\"n\":-42,\"x\":7}");
	assert_int_equal(len, 15);
	mem_free(text);
	assert_null(b.data);
	assert_int_equal(b.len, 0);
	buf_fini(&b);
}

/* A text that just fits needs no more memory. */
static void
test_fits_exactly(void **state)
{
	struct buf b = BUF_INIT;
	size_t cap, i;

	(void)state;
	buf_adds(&b, "x");
	cap = b.cap;
	buf_addf(&b, "%*s", (int)(cap - 1), "y");
	assert_true(buf_ok(&b));
	assert_int_equal(b.len, cap);
	assert_int_equal(b.cap, cap);
	assert_int_equal(b.data[cap - 1], 'y');
	buf_addf(&b, "%s", "z");
	assert_int_equal(b.len, cap + 1);
	assert_true(b.cap > cap);
	assert_int_equal(b.data[cap], 'z');
	cap = b.cap;
	buf_reset(&b);
	for (i = 0; i < cap; i++)
		buf_addc(&b, 'w');
	assert_true(buf_ok(&b));
	assert_int_equal(b.len, cap);
	assert_int_equal(b.cap, cap);
	buf_fini(&b);
}

static void
test_numbers(void **state)
{
	static const int64_t numbers[] = {0, 1, 9, 10, 11, 99, 100, 101, 999,
	    1000, 12345, 1763720430123, INT64_MAX, INT64_MIN, -1, -9, -10, -99,
	    -100, -1001};
	struct buf b = BUF_INIT;
	char want[32];
	int64_t n;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		(void)snprintf(want, sizeof(want), "%" PRId64, numbers[i]);
		buf_reset(&b);
		buf_addi(&b, numbers[i]);
		assert_holds(&b, want);
	}
	for (n = 1; n < INT64_MAX / 10; n = n * 10 + 7) {
		(void)snprintf(want, sizeof(want), "%" PRId64, n);
		buf_reset(&b);
		buf_addi(&b, n);
		assert_holds(&b, want);
	}
	buf_fini(&b);
}

static void
test_grows(void **state)
{
	struct buf b = BUF_INIT;
	int i;

	(void)state;
	for (i = 0; i < 100000; i++)
		buf_addc(&b, (char)('a' + i % 26));
	assert_true(buf_ok(&b));
	assert_int_equal(b.len, 100000);
	for (i = 0; i < 100000; i++)
		assert_int_equal(b.data[i], 'a' + i % 26);
	buf_fini(&b);
	buf_addf(&b, "%0300d", 5);
	assert_int_equal(b.len, 300);
	assert_int_equal(b.data[299], '5');
	buf_fini(&b);
	assert_null(b.data);
}

static void
test_limit_is_exact(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 10);
	buf_adds(&b, "0123456789");
	assert_holds(&b, "0123456789");
	buf_addc(&b, 'x');
	assert_false(buf_ok(&b));
	assert_int_equal(b.len, 10);
	buf_reset(&b);
	buf_adds(&b, "012345678");
	buf_addf(&b, "%d", 12);
	assert_false(buf_ok(&b));
	buf_reset(&b);
	buf_adds(&b, "01234567");
	buf_addf(&b, "%d", 12);
	assert_holds(&b, "0123456712");
	buf_reset(&b);
	assert_null(buf_reserve(&b, 11));
	buf_reset(&b);
	assert_null(buf_reserve(&b, SIZE_MAX));
	buf_fini(&b);
	assert_int_equal(b.limit, 10);
}

static void
test_failure_sticks(void **state)
{
	struct buf b;
	size_t len = 77;

	(void)state;
	buf_init(&b, 4);
	buf_adds(&b, "abcde");
	buf_adds(&b, "a");
	buf_addc(&b, 'a');
	buf_addi(&b, 1);
	buf_addf(&b, "a");
	assert_int_equal(b.len, 0);
	assert_null(buf_reserve(&b, 0));
	assert_null(buf_take(&b, &len));
	assert_int_equal(len, 77);
	assert_true(buf_ok(&b));
	buf_adds(&b, "ok");
	assert_holds(&b, "ok");
	buf_fini(&b);
}

/* A text that printf() cannot write (a wide character that the locale "C" does
 * not have) is a failure, with and without memory. */
static void
test_unprintable(void **state)
{
	static const wchar_t wide[] = {0x20ac, 0};
	struct buf b = BUF_INIT;

	(void)state;
	buf_addf(&b, "%ls", wide);
	assert_false(buf_ok(&b));
	buf_reset(&b);
	buf_adds(&b, "ab");
	buf_addf(&b, "%ls", wide);
	assert_false(buf_ok(&b));
	assert_int_equal(b.len, 2);
	buf_fini(&b);
}

static void
test_take_empty(void **state)
{
	struct buf b = BUF_INIT;
	size_t len = 1;
	char *text;

	(void)state;
	text = buf_take(&b, &len);
	assert_string_equal(text, "");
	assert_int_equal(len, 0);
	mem_free(text);
	buf_adds(&b, "x");
	text = buf_take(&b, NULL);
	assert_string_equal(text, "x");
	mem_free(text);
}

static void
test_reserve(void **state)
{
	struct buf b = BUF_INIT;
	char *p;

	(void)state;
	buf_adds(&b, "ab");
	p = buf_reserve(&b, 500);
	assert_ptr_equal(p, b.data + 2);
	assert_true(b.cap >= 502);
	memset(p, 'z', 500);
	assert_int_equal(b.len, 2);
	b.len += 500;
	buf_addc(&b, '!');
	assert_int_equal(b.data[501], 'z');
	assert_int_equal(b.data[502], '!');
	buf_fini(&b);
	assert_non_null(buf_reserve(&b, 0));
	buf_fini(&b);
}

static void
test_every_allocation_fails(void **state)
{
	struct buf b = BUF_INIT;
	bool pending;
	char *text;
	int i, k;

	(void)state;
	for (k = 1;; k++) {
		assert_true(k < 100);
		mem_fail_at(k);
		for (i = 0; i < 1000; i++)
			buf_addi(&b, i);
		text = buf_take(&b, NULL);
		pending = mem_fail_pending();
		mem_fail_at(0);
		if (pending)
			break;
		assert_null(text);
		assert_null(b.data);
	}
	assert_int_equal(strlen(text), 10 + 180 + 2700);
	assert_true(k > 3);
	mem_free(text);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_appends),
	    cmocka_unit_test(test_fits_exactly),
	    cmocka_unit_test(test_numbers),
	    cmocka_unit_test(test_grows),
	    cmocka_unit_test(test_limit_is_exact),
	    cmocka_unit_test(test_failure_sticks),
	    cmocka_unit_test(test_unprintable),
	    cmocka_unit_test(test_take_empty),
	    cmocka_unit_test(test_reserve),
	    cmocka_unit_test(test_every_allocation_fails),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
