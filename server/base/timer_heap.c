/* SPDX-License-Identifier: MIT */
/*
 * A pairing heap.  The children of a node form a list through next.  prev
 * points to the previous sibling or, in the first child, to the parent, so that
 * any node can be removed.
 */
#include "base/timer_heap.h"

#include <assert.h>
#include <stddef.h>

static struct timer_node *
meld(struct timer_node *a, struct timer_node *b)
{
	struct timer_node *swap;

	if (a == NULL)
		return (b);
	if (b == NULL)
		return (a);
	if (b->at_ms < a->at_ms) {
		swap = a;
		a = b;
		b = swap;
	}
	b->prev = a;
	b->next = a->child;
	if (a->child != NULL)
		a->child->prev = b;
	a->child = b;
	return (a);
}

/* Makes one heap of ${first} and its next siblings: melds them in pairs from
 * the left, then melds the pairs from the right.  Returns the root of the heap,
 * NULL if ${first} is NULL. */
static struct timer_node *
meld_siblings(struct timer_node *first)
{
	struct timer_node *a, *b, *pairs = NULL, *root = NULL;

	while (first != NULL) {
		a = first;
		b = a->next;
		first = (b == NULL) ? NULL : b->next;
		a->next = a->prev = NULL;
		if (b != NULL)
			b->next = b->prev = NULL;
		a = meld(a, b);
		a->next = pairs;
		pairs = a;
	}
	while (pairs != NULL) {
		a = pairs;
		pairs = a->next;
		a->next = a->prev = NULL;
		root = meld(root, a);
	}
	return (root);
}

void
timer_heap_add(struct timer_heap *heap, struct timer_node *node, int64_t at_ms)
{

	assert(!node->queued);
	node->child = node->next = node->prev = NULL;
	node->at_ms = at_ms;
	node->queued = true;
	heap->root = meld(heap->root, node);
}

void
timer_heap_remove(struct timer_heap *heap, struct timer_node *node)
{
	struct timer_node *rest;

	if (!node->queued)
		return;
	rest = meld_siblings(node->child);
	if (node == heap->root) {
		heap->root = rest;
	} else {
		if (node->prev->child == node)
			node->prev->child = node->next;
		else
			node->prev->next = node->next;
		if (node->next != NULL)
			node->next->prev = node->prev;
		heap->root = meld(heap->root, rest);
	}
	node->child = node->next = node->prev = NULL;
	node->queued = false;
}

struct timer_node *
timer_heap_first(const struct timer_heap *heap)
{

	return (heap->root);
}
