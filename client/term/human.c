/* SPDX-License-Identifier: MIT */
/*
 * Numbers in readable form.  A server may send any number, also a huge or a
 * negative one; the width of the text is limited for all of them.
 */
#include "term/human.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SECOND_MS INT64_C(1000)
#define MINUTE_MS (60 * SECOND_MS)
#define HOUR_MS (60 * MINUTE_MS)
#define DAY_MS (24 * HOUR_MS)

void
human_count(struct buf *b, int64_t n)
{
	char digits[24];
	size_t len, i;

	(void)snprintf(digits, sizeof(digits), "%lld", (long long)n);
	len = strlen(digits);
	for (i = 0; i < len; i++) {
		if (i > 0 && (len - i) % 3 == 0 && digits[i - 1] != '-')
			buf_addc(b, ',');
		buf_addc(b, digits[i]);
	}
}

/* Appends ${n}, given in units[0], in the largest of ${units} in which its
 * absolute value is at least 1 (units[0] if there is none).  The value in that
 * unit gets one decimal if it is below 9.95, otherwise none.  Each unit is
 * ${step} times the one before; NULL ends ${units}. */
static void
add_scaled(struct buf *b, double n, double step, const char *const *units)
{

	for (; fabs(n) >= step && units[1] != NULL; units++)
		n /= step;
	/* Without this bound 9.96 would become "10.0". */
	if (fabs(n) < 9.95)
		buf_addf(b, "%.1f%s", n, *units);
	else
		buf_addf(b, "%.0f%s", n, *units);
}

static const char *const thousands[] = {"", "k", "M", "G", "T", "P", "E", NULL};

void
human_short(struct buf *b, int64_t n)
{

	if (n > -10000 && n < 100000)
		buf_addi(b, n);
	else
		add_scaled(b, (double)n, 1000, thousands);
}

void
human_rate(struct buf *b, double per_second)
{

	if (per_second <= 0)
		buf_adds(b, "0");
	else if (per_second < 0.05)
		buf_adds(b, "<0.1");
	else
		add_scaled(b, per_second, 1000, thousands);
}

void
human_bytes(struct buf *b, int64_t n)
{
	static const char *const units[] = {
	    " B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB", NULL};

	if (n < 1024)
		buf_addf(b, "%lld B", (long long)n);
	else
		add_scaled(b, (double)n, 1024, units);
}

void
human_percent(struct buf *b, double part)
{

	if (part > 0 && part < 0.0005)
		buf_adds(b, "<0.1%");
	else if (part >= 10)
		buf_adds(b, ">999%");
	else
		buf_addf(b, part < 0.0995 ? "%.1f%%" : "%.0f%%", part * 100);
}

/* Appends ${ms} in ${unit} and the rest in ${smaller}, unless the rest is 0. */
static void
add_two(struct buf *b, int64_t ms, int64_t unit, char name, int64_t smaller,
    char smaller_name)
{

	buf_addf(b, "%lld%c", (long long)(ms / unit), name);
	if (ms % unit >= smaller)
		buf_addf(b, " %lld%c", (long long)(ms % unit / smaller),
		    smaller_name);
}

void
human_span(struct buf *b, int64_t ms)
{

	if (ms <= 0)
		buf_adds(b, "0s");
	else if (ms < SECOND_MS)
		buf_addf(b, "%lldms", (long long)ms);
	else if (ms < 10 * SECOND_MS && ms % SECOND_MS >= 100)
		buf_addf(b, "%lld.%llds", (long long)(ms / SECOND_MS),
		    (long long)(ms % SECOND_MS / 100));
	else if (ms < MINUTE_MS)
		buf_addf(b, "%llds", (long long)(ms / SECOND_MS));
	else if (ms < HOUR_MS)
		add_two(b, ms, MINUTE_MS, 'm', SECOND_MS, 's');
	else if (ms < DAY_MS)
		add_two(b, ms, HOUR_MS, 'h', MINUTE_MS, 'm');
	else if (ms < 100 * DAY_MS)
		add_two(b, ms, DAY_MS, 'd', HOUR_MS, 'h');
	else
		buf_addf(b, "%lldd", (long long)(ms / DAY_MS));
}

void
human_limit(struct buf *b, int64_t ms)
{

	if (ms >= DAY_MS && ms % DAY_MS == 0)
		buf_addf(b, "%lldd", (long long)(ms / DAY_MS));
	else if (ms >= MINUTE_MS && ms % MINUTE_MS == 0)
		buf_addf(b, "%lldm", (long long)(ms / MINUTE_MS));
	else if (ms % SECOND_MS == 0)
		buf_addf(b, "%llds", (long long)(ms / SECOND_MS));
	else
		buf_addf(b, "%lldms", (long long)ms);
}

void
human_time(struct buf *b, const struct look *look, int64_t ms)
{
	time_t then = (time_t)(ms / SECOND_MS);
	time_t now = (time_t)(look->now_ms / SECOND_MS);
	struct tm tm, today;
	char text[40];
	size_t n;

	if (ms == 0 || localtime_r(&then, &tm) == NULL ||
	    localtime_r(&now, &today) == NULL) {
		buf_adds(b, "-");
		return;
	}
	if (tm.tm_year != today.tm_year)
		n = strftime(text, sizeof(text), "%d %b %Y %H:%M:%S", &tm);
	else if (tm.tm_yday != today.tm_yday)
		n = strftime(text, sizeof(text), "%d %b %H:%M:%S", &tm);
	else
		n = strftime(text, sizeof(text), "%H:%M:%S", &tm);
	buf_add(b, text, n);
}

void
human_bars(struct buf *b, const double *values, size_t n)
{
	static const char *const bars[] = {
	    "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	double most = 0;
	size_t i;

	for (i = 0; i < n; i++)
		most = values[i] > most ? values[i] : most;
	for (i = 0; i < n; i++) {
		if (values[i] < 0)
			buf_addc(b, ' ');
		else if (most <= 0)
			buf_adds(b, bars[0]);
		else
			buf_adds(b, bars[(size_t)(values[i] / most * 7 + 0.5)]);
	}
}
