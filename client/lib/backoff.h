/* SPDX-License-Identifier: MIT */
/*
 * How long to wait before the next try: full jitter, that is, any time up to
 * 0.5 s x 2^n, at most 20 s, so that the clients of a server that comes back
 * do not all come at once.
 */
#ifndef LIB_BACKOFF_H
#define LIB_BACKOFF_H

#include <stdint.h>

#include "base/rnd.h"

#define BACKOFF_FIRST_MS 500
#define BACKOFF_CAP_MS 20000

/* The wait before the try after ${failures} (0, 1, 2 …) failed ones. */
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
