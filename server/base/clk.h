/* SPDX-License-Identifier: MIT */
/*
 * Clocks.  Wall time (milliseconds since 1970, for stored times) and monotonic
 * time (for waiting) never mix.  Everything takes a struct clk, so that tests
 * and the simulator bring their own.
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

/* A clock that stands still until told otherwise, for tests. */
struct clk_fake {
	struct clk clk; /* first: &fake->clk is the clock */
	int64_t wall_ms;
	int64_t mono_us;
};

/* Starts ${fake} at ${wall_ms}, monotonic 0. */
void clk_fake_init(struct clk_fake *fake, int64_t wall_ms);

/* Moves both clocks of ${fake} on by ${ms}. */
void clk_fake_advance(struct clk_fake *fake, int64_t ms);

/* Room for "2026-11-21T10:20:30.123Z" and its NUL. */
#define CLK_RFC3339_SIZE 25

/* Writes wall time ${ms} as RFC 3339 in UTC with milliseconds, e.g.
 * "2026-11-21T10:20:30.123Z" (24 characters and NUL).  What lies outside the
 * years 0 to 9999 is shown as the first or last moment of them. */
void clk_format_rfc3339(int64_t ms, char ret[CLK_RFC3339_SIZE]);

/* Parses an RFC 3339 time with any offset and up to 9 decimals (what is finer
 * than a millisecond is cut off) into milliseconds; a leap second is the second
 * after it.  0 on success, -1 if it is none or leaves the years 0 to 9999 UTC.
 */
int clk_parse_rfc3339(const char *text, int64_t *ret_ms);

#endif
