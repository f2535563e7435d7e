/* SPDX-License-Identifier: MIT */
/*
 * Which local lanes have work, and which are being delivered.
 *
 * A lane has one delivery under way at a time; a wake-up meanwhile makes it run
 * again.  Priorities share the turns as 8 (high) to 4 (normal) to 1 (low), so
 * that low priority still moves.  A lane whose delivery broke off (LANE_BROKEN)
 * is delivered alone and before all others until it succeeds, so that it cannot
 * break the deliveries of others.  Uses no thread, no clock and no store.
 */
#ifndef RELAY_SCHEDULE_H
#define RELAY_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rc.h"

/* After this number of broken deliveries in a row while the lane was alone, its
 * first message is treated as poison.  Deliveries that end with LANE_LATER do
 * not count. */
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

/* Lane ${lane_id} may have messages of ${priority}.  RC_NO_MEMORY: the lane was
 * not noted; the safety poll finds it. */
enum rc schedule_wake(
    struct schedule *s, int64_t lane_id, int priority) MUST_USE;

/* Takes at most ${take->max} ready lanes, the longest waiting first within a
 * priority, and marks them as under way.  A lane whose last delivery broke off
 * is taken before the others, and alone.  Returns the number of lanes. */
size_t schedule_take(struct schedule *s, struct schedule_take *take);

/* The delivery of a lane has ended.  The lane is ready again if it has more
 * messages, was not delivered, or was woken meanwhile. */
void schedule_done(
    struct schedule *s, int64_t lane_id, enum lane_outcome outcome);

/* Return how many lanes are ready, and how many are under way. */
size_t schedule_ready(const struct schedule *s);
size_t schedule_busy(const struct schedule *s);

#endif
