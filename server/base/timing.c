/* SPDX-License-Identifier: MIT */
/*
 * See timing.h.
 */
#include "base/timing.h"

#ifdef TWINBOX_FAULTS
#include <pthread.h>

#include "base/fault.h"

#define SCALE_MAX 100
#endif

static const struct timing table = {
#define X(name, ms, meaning) .name##_ms = (ms),
    TIMING_TABLE(X)
#undef X
};

const struct timing *
timing_real(void)
{

	return (&table);
}

#ifdef TWINBOX_FAULTS

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct timing scaled;

static void
scale(void)
{
	const int64_t by = fault_number("TWINBOX_TIME_SCALE", 1, SCALE_MAX);

#define X(name, ms, meaning) scaled.name##_ms = ((ms) + by - 1) / by;
	TIMING_TABLE(X)
#undef X
}

const struct timing *
timing_process(void)
{

	(void)pthread_once(&once, scale);
	return (&scaled);
}

#else

const struct timing *
timing_process(void)
{

	return (&table);
}

#endif
