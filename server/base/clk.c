/* SPDX-License-Identifier: MIT */
/*
 * The machine's clocks, the fake clock, and RFC 3339.  Owns no state but, in
 * builds with --enable-faults, the offset that a test adds to the machine's
 * wall clock.  Promises that formatting and parsing are arithmetic only
 * (proleptic Gregorian calendar, no locale, no time zone files, no locks), for
 * the years 0 to 9999.
 */
#include "base/clk.h"

#include <stdbool.h>
#include <string.h>
#include <time.h>

#ifdef TWINBOX_FAULTS
#include <pthread.h>
#include <stdlib.h>

#define OFFSET_VARIABLE "TWINBOX_CLOCK_OFFSET"
#define OFFSET_MAX_S INT64_C(1000000000)
#endif

#define DAY_MS INT64_C(86400000)
#define MIN_MS (INT64_C(-719528) * DAY_MS)     /* 0000-01-01T00:00:00.000Z */
#define MAX_MS (INT64_C(2932897) * DAY_MS - 1) /* 9999-12-31T23:59:59.999Z */

#ifdef TWINBOX_FAULTS

static pthread_once_t offset_once = PTHREAD_ONCE_INIT;
static int64_t offset_ms;

/* Sets offset_ms from the environment variable TWINBOX_CLOCK_OFFSET: a number
 * of seconds such as "60" or "-5", which a test adds to the wall clock of this
 * program.  If the text is anything else, offset_ms stays 0.  The number has at
 * most ten digits after leading zeros; further digits are ignored. */
static void
read_offset(void)
{
	const char *text = getenv(OFFSET_VARIABLE);
	const bool back = text != NULL && *text == '-';
	int64_t s = 0;

	if (text == NULL)
		return;
	for (text += back ? 1 : 0; *text >= '0' && *text <= '9'; text++)
		if (s < OFFSET_MAX_S)
			s = s * 10 + (*text - '0');
	if (*text == '\0')
		offset_ms = (back ? -s : s) * 1000;
}
#endif

