/* SPDX-License-Identifier: MIT */
/*
 * The schedule of local delivery: which local lanes are ready (may have
 * messages to deliver), and which are under way (being delivered).  A local
 * lane is the queue of the messages, or of the receipts, of one conversation
 * to one user of this server.
 *
 * A lane has one delivery under way at a time; if the lane is woken meanwhile,
 * it is ready again when that delivery ends.  Priorities share the turns as 8
 * (high) to 4 (normal) to 1 (low), so that low priority still moves.  Lanes
 * whose delivery broke off (LANE_BROKEN) are taken before all others, and each
 * in a delivery of its own, until a delivery of the lane succeeds: so the lane
 * cannot break the deliveries of other lanes, which may run at the same time.
 * Uses no thread, no lock, no clock and no store.
 */
#ifndef RELAY_SCHEDULE_H
#define RELAY_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rc.h"

/* After a delivery of a lane broke off (LANE_BROKEN), the lane is delivered
 * without other lanes.  If this number of further deliveries break off, without
 * one that succeeds, the next delivery treats the first message of the lane as
 * poison: it makes the message a dead letter.  Deliveries that end with
 * LANE_LATER neither count nor begin the count anew. */
#define SCHEDULE_POISON_AFTER 5

struct schedule;

/* The outcome of a lane's delivery. */
enum lane_outcome {
	LANE_DONE,   /* no message is left */
	LANE_MORE,   /* more messages wait */
	LANE_BROKEN, /* the delivery failed, perhaps because of a message */
	LANE_LATER   /* it failed for another cause (disk, memory, a stop) */
};

/* Lanes that one delivery takes together. */
struct schedule_take {
	int64_t *lanes;
	size_t max; /* room in ${lanes} */
	size_t n;
	bool poison; /* a lane alone, whose first message is to be removed */
};

/* Creates an empty schedule.  NULL: no memory. */
struct schedule *schedule_new(void);
void schedule_free(struct schedule *s);

/* Returns the priority (enum priority) whose turn number ${turn} is, by
 * weight. */
int schedule_class(unsigned turn);

/* Notes that local lane ${lane_id} may have messages of ${priority}.  The lane
 * is ready now or, if it is under way, when its delivery ends.  Several
 * wake-ups count as one, with the highest of their priorities.  RC_NO_MEMORY:
 * the lane was not noted; the periodic safety poll of the relay finds it in the
 * store. */
enum rc schedule_wake(
    struct schedule *s, int64_t lane_id, int priority) MUST_USE;

/* Takes ready lanes for one delivery, at most ${take->max}, and marks them as
 * under way.  The priorities take turns (schedule_class()); within a priority,
 * the lane that has waited longest at it goes first.  But if lanes are ready of
 * which a delivery broke off and none has succeeded since, takes only one of
 * these lanes, and no other lane.  Writes the ids to take->lanes, sets take->n
 * and take->poison, and returns take->n, which is 0 if no lane is ready. */
size_t schedule_take(struct schedule *s, struct schedule_take *take);

/* Notes that the delivery of lane ${lane_id}, which schedule_take() has taken,
 * has ended.  The lane is ready again at once if ${outcome} is not LANE_DONE or
 * the lane was woken meanwhile.  Otherwise the schedule forgets the lane. */
void schedule_done(
    struct schedule *s, int64_t lane_id, enum lane_outcome outcome);

/* Return how many lanes are ready, and how many are under way. */
size_t schedule_ready(const struct schedule *s);
size_t schedule_busy(const struct schedule *s);

#endif
