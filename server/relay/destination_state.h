/* SPDX-License-Identifier: MIT */
/*
 * The states of a destination in the relay, and the moves between them.  A test
 * compares this drawing with destination_state_allows().
 *
 *	IDLE, PARKED --a parcel may leave now--> RUNNABLE
 *	IDLE, RUNNABLE --a parcel may leave at a known time--> PARKED
 *	PARKED, RUNNABLE --only an event lets the next parcel leave--> IDLE
 *
 *	IDLE      waits for a wake-up or safety poll that finds messages, for
 *	          the end of an operator's pause, or for a parcel or a claim
 *	          to come back: no time lets it run.  If its breaker is not
 *	          closed and no message waits, a heartbeat probes it
 *	          (core_heartbeat.c)
 *	PARKED    waits for a time: the end of its breaker's wait, its rate,
 *	          the next attempt of a lane, or the end of the pause that
 *	          the destination itself asked for
 *	RUNNABLE  waits in a queue for its turn, and for an idle parcel
 *
 * Destinations that are idle or parked are in no queue for claims, so thousands
 * that are down do not delay the others.  When the earliest wait of a parked
 * one is over, and at each safety poll, the states of all parked ones are
 * computed anew.
 */
#ifndef RELAY_DESTINATION_STATE_H
#define RELAY_DESTINATION_STATE_H

#include <stdbool.h>

enum destination_state {
	DESTINATION_IDLE,
	DESTINATION_PARKED,
	DESTINATION_RUNNABLE,
	DESTINATION_STATES
};

/* Returns true if a destination may go from ${from} to ${to}. */
static inline bool
destination_state_allows(enum destination_state from, enum destination_state to)
{

	return (from != to);
}

#endif
