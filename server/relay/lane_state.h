/* SPDX-License-Identifier: MIT */
/*
 * The states of a local lane in the relay's schedule, and the moves between
 * them.  A local lane is the queue of the messages, or of the receipts, of one
 * conversation to one user of this server.  A test compares this drawing with
 * schedule_lane_allows().
 *
 *	GONE --woken--> READY
 *	READY --taken for a delivery--> BUSY
 *	BUSY --woken--> WOKEN
 *	BUSY, WOKEN --it has more work, or its delivery failed--> READY
 *	BUSY --no more work is known--> GONE
 *
 *	GONE   is not in the schedule, because no message is known that a
 *	       delivery could take now
 *	READY  waits in a queue, by priority
 *	BUSY   its delivery is with the writer
 *	WOKEN  as BUSY, and it has new work that this delivery may not have seen
 */
#ifndef RELAY_LANE_STATE_H
#define RELAY_LANE_STATE_H

#include <stdbool.h>

enum schedule_lane_state {
	SCHEDULE_LANE_GONE,
	SCHEDULE_LANE_READY,
	SCHEDULE_LANE_BUSY,
	SCHEDULE_LANE_WOKEN,
	SCHEDULE_LANE_STATES
};

/* Returns true if a lane may go from ${from} to ${to}. */
static inline bool
schedule_lane_allows(enum schedule_lane_state from, enum schedule_lane_state to)
{
	static const unsigned moves[SCHEDULE_LANE_STATES] = {
	    [SCHEDULE_LANE_GONE] = 1u << SCHEDULE_LANE_READY,
	    [SCHEDULE_LANE_READY] = 1u << SCHEDULE_LANE_BUSY,
	    [SCHEDULE_LANE_BUSY] = 1u << SCHEDULE_LANE_WOKEN |
				   1u << SCHEDULE_LANE_READY |
				   1u << SCHEDULE_LANE_GONE,
	    [SCHEDULE_LANE_WOKEN] = 1u << SCHEDULE_LANE_READY,
	};

	return ((moves[from] & 1u << to) != 0);
}

#endif
