/* SPDX-License-Identifier: MIT */
/*
 * Units that were deferred because another transaction has locked their rows,
 * in the order in which they came.  Only writer.c uses this.
 */
#ifndef ENGINE_DEFERRED_H
#define ENGINE_DEFERRED_H

#include "engine/writer.h"

struct deferred {
	struct mbox_node *head, **tail;
	size_t n;
	int64_t look_ms; /* monotonic: when it is looked again, … */
	int64_t try_ms;  /* … and all rows are waited for, free or not */
};

/* Nothing is deferred. */
void deferred_init(struct deferred *a);

/* ${unit} goes to the end. */
void deferred_put(struct deferred *a, struct unit *unit, int64_t now_ms);

/* Takes at most ${most} units from the beginning to ${ret}; how many. */
size_t deferred_take(struct deferred *a, struct unit **ret, size_t most);

#endif
