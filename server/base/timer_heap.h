/* SPDX-License-Identifier: MIT */
/*
 * Timers by their time: a pairing heap of nodes that live in the objects that
 * wait.  Adding and removing cannot fail; the earliest is found at once.
 * Thread: one owner.
 */
#ifndef BASE_TIMER_HEAP_H
#define BASE_TIMER_HEAP_H

#include <stdbool.h>
#include <stdint.h>

struct timer_node {
	struct timer_node *child; /* the first of those that are not earlier */
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

/* Takes ${node} out; nothing happens when it is not queued. */
void timer_heap_remove(struct timer_heap *heap, struct timer_node *node);

/* The earliest node, NULL if there is none. */
struct timer_node *timer_heap_first(const struct timer_heap *heap);

#endif
