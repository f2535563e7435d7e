/* SPDX-License-Identifier: MIT */
/*
 * A histogram of times with 128 steps in each power of two, so that a
 * percentile is at most 0.8 % too high.  The shortest and the longest time are
 * exact.
 */
#ifndef BENCH_HIST_H
#define BENCH_HIST_H

#include <stdint.h>

#define HIST_STEPS 128
#define HIST_POWERS 40 /* up to 2^46 ns, 19 hours */

struct hist {
	uint64_t count;
	int64_t min_ns;
	int64_t max_ns;
	uint64_t slot[HIST_POWERS * HIST_STEPS];
};

/* Counts one time. */
void hist_add(struct hist *h, int64_t ns);

/* Returns the percentile: the time in microseconds that ${percent} % of the
 * counted times do not exceed.  Returns 0 if nothing was counted. */
double hist_us(const struct hist *h, double percent);

/* Returns the longest time in microseconds. */
double hist_max_us(const struct hist *h);

#endif
