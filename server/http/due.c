/* SPDX-License-Identifier: MIT */
/*
 * A pairing heap.  A node's children are a list through next; prev leads back
 * to the sibling before or, for the first child, to the parent, so that any
 * node can be cut out.
 */
#include "http/due.h"

#include <assert.h>
#include <stddef.h>

static struct due_node *
meld(struct due_node *a, struct due_node *b)
{
	struct due_node *swap;

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

/* Makes one heap of a list of siblings: pairs from the left, then all pairs
 * from the right. */
static struct due_node *
meld_siblings(struct due_node *first)
{
	struct due_node *a, *b, *pairs = NULL, *root = NULL;

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
due_add(struct due *due, struct due_node *node, int64_t at_ms)
{

	assert(!node->queued);
	node->child = node->next = node->prev = NULL;
	node->at_ms = at_ms;
	node->queued = true;
	due->root = meld(due->root, node);
}

void
due_remove(struct due *due, struct due_node *node)
{
	struct due_node *rest;

	if (!node->queued)
		return;
	rest = meld_siblings(node->child);
	if (node == due->root) {
		due->root = rest;
	} else {
		if (node->prev->child == node)
			node->prev->child = node->next;
		else
			node->prev->next = node->next;
		if (node->next != NULL)
			node->next->prev = node->prev;
		due->root = meld(due->root, rest);
	}
	node->child = node->next = node->prev = NULL;
	node->queued = false;
}

struct due_node *
due_first(const struct due *due)
{

	return (due->root);
}
