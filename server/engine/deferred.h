/* SPDX-License-Identifier: MIT */
/*
 * The list of units that are deferred because another transaction has locked
 * their rows, in the order in which they were deferred.  Only the writer uses
 * it.
 */
#ifndef ENGINE_DEFERRED_H
#define ENGINE_DEFERRED_H

#include "engine/writer.h"

struct deferred {
	struct mbox_node *head, **tail;
	size_t n;
	int64_t look_ms; /* monotonic: the next probe for free rows */
	int64_t try_ms;  /* monotonic: when units wait for their rows again */
};

/* Makes the list empty. */
void deferred_init(struct deferred *a);

/* Appends ${unit}.  Stores ${now_ms} (monotonic) as the time since which the
 * unit waits; a unit that was deferred before keeps its first time. */
void deferred_put(struct deferred *a, struct unit *unit, int64_t now_ms);

/* Moves at most ${most} units from the head of the list into the array ${ret};
 * returns how many. */
size_t deferred_take(struct deferred *a, struct unit **ret, size_t most);

#endif
