/* SPDX-License-Identifier: MIT */
/*
 * Timers in the order of their times: a pairing heap whose nodes are embedded
 * in the objects that wait.  Adding and removing allocate nothing and cannot
 * fail; the earliest node is found in constant time.  Thread: one owner.
 */
#ifndef BASE_TIMER_HEAP_H
#define BASE_TIMER_HEAP_H

#include <stdbool.h>
#include <stdint.h>

struct timer_node {
	struct timer_node *child; /* the first child; none is earlier */
	struct timer_node *next;  /* the next sibling */
	struct timer_node *prev;  /* the sibling before, or the parent */
	int64_t at_ms;
	bool queued;
};

struct timer_heap {
	struct timer_node *root;
};

/* Adds ${node}, which must not be queued, for ${at_ms}. */
void timer_heap_add(
    struct timer_heap *heap, struct timer_node *node, int64_t at_ms);

/* Removes ${node}.  Does nothing if it is not queued. */
void timer_heap_remove(struct timer_heap *heap, struct timer_node *node);

/* Returns the earliest node, NULL if there is none. */
struct timer_node *timer_heap_first(const struct timer_heap *heap);

#endif
