/* SPDX-License-Identifier: MIT */
/*
 * Units that were laid aside because they need rows that somebody else holds,
 * in the order in which they came.  Only writer.c uses this.
 */
#ifndef ENGINE_ASIDE_H
#define ENGINE_ASIDE_H

#include "engine/writer.h"

struct aside {
	struct mbox_node *head, **tail;
	size_t n;
	int64_t look_ms; /* monotonic: when it is looked again, … */
	int64_t try_ms;  /* … and all is tried, whatever the look says */
};

/* Nothing is aside. */
void aside_init(struct aside *a);

/* ${unit} goes to the end. */
void aside_put(struct aside *a, struct unit *unit, int64_t now_ms);

/* Takes at most ${most} units from the beginning to ${ret}; how many. */
size_t aside_take(struct aside *a, struct unit **ret, size_t most);

#endif
