/* SPDX-License-Identifier: MIT */
/*
 * See retry.h.
 */
#include <stddef.h>

#include "model/retry.h"

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

static const int64_t chat[] = {1000, 2000, 4000, 8000, 16000, 32000, 60000};
static const int64_t relay[] = {30000, 60000, 120000, 300000};

static const struct {
	const int64_t *delays;
	size_t n;
	int most;
} profiles[] = {
    [RETRY_CHAT] = {chat, LEN(chat), 10},
    [RETRY_RELAY] = {relay, LEN(relay), 5},
};

int
retry_most(enum retry_profile profile)
{

	return (profiles[profile].most);
}

int64_t
retry_delay_ms(enum retry_profile profile, int retry_count, int64_t hint_ms,
    uint32_t random)
{
	int64_t delay;
	size_t i;

	if (hint_ms > 0)
		return (
		    hint_ms < RETRY_HINT_MAX_MS ? hint_ms : RETRY_HINT_MAX_MS);
	i = retry_count < 0 ? 0 : (size_t)retry_count;
	if (i >= profiles[profile].n)
		i = profiles[profile].n - 1;
	delay = profiles[profile].delays[i];
	/* A random factor of 0.8 to 1.2, in steps of a thousandth. */
	return (delay * (800 + (int64_t)(random % 401)) / 1000);
}
