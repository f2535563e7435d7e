/* SPDX-License-Identifier: MIT */
/*
 * The wait before the next attempt, with full jitter: a random time between 0
 * and min(20 s, 0.5 s x 2^n), where n is 0 after the first failure and grows by
 * 1 with each further failure in a row.  The jitter spreads the clients of a
 * server that comes back, so that they do not all reconnect at once.
 */
#ifndef LIB_BACKOFF_H
#define LIB_BACKOFF_H

#include <stdint.h>

#include "base/rnd.h"

#define BACKOFF_FIRST_MS 500
#define BACKOFF_CAP_MS 20000

/* Returns a random wait in ms, from 0 to min(BACKOFF_CAP_MS, BACKOFF_FIRST_MS x
 * 2^${failures}).  ${failures} is the number of failures in a row without the
 * latest one: 0 for the first retry. */
static inline int64_t
backoff_ms(struct rnd *rnd, int failures)
{
	int64_t most = BACKOFF_CAP_MS;

	if (failures < 0)
		failures = 0;
	if (failures < 6)
		most = (int64_t)BACKOFF_FIRST_MS << failures;
	if (most > BACKOFF_CAP_MS)
		most = BACKOFF_CAP_MS;
	return ((int64_t)rnd_below(rnd, (uint64_t)most + 1));
}

#endif
