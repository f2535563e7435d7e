/* SPDX-License-Identifier: MIT */
/*
 * Numbers in words at the edges of their forms: the last value of one form and
 * the first of the next.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <time.h>

#include "term/human.h"

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int
setup(void **state)
{

	(void)state;
	(void)setenv("TZ", "UTC", 1);
	tzset();
	return (0);
}

/* ${b} contains exactly ${text}; empties it. */
static void
assert_text(struct buf *b, const char *text)
{

	assert_true(buf_ok(b));
	assert_int_equal(b->len, strlen(text));
	buf_addc(b, '\0');
	assert_string_equal(b->data, text);
	buf_fini(b);
}

static void
test_whole_numbers(void **state)
{
	static const struct {
		void (*add)(struct buf *b, int64_t n);
		int64_t n;
		const char *text;
	} table[] = {
	    {human_count, 7, "7"},
	    {human_count, 100, "100"},
	    {human_count, 12345, "12,345"},
	    {human_count, 100000, "100,000"},
	    {human_count, -7, "-7"},
	    {human_count, -1000, "-1,000"},
	    {human_count, -100000, "-100,000"},
	    {human_short, 0, "0"},
	    {human_short, -10000, "-10k"},
	    {human_short, 999999, "1000k"},
	    {human_short, 1000000, "1.0M"},
	    {human_bytes, -1, "-1 B"},
	    {human_bytes, 10 * 1024, "10 KiB"},
	    {human_bytes, 1024 * 1024 - 1, "1024 KiB"},
	    {human_bytes, 1024 * 1024, "1.0 MiB"},
	    {human_span, -1, "0s"},
	    {human_span, 1100, "1.1s"},
	    {human_span, 1999, "1.9s"},
	    {human_span, 10 * SECOND + 900, "10s"},
	    {human_span, MINUTE - 1, "59s"},
	    {human_span, MINUTE + SECOND - 1, "1m"},
	    {human_span, MINUTE + SECOND, "1m 1s"},
	    {human_span, HOUR, "1h"},
	    {human_span, HOUR + MINUTE - 1, "1h"},
	    {human_span, HOUR + MINUTE, "1h 1m"},
	    {human_span, DAY - 1, "23h 59m"},
	    {human_span, DAY + HOUR - 1, "1d"},
	    {human_span, DAY + HOUR, "1d 1h"},
	    {human_span, 100 * DAY - 1, "99d 23h"},
	    {human_span, 100 * DAY, "100d"},
	    {human_span, 100 * DAY + HOUR, "100d"},
	    {human_limit, 0, "0s"},
	    {human_limit, SECOND, "1s"},
	    {human_limit, MINUTE - SECOND, "59s"},
	    {human_limit, MINUTE + 1, "60001ms"},
	    {human_limit, HOUR, "60m"},
	    {human_limit, DAY - MINUTE, "1439m"},
	    {human_limit, DAY, "1d"},
	    {human_limit, DAY + MINUTE, "1441m"},
	    {human_limit, DAY + SECOND, "86401s"},
	};
	struct buf b = BUF_INIT;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(table); i++) {
		table[i].add(&b, table[i].n);
		assert_text(&b, table[i].text);
	}
}

static void
test_real_numbers(void **state)
{
	static const struct {
		void (*add)(struct buf *b, double n);
		double n;
		const char *text;
	} table[] = {
	    {human_rate, 0.049, "<0.1"},
	    {human_rate, 0.05, "0.1"},
	    {human_rate, 9.94, "9.9"},
	    {human_rate, 9.95, "10"},
	    {human_rate, 999, "999"},
	    {human_rate, 1000, "1.0k"},
	    {human_rate, 1000000, "1.0M"},
	    {human_percent, -0.5, "-50.0%"},
	    {human_percent, 0.00049, "<0.1%"},
	    {human_percent, 0.0005, "0.1%"},
	    {human_percent, 0.0994, "9.9%"},
	    {human_percent, 0.0995, "10%"},
	    {human_percent, 1, "100%"},
	    {human_percent, 9.99, "999%"},
	    {human_percent, 10, ">999%"},
	};
	struct buf b = BUF_INIT;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(table); i++) {
		table[i].add(&b, table[i].n);
		assert_text(&b, table[i].text);
	}
}

/* The same day of another year, and the last one of the year before. */
static void
test_days(void **state)
{
	/* 1 Jan 2027 00:00 UTC */
	const int64_t midnight = INT64_C(1798761600000);
	const struct look look = {.now_ms = midnight + HOUR};
	struct buf b = BUF_INIT;

	(void)state;
	human_time(&b, &look, midnight);
	assert_text(&b, "00:00:00");
	human_time(&b, &look, midnight - SECOND);
	assert_text(&b, "31 Dec 2026 23:59:59");
	human_time(&b, &look, midnight - 365 * DAY);
	assert_text(&b, "01 Jan 2026 00:00:00");
	human_time(&b, &look, midnight + DAY);
	assert_text(&b, "02 Jan 00:00:00");
}

/* The largest value that is displayed has the highest bar. */
static void
test_bars(void **state)
{
	static const double values[] = {0, 1, 2, 3, 4, 5, 6, 7, -1, 700};
	static const double small[] = {0.4, 0.6};
	struct buf b = BUF_INIT;

	(void)state;
	human_bars(&b, values, 9);
	assert_text(&b, "▁▂▃▄▅▆▇█ ");
	human_bars(&b, values, 1);
	assert_text(&b, "▁");
	human_bars(&b, values + 8, 1);
	assert_text(&b, " ");
	human_bars(&b, values, 10);
	assert_text(&b, "▁▁▁▁▁▁▁▁ █");
	human_bars(&b, small, 2);
	assert_text(&b, "▆█");
	human_bars(&b, values, 0);
	assert_text(&b, "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_whole_numbers),
	    cmocka_unit_test(test_real_numbers),
	    cmocka_unit_test(test_days),
	    cmocka_unit_test(test_bars),
	};

	return (cmocka_run_group_tests(tests, setup, NULL));
}
