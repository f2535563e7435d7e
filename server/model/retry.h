/* SPDX-License-Identifier: MIT */
/*
 * When a message that its destination would not take is offered again.
 *
 * The schedule is for what the destination refuses to take now.  That it cannot
 * be reached at all costs a message nothing: that is the breaker's (breaker.h).
 * Source: DESIGN section 5, "Retry"; REQUIREMENTS R43 to R47, R346 to R354.
 */
#ifndef MODEL_RETRY_H
#define MODEL_RETRY_H

#include <stdint.h>

/* The longest that a destination may ask us to wait (Retry-After). */
#define RETRY_HINT_MAX_MS INT64_C(3600000)

/* The values of the setting retry-profile, in this order. */
enum retry_profile {
	RETRY_CHAT, /* 1 2 4 8 16 32 60 s, then each 60 s, 10 times */
	RETRY_RELAY /* 30 s, 1, 2, 5 min, then each 5 min, 5 times */
};

/* How often a message may be refused and offered again. */
int retry_most(enum retry_profile profile);

/* How long to wait after a refusal, when ${retry_count} have come before it:
 * the schedule, times 0.8 to 1.2 by ${random} (any number).  ${hint_ms} (0:
 * none) is what the destination asked for, which wins, up to
 * RETRY_HINT_MAX_MS. */
int64_t retry_delay_ms(enum retry_profile profile, int retry_count,
    int64_t hint_ms, uint32_t random);

#endif
