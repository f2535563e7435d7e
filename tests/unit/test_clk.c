/* SPDX-License-Identifier: MIT */
/*
 * Clocks and RFC 3339: every day of the years 1600 to 2400 against a calendar
 * counted day by day, the ends of the range, and a table of invalid times.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/clk.h"

#define DAY_MS INT64_C(86400000)

static void
test_system_clock(void **state)
{
	const struct clk *clk = clk_system();
	int64_t wall, mono;

	(void)state;
	wall = clk_wall_ms(clk);
	mono = clk_mono_us(clk);
	assert_true(wall / 1000 - (int64_t)time(NULL) <= 1);
	assert_true((int64_t)time(NULL) - wall / 1000 <= 1);
	assert_true(clk_mono_us(clk) >= mono);
	assert_true(clk_mono_ms(clk) - mono / 1000 < 1000);
}

static void
test_fake_clock(void **state)
{
	struct clk_fake fake;

	(void)state;
	clk_fake_init(&fake, 1000);
	assert_int_equal(clk_wall_ms(&fake.clk), 1000);
	assert_int_equal(clk_mono_us(&fake.clk), 0);
	clk_fake_advance(&fake, 5);
	assert_int_equal(clk_wall_ms(&fake.clk), 1005);
	assert_int_equal(clk_mono_us(&fake.clk), 5000);
	assert_int_equal(clk_mono_ms(&fake.clk), 5);
}

static int
month_days(int y, int m)
{
	if (m == 2)
		return ((y % 4 == 0 && y % 100 != 0) || y % 400 == 0 ? 29 : 28);
	return (m == 4 || m == 6 || m == 9 || m == 11 ? 30 : 31);
}

/* Checks all days of the years ${from} to ${to} - 1.  ${day} is the first of
 * them, counted from 1970. */
static void
check_years(int from, int to, int64_t day)
{
	char want[64], got[CLK_RFC3339_SIZE];
	int64_t ms, back;
	int y, m, d;

	for (y = from; y < to; y++)
		for (m = 1; m <= 12; m++)
			for (d = 1; d <= month_days(y, m); d++, day++) {
				(void)snprintf(want, sizeof(want),
				    "%04d-%02d-%02dT23:59:58.007Z", y, m, d);
				ms = day * DAY_MS + 86398007;
				clk_format_rfc3339(ms, got);
				assert_string_equal(got, want);
				assert_int_equal(
				    clk_parse_rfc3339(want, &back), 0);
				assert_int_equal(back, ms);
			}
}

static void
test_calendar(void **state)
{

	(void)state;
	check_years(1970, 2401, 0);
	check_years(1600, 1971, -135140);
	check_years(0, 5, -719528);
	check_years(9996, 10000, 2932897 - 1461);
}

static void
test_format(void **state)
{
	static const struct {
		int64_t ms;
		const char *text;
	} rows[] = {
	    {0, "1970-01-01T00:00:00.000Z"},
	    {-1, "1969-12-31T23:59:59.999Z"},
	    {INT64_C(951827696789), "2000-02-29T12:34:56.789Z"},
	    {INT64_C(253402300799999), "9999-12-31T23:59:59.999Z"},
	    {INT64_C(253402300800000), "9999-12-31T23:59:59.999Z"},
	    {INT64_MAX, "9999-12-31T23:59:59.999Z"},
	    {INT64_C(-62167219200000), "0000-01-01T00:00:00.000Z"},
	    {INT64_MIN, "0000-01-01T00:00:00.000Z"},
	};
	char got[CLK_RFC3339_SIZE];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		clk_format_rfc3339(rows[i].ms, got);
		assert_string_equal(got, rows[i].text);
	}
}

static void
test_parse(void **state)
{
	static const struct {
		const char *text;
		int64_t ms;
	} rows[] = {
	    {"1970-01-01T00:00:00Z", 0},
	    {"1970-01-01t00:00:00z", 0},
	    {"1970-01-01T00:00:00.5Z", 500},
	    {"1970-01-01T00:00:00.12Z", 120},
	    {"1970-01-01T00:00:00.123999999Z", 123},
	    {"1970-01-01T00:00:00.000999999Z", 0},
	    {"1969-12-31T23:59:59.5Z", -500},
	    {"1970-01-01T02:00:00+02:00", 0},
	    {"1969-12-31T16:29:00-07:31", 0},
	    {"1970-01-01T00:00:00-00:00", 0},
	    {"1970-01-01T23:59:00+23:59", 0},
	    {"1985-04-12T23:20:50.52Z", INT64_C(482196050520)},
	    {"1996-12-19T16:39:57-08:00", INT64_C(851042397000)},
	    {"1990-12-31T23:59:60Z", INT64_C(662688000000)},
	    {"1990-12-31T15:59:60-08:00", INT64_C(662688000000)},
	    {"1937-01-01T12:00:27.87+00:20", INT64_C(-1041337172130)},
	    {"0000-01-01T00:00:00Z", INT64_C(-62167219200000)},
	    {"9999-12-31T23:59:59.999Z", INT64_C(253402300799999)},
	};
	int64_t ms;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ms = 12345;
		assert_int_equal(clk_parse_rfc3339(rows[i].text, &ms), 0);
		assert_int_equal(ms, rows[i].ms);
	}
}

static void
test_parse_refuses(void **state)
{
	static const char *const rows[] = {"", "1970", "1970-01-01",
	    "1970-01-01T00:00:00", "1970-01-01 00:00:00Z", "1970-01-01T00:00Z",
	    "1970-1-01T00:00:00Z", "1970-00-01T00:00:00Z",
	    "1970-13-01T00:00:00Z", "1970-01-00T00:00:00Z",
	    "1970-01-32T00:00:00Z", "1970-04-31T00:00:00Z",
	    "1970-02-29T00:00:00Z", "1900-02-29T00:00:00Z",
	    "1970-01-01T24:00:00Z", "1970-01-01T00:60:00Z",
	    "1970-01-01T00:00:61Z", "1970-01-01T00:00:60Z",
	    "1990-12-31T23:59:60-08:00", "1970-01-01T00:00:00.Z",
	    "1970-01-01T00:00:00,5Z", "1970-01-01T00:00:00.1234567890Z",
	    "1970-01-01T00:00:00+0200", "1970-01-01T00:00:00+02",
	    "1970-01-01T00:00:00+24:00", "1970-01-01T00:00:00+02:60",
	    "1970-01-01T00:00:00Zx", " 1970-01-01T00:00:00Z",
	    "+1970-01-01T00:00:00Z", "-970-01-01T00:00:00Z",
	    "1970-01-01T00:00:00Z ", "19700-01-01T00:00:00Z",
	    "1970-01-01T00:00:0\xc2\xb2Z", "0000-01-01T00:00:00+00:01",
	    "9999-12-31T23:59:59-00:01"};
	int64_t ms = 12345;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (clk_parse_rfc3339(rows[i], &ms) != -1)
			fail_msg("accepted: %s", rows[i]);
		assert_int_equal(ms, 12345);
	}
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_system_clock),
	    cmocka_unit_test(test_fake_clock),
	    cmocka_unit_test(test_calendar),
	    cmocka_unit_test(test_format),
	    cmocka_unit_test(test_parse),
	    cmocka_unit_test(test_parse_refuses),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
