/* SPDX-License-Identifier: MIT */
/*
 * What is due next: a pairing heap of nodes that live in the objects that
 * wait.  Adding and removing cannot fail; the earliest is found at once.
 * Thread: one owner.
 */
#ifndef HTTP_DUE_H
#define HTTP_DUE_H

#include <stdbool.h>
#include <stdint.h>

struct due_node {
	struct due_node *child; /* the first of those that are not earlier */
	struct due_node *next;  /* the next sibling */
	struct due_node *prev;  /* the sibling before, or the parent */
	int64_t at_ms;
	bool queued;
};

struct due {
	struct due_node *root;
};

/* Adds ${node}, which must not be queued, for ${at_ms}. */
void due_add(struct due *due, struct due_node *node, int64_t at_ms);

/* Takes ${node} out; nothing happens when it is not queued. */
void due_remove(struct due *due, struct due_node *node);

/* The earliest node, NULL if there is none. */
struct due_node *due_first(const struct due *due);

#endif
