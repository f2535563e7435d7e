/* SPDX-License-Identifier: MIT */
/*
 * The scheduling half of the relay: which lanes have work, which are under
 * way.  A lane has one batch in flight; what wakes it meanwhile makes it run
 * again.  No thread, no clock, no store.
 */
#ifndef RELAY_SCHEDULE_H
#define RELAY_SCHEDULE_H

#include <stddef.h>
#include <stdint.h>

#include "base/rc.h"

struct schedule;

/* An empty schedule; NULL: no memory. */
struct schedule *schedule_new(void);
void schedule_free(struct schedule *s);

/* Lane ${lane_id} may have work.  RC_NO_MEMORY: it was not noted (the safety
 * poll finds it). */
enum rc schedule_wake(struct schedule *s, int64_t lane_id) MUST_USE;

/* Takes up to ${max} lanes that are ready, longest waiting first, and marks
 * them as under way.  Returns how many. */
size_t schedule_take(struct schedule *s, int64_t *ret_lanes, size_t max);

/* A lane is back; ${more}: it still has work.  It is ready again if so, or if
 * it was woken meanwhile. */
void schedule_done(struct schedule *s, int64_t lane_id, bool more);

/* How many are ready; how many are under way. */
size_t schedule_ready(const struct schedule *s);
size_t schedule_busy(const struct schedule *s);

#endif
