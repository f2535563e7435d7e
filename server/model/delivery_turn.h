/* SPDX-License-Identifier: MIT */
/*
 * Decides whether a lane (the queue of the outbox rows of one conversation to
 * one recipient) to an inbox of this server may deliver now.  Two callers share
 * this rule: the relay's transaction, which delivers the waiting rows of lanes,
 * and a transaction that adds a row and may deliver that row itself.
 */
#ifndef MODEL_DELIVERY_TURN_H
#define MODEL_DELIVERY_TURN_H

#include <stdbool.h>
#include <stdint.h>

struct delivery_lane {
	int64_t next_seq; /* the first place that is not settled */
	int64_t tail_seq; /* the last place that was assigned */
	int64_t due_at;   /* wall time; no row leaves before */
	bool paused;      /* by an operator: all deliveries, or local ones */
};

enum delivery_turn {
	DELIVERY_NOTHING, /* no row waits in the lane */
	DELIVERY_LATER,   /* rows wait, and none may leave yet */
	DELIVERY_NOW      /* the waiting rows may leave in their order */
};

static inline enum delivery_turn
delivery_turn(const struct delivery_lane *lane, int64_t now_ms)
{

	if (lane->next_seq > lane->tail_seq)
		return (DELIVERY_NOTHING);
	return (lane->paused || lane->due_at > now_ms ? DELIVERY_LATER
						      : DELIVERY_NOW);
}

/* Returns true if a row that gets the next place of ${lane} may leave at once:
 * no other row waits in the lane, and the lane may deliver now (not paused, and
 * due_at not in the future). */
static inline bool
delivery_at_once(const struct delivery_lane *lane, int64_t now_ms)
{
	struct delivery_lane with = *lane;

	with.tail_seq++;
	return (with.next_seq == with.tail_seq &&
		delivery_turn(&with, now_ms) == DELIVERY_NOW);
}

#endif
