/* SPDX-License-Identifier: MIT */
/*
 * Which local lanes have work, and which are under way.  A lane has one batch
 * in flight; what wakes it meanwhile makes it run again.  Lanes of higher
 * priority go first, 8 to 4 to 1, so that the lowest still moves.  A lane whose
 * delivery broke off travels alone until it has succeeded.  No thread, no
 * clock, no store.
 */
#ifndef RELAY_SCHEDULE_H
#define RELAY_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rc.h"

/* After so many deliveries in a row that broke off while the lane travelled
 * alone, its first message is taken for poison. */
#define SCHEDULE_POISON_AFTER 5

struct schedule;

/* How a lane comes back. */
enum lane_outcome {
	LANE_DONE,   /* it owes nothing more */
	LANE_MORE,   /* it still has work */
	LANE_BROKEN, /* its delivery broke off, nobody knows why */
	LANE_LATER   /* it could not be tried */
};

/* Lanes taken together. */
struct schedule_take {
	int64_t *lanes;
	size_t max; /* room */
	size_t n;
	bool poison; /* a lane alone, whose first message is to be taken out */
};

/* An empty schedule; NULL: no memory. */
struct schedule *schedule_new(void);
void schedule_free(struct schedule *s);

/* The class that is next in turn: enum priority, by weights.  ${turn}: counts
 * the turns. */
int schedule_class(unsigned turn);

/* Lane ${lane_id} may have work of ${priority}.  RC_NO_MEMORY: it was not noted
 * (the safety poll finds it). */
enum rc schedule_wake(
    struct schedule *s, int64_t lane_id, int priority) MUST_USE;

/* Takes lanes that are ready, longest waiting first within a priority, and
 * marks them as under way.  Returns how many. */
size_t schedule_take(struct schedule *s, struct schedule_take *take);

/* A lane is back.  It is ready again if it has more, or if it was woken
 * meanwhile. */
void schedule_done(
    struct schedule *s, int64_t lane_id, enum lane_outcome outcome);

/* How many are ready; how many are under way. */
size_t schedule_ready(const struct schedule *s);
size_t schedule_busy(const struct schedule *s);

#endif
