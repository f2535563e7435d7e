/* SPDX-License-Identifier: MIT */
/*
 * The fake clock and the fake random numbers.
 */
#include "unit/fake_time.h"

#include "base/clk.h"
#include "base/rnd.h"

#define WALL_START_MS 1893456000000 /* 2030-01-01 */
#define MONO_START_MS 1000000       /* some callers use 0 for "never" */

static int64_t passed_ms;

void
fake_time_start(void)
{

	passed_ms = 0;
}

void
fake_time_move(int64_t ms)
{

	passed_ms += ms;
}

int64_t
fake_time_ms(void)
{

	return (passed_ms);
}

static int64_t
fake_wall_ms(const struct clk *clk)
{

	(void)clk;
	return (WALL_START_MS + passed_ms);
}

static int64_t
fake_mono_us(const struct clk *clk)
{

	(void)clk;
	return ((MONO_START_MS + passed_ms) * 1000);
}

const struct clk *
clk_system(void)
{
	static const struct clk fake = {
	    .wall_ms = fake_wall_ms, .mono_us = fake_mono_us};

	return (&fake);
}

uint64_t
rnd_below(struct rnd *rnd, uint64_t bound)
{

	(void)rnd;
	return (bound - 1);
}
