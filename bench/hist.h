/* SPDX-License-Identifier: MIT */
/*
 * A histogram of times: 128 steps to each power of two, so that a percentile
 * is right to 0.8 %; the extremes are kept exactly.
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

/* The time in microseconds that ${percent} of those counted do not pass; 0
 * when there is none. */
double hist_us(const struct hist *h, double percent);

/* The longest in microseconds. */
double hist_max_us(const struct hist *h);

#endif
