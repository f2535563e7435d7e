/* SPDX-License-Identifier: MIT */
/*
 * The schedule by which a message or receipt is offered again to another server
 * that has refused it for now, or has answered without a result for it.
 *
 * If that server cannot be reached, or fails as a whole (such as HTTP 500),
 * this does not count as a refusal: the circuit breaker (model/breaker.h)
 * delays the message, and its retries stay as they are.
 *
 * Requirements R43 to R47 and R346 to R354 (docs/requirements.md).
 */
#ifndef MODEL_RETRY_H
#define MODEL_RETRY_H

#include <stdint.h>

/* The longest wait that a destination may ask for (Retry-After). */
#define RETRY_HINT_MAX_MS INT64_C(3600000)

/* The values of the setting retry-profile, in this order. */
enum retry_profile {
	RETRY_CHAT, /* 1 2 4 8 16 32 60 s, then each 60 s, 10 times */
	RETRY_RELAY /* 30 s, 1, 2, 5 min, then each 5 min, 5 times */
};

/* Returns how often a message may be refused and offered again. */
int retry_most(enum retry_profile profile);

/* Returns how many milliseconds to wait after a refusal of a message that was
 * refused ${retry_count} times before.  ${hint_ms} is the wait that the
 * destination asked for: if it is above 0, it is returned without a random
 * factor, cut at RETRY_HINT_MAX_MS.  Otherwise the result is the delay of the
 * schedule (the last one for all further refusals), times 0.8 to 1.2 by
 * ${random} (any number). */
int64_t retry_delay_ms(enum retry_profile profile, int retry_count,
    int64_t hint_ms, uint32_t random);

#endif
