/* SPDX-License-Identifier: MIT */
/*
 * See breaker.h.
 */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "model/breaker.h"
#include "model/retry.h"

static const char *const names[BREAKER_STATES] = {
#define X(id, name) name,
    BREAKER_STATE_TABLE(X)
#undef X
};

const char *
breaker_state_name(enum breaker_state state)
{

	return (names[state]);
}

int
breaker_state_parse(const char *name)
{
	int i;

	for (i = 0; i < BREAKER_STATES; i++)
		if (strcmp(names[i], name) == 0)
			return (i);
	return (-1);
}

bool
breaker_move_allowed(enum breaker_state from, enum breaker_state to)
{
	static const unsigned moves[BREAKER_STATES] = {
	    [BREAKER_CLOSED] = 1u << BREAKER_OPEN,
	    [BREAKER_OPEN] = 1u << BREAKER_HALF_OPEN | 1u << BREAKER_OPEN,
	    [BREAKER_HALF_OPEN] = 1u << BREAKER_CLOSED | 1u << BREAKER_OPEN,
	};

	return ((moves[from] & 1u << to) != 0);
}

static void
move(struct breaker *b, enum breaker_state to)
{

	assert(breaker_move_allowed(b->state, to));
	b->state = to;
	b->successes = 0;
}

void
breaker_init(struct breaker *b)
{

	memset(b, 0, sizeof(*b));
	b->window_milli = 1000;
}

int
breaker_window(const struct breaker *b)
{

	return (b->state == BREAKER_CLOSED ? b->window_milli / 1000 : 1);
}

/* Returns true if the breaker does not wait at ${now_ms}: next_probe_at is not
 * in the future (0: no failure since the last success has set a wait), or is
 * more than BREAKER_SANE_MS in the future, which shows that the wall clock was
 * set back. */
static bool
waited(const struct breaker *b, int64_t now_ms)
{

	return (b->next_probe_at <= now_ms ||
		b->next_probe_at > now_ms + BREAKER_SANE_MS);
}

bool
breaker_admits(const struct breaker *b, int in_flight, int64_t now_ms)
{

	return (in_flight < breaker_window(b) && waited(b, now_ms));
}

int64_t
breaker_next(const struct breaker *b, int64_t now_ms)
{

	return (waited(b, now_ms) ? 0 : b->next_probe_at);
}

bool
breaker_leave(struct breaker *b, int64_t now_ms)
{

	if (b->state != BREAKER_OPEN || !waited(b, now_ms))
		return (false);
	move(b, BREAKER_HALF_OPEN);
	return (true);
}

int
breaker_batch(const struct breaker *b, int most)
{

	return (b->state == BREAKER_CLOSED ? most : 1);
}

static void
close_it(struct breaker *b)
{

	move(b, BREAKER_CLOSED);
	b->failures = 0;
	b->interval_ms = 0;
	b->failing_since = 0;
	b->window_milli = 1000;
}

/* Returns true if the last failure that was counted was at least
 * BREAKER_CALM_MS ago, or if there was none: then each success widens the
 * window by one batch, otherwise by 1/window of a batch. */
static bool
is_calm(const struct breaker *b, int64_t now_ms)
{

	return (b->last_failure_at == 0 ||
		now_ms - b->last_failure_at >= BREAKER_CALM_MS);
}

bool
breaker_success(struct breaker *b, int64_t now_ms)
{
	bool changed = b->failures > 0 || b->last_success_at == 0;

	b->last_success_at = now_ms;
	b->next_probe_at = 0;
	if (b->state != BREAKER_CLOSED) {
		/* The batch may have left before the breaker opened. */
		if (b->state == BREAKER_OPEN)
			move(b, BREAKER_HALF_OPEN);
		if (++b->successes >= BREAKER_SUCCESSES)
			close_it(b);
		return (true);
	}
	if (b->failures > 0 && --b->failures == 0)
		b->failing_since = 0;
	b->window_milli +=
	    is_calm(b, now_ms) ? 1000 : 1000000 / b->window_milli;
	if (b->window_milli > BREAKER_WINDOW_MAX * 1000)
		b->window_milli = BREAKER_WINDOW_MAX * 1000;
	return (changed);
}

/* Opens the breaker and doubles its interval (at first breaker_first_ms), at
 * most to breaker_most_ms.  The wait until the next probe is ${hint_ms} as it
 * is or, if that is 0, the interval times a random 0.8 to 1.4, again at most
 * breaker_most_ms. */
static void
open_it(struct breaker *b, int64_t now_ms, int64_t hint_ms, uint32_t random,
    const struct timing *t)
{
	int64_t wait;

	move(b, BREAKER_OPEN);
	b->interval_ms =
	    b->interval_ms == 0 ? t->breaker_first_ms : b->interval_ms * 2;
	if (b->interval_ms > t->breaker_most_ms)
		b->interval_ms = t->breaker_most_ms;
	wait = b->interval_ms * (800 + (int64_t)(random % 601)) / 1000;
	if (wait > t->breaker_most_ms)
		wait = t->breaker_most_ms;
	b->next_probe_at = now_ms + (hint_ms > 0 ? hint_ms : wait);
}

bool
breaker_failure(struct breaker *b, int64_t left_ms, int64_t now_ms,
    int64_t hint_ms, uint32_t random, const struct timing *timing)
{
	int64_t wait;

	if (hint_ms > RETRY_HINT_MAX_MS)
		hint_ms = RETRY_HINT_MAX_MS;
	/* A batch that left before the last failure was known belongs to the
	 * same outage, so its failure is not counted again.  Two exceptions, in
	 * which the failure counts: the breaker is half_open, or
	 * last_failure_at lies in the future because the wall clock was set
	 * back. */
	if (b->last_failure_at != 0 && left_ms <= b->last_failure_at &&
	    b->last_failure_at <= now_ms && b->state != BREAKER_HALF_OPEN)
		return (false);
	if (b->failing_since == 0)
		b->failing_since = now_ms;
	b->last_failure_at = now_ms;
	b->failures++;
	b->window_milli = 1000;
	if (b->state != BREAKER_CLOSED || b->failures >= BREAKER_FAILURES) {
		open_it(b, now_ms, hint_ms, random, timing);
		return (true);
	}
	wait = timing->breaker_pause_ms << (b->failures - 1);
	b->next_probe_at = now_ms + (hint_ms > 0 ? hint_ms : wait);
	return (true);
}

bool
breaker_contact(struct breaker *b, int64_t now_ms)
{

	if (waited(b, now_ms))
		return (false);
	b->next_probe_at = now_ms;
	return (true);
}