static int64_t
system_wall_ms(const struct clk *clk)
{
	struct timespec ts;
	int64_t ms;

	(void)clk;
	(void)clock_gettime(CLOCK_REALTIME, &ts);
	ms = (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
#ifdef TWINBOX_FAULTS
	(void)pthread_once(&offset_once, read_offset);
	ms += offset_ms;
#endif
	return (ms);
}

static int64_t
system_mono_us(const struct clk *clk)
{
	struct timespec ts;

	(void)clk;
	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return ((int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000);
}

const struct clk *
clk_system(void)
{
	static const struct clk clk = {system_wall_ms, system_mono_us};

	return (&clk);
}

static int64_t
fake_wall_ms(const struct clk *clk)
{
	const struct clk_fake *fake = (const void *)clk;

	return (fake->wall_ms);
}

static int64_t
fake_mono_us(const struct clk *clk)
{
	const struct clk_fake *fake = (const void *)clk;

	return (fake->mono_us);
}

void
clk_fake_init(struct clk_fake *fake, int64_t wall_ms)
{

	fake->clk.wall_ms = fake_wall_ms;
	fake->clk.mono_us = fake_mono_us;
	fake->wall_ms = wall_ms;
	fake->mono_us = 0;
}

void
clk_fake_advance(struct clk_fake *fake, int64_t ms)
{

	fake->wall_ms += ms;
	fake->mono_us += ms * 1000;
}

static inline char *
put2(char *p, uint32_t n)
{

	p[0] = (char)('0' + n / 10);
	p[1] = (char)('0' + n % 10);
	return (p + 2);
}

/*
 * Writes the date of ${day}, counted from 1970-01-01, as YYYY-MM-DD to ${p} and
 * returns the place behind it.  The calculation begins the year in March, so
 * that a leap day is the last day of its year and month m (0 = March) begins on
 * day (153 m + 2) / 5.  400 years, an era, have 146,097 days.  One era is added
 * to the day and subtracted from the year again, so that all numbers are
 * positive from the year 0 on.
 */
static char *
put_date(char *p, int64_t day)
{
	uint32_t z, era, doe, yoe, doy, mp, y, m;

	z = (uint32_t)(day + 719468 + 146097);
	era = z / 146097;
	doe = z % 146097;
	yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
	mp = (5 * doy + 2) / 153;
	m = mp < 10 ? mp + 3 : mp - 9;
	y = yoe + era * 400 - 400 + (m <= 2 ? 1 : 0);
	p = put2(p, y / 100);
	p = put2(p, y % 100);
	*p++ = '-';
	p = put2(p, m);
	*p++ = '-';
	return (put2(p, doy - (153 * mp + 2) / 5 + 1));
}

void
clk_format_rfc3339(int64_t ms, char ret[CLK_RFC3339_SIZE])
{
	int64_t day;
	uint32_t rest;
	char *p;

	if (ms < MIN_MS)
		ms = MIN_MS;
	if (ms > MAX_MS)
		ms = MAX_MS;
	day = (ms - MIN_MS) / DAY_MS + MIN_MS / DAY_MS;
	rest = (uint32_t)(ms - day * DAY_MS);
	p = put_date(ret, day);
	*p++ = 'T';
	p = put2(p, rest / 3600000);
	*p++ = ':';
	p = put2(p, rest / 60000 % 60);
	*p++ = ':';
	p = put2(p, rest / 1000 % 60);
	*p++ = '.';
	*p++ = (char)('0' + rest / 100 % 10);
	p = put2(p, rest % 100);
	*p++ = 'Z';
	*p = '\0';
}

/* Reads exactly ${n} digits. */
static bool
take_digits(const char **p, int n, int *ret)
{
	int value = 0;

	for (; n > 0; n--, (*p)++) {
		if (**p < '0' || **p > '9')
			return (false);
		value = value * 10 + (**p - '0');
	}
	*ret = value;
	return (true);
}

static bool
take_char(const char **p, char c)
{

	if (**p != c)
		return (false);
	(*p)++;
	return (true);
}

/* Returns the days from 1970-01-01 to a date: the inverse of put_date(). */
static int64_t
day_of(int y, int m, int d)
{
	int64_t year, era, yoe, doy;

	year = y + 400 - (m <= 2 ? 1 : 0);
	era = year / 400;
	yoe = year % 400;
	doy = (153 * (m > 2 ? m - 3 : m + 9) + 2) / 5 + d - 1;
	return (era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468 -
		146097);
}

static int
days_in_month(int y, int m)
{
	static const int days[] = {
	    31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

	if (m == 2 && y % 4 == 0 && (y % 100 != 0 || y % 400 == 0))
		return (29);
	return (days[m - 1]);
}

static bool
take_date(const char **p, int64_t *ret_day)
{
	int y, m, d;

	if (!take_digits(p, 4, &y) || !take_char(p, '-') ||
	    !take_digits(p, 2, &m) || !take_char(p, '-') ||
	    !take_digits(p, 2, &d))
		return (false);
	if (m < 1 || m > 12 || d < 1 || d > days_in_month(y, m))
		return (false);
	*ret_day = day_of(y, m, d);
	return (true);
}

/* Reads hh:mm:ss and up to 9 decimals.  Sets *ret_leap if the second is 60. */
static bool
take_time(const char **p, int64_t *ret_ms, bool *ret_leap)
{
	int h, m, s, n, frac = 0;

	if (!take_digits(p, 2, &h) || !take_char(p, ':') ||
	    !take_digits(p, 2, &m) || !take_char(p, ':') ||
	    !take_digits(p, 2, &s) || h > 23 || m > 59 || s > 60)
		return (false);
	if (take_char(p, '.')) {
		for (n = 0; **p >= '0' && **p <= '9'; n++, (*p)++) {
			if (n < 3)
				frac = frac * 10 + (**p - '0');
		}
		if (n < 1 || n > 9)
			return (false);
		for (; n < 3; n++)
			frac *= 10;
	}
	*ret_ms = ((int64_t)h * 3600 + m * 60 + s) * 1000 + frac;
	*ret_leap = s == 60;
	return (true);
}

static bool
take_offset(const char **p, int64_t *ret_ms)
{
	int64_t sign;
	int h, m;

	*ret_ms = 0;
	if (take_char(p, 'Z') || take_char(p, 'z'))
		return (true);
	if (take_char(p, '+'))
		sign = 1;
	else if (take_char(p, '-'))
		sign = -1;
	else
		return (false);
	if (!take_digits(p, 2, &h) || !take_char(p, ':') ||
	    !take_digits(p, 2, &m) || h > 23 || m > 59)
		return (false);
	*ret_ms = sign * (h * 60 + m) * 60000;
	return (true);
}

/* Returns true if ${ms} is in the first second of a month, in UTC.  The caller
 * has read a time hh:mm:60 and converted it to ${ms}, in the second after it.
 * The time can be a leap second only if this function returns true: leap
 * seconds are inserted as 23:59:60 UTC on the last day of a month. */
static bool
may_be_leap(int64_t ms)
{
	char text[CLK_RFC3339_SIZE];

	clk_format_rfc3339(ms, text);
	return (strncmp(text + 7, "-01T00:00:00", 12) == 0);
}

int
clk_parse_rfc3339(const char *text, int64_t *ret_ms)
{
	int64_t day, ms, offset;
	const char *p = text;
	bool leap;

	if (!take_date(&p, &day) ||
	    (!take_char(&p, 'T') && !take_char(&p, 't')))
		return (-1);
	if (!take_time(&p, &ms, &leap) || !take_offset(&p, &offset) ||
	    *p != '\0')
		return (-1);
	ms += day * DAY_MS - offset;
	if (ms < MIN_MS || ms > MAX_MS || (leap && !may_be_leap(ms)))
		return (-1);
	*ret_ms = ms;
	return (0);
}
