/* SPDX-License-Identifier: MIT */
/*
 * Clocks.  Wall time is in milliseconds since 1970 (UTC), can be set back, and
 * is for times that are stored or shown.  Monotonic time is in microseconds
 * since an arbitrary start, never goes back, and is for waiting.  A struct clk
 * gives both; most modules get one from their caller, so that tests and the
 * simulator can pass a clock of their own.
 */
#ifndef BASE_CLK_H
#define BASE_CLK_H

#include <stdint.h>

struct clk {
	int64_t (*wall_ms)(const struct clk *clk);
	int64_t (*mono_us)(const struct clk *clk);
};

/* The machine's clocks.  Static storage.  Thread: any. */
const struct clk *clk_system(void);

static inline int64_t
clk_wall_ms(const struct clk *clk)
{

	return (clk->wall_ms(clk));
}

static inline int64_t
clk_mono_us(const struct clk *clk)
{

	return (clk->mono_us(clk));
}

static inline int64_t
clk_mono_ms(const struct clk *clk)
{

	return (clk->mono_us(clk) / 1000);
}

/* A clock for tests.  It stands still until clk_fake_advance() moves it. */
struct clk_fake {
	struct clk clk; /* first: &fake->clk is the clock */
	int64_t wall_ms;
	int64_t mono_us;
};

/* Sets the wall time of ${fake} to ${wall_ms} and its monotonic time to 0. */
void clk_fake_init(struct clk_fake *fake, int64_t wall_ms);

/* Moves both times of ${fake} forward by ${ms}. */
void clk_fake_advance(struct clk_fake *fake, int64_t ms);

/* Room for "2026-11-21T10:20:30.123Z" and its NUL. */
#define CLK_RFC3339_SIZE 25

/* Writes wall time ${ms} as RFC 3339 in UTC with milliseconds, e.g.
 * "2026-11-21T10:20:30.123Z" (24 characters and NUL).  A time outside the years
 * 0 to 9999 is written as the first or the last millisecond of these years. */
void clk_format_rfc3339(int64_t ms, char ret[CLK_RFC3339_SIZE]);

/* Parses an RFC 3339 time with any offset and up to 9 decimals, and sets
 * *ret_ms to its milliseconds since 1970.  Decimals after the third are cut
 * off.  A leap second (23:59:60 UTC at the end of a month) becomes the second
 * after it; any other second 60 is refused.  Returns 0, or -1, with *ret_ms
 * unchanged, if ${text} is not such a time or lies outside the years 0 to 9999
 * in UTC. */
int clk_parse_rfc3339(const char *text, int64_t *ret_ms);

#endif
