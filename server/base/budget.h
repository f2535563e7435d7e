/* SPDX-License-Identifier: MIT */
/*
 * A memory budget for one purpose, such as request bodies: limits how many
 * bytes all owners (base/owner.h) together and how many one owner may hold.  It
 * only counts bytes; callers allocate them.  budget_take() fails at once if a
 * limit would be exceeded; a caller never waits for bytes.
 *
 * Thread: any, but one thread at a time for each struct budget_hold.
 */
#ifndef BASE_BUDGET_H
#define BASE_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most owners of one struct budget_hold.  Its bytes count against the share
 * of each owner.  A request body has two owners, for example: its client's
 * network and its user. */
#define BUDGET_OWNERS 2

struct budget;

/* Makes a budget of ${total} bytes, of which one owner may hold at most
 * ${share}.  Returns NULL if there is no memory. */
struct budget *budget_new(size_t total, size_t share);

/* Frees ${b}, which may be NULL.  Bytes that were taken need not have been
 * given back; they cannot be given back afterwards. */
void budget_free(struct budget *b);

/* The bytes that one holder has taken, and their owners.  Zero it and set the
 * owners before the first budget_take(). */
struct budget_hold {
	size_t bytes;
	uint64_t owner[BUDGET_OWNERS]; /* 0: no owner, only the total counts */
};

/* Takes ${bytes} more for ${hold}, whose owners must not change until
 * budget_give().  Returns false, with nothing changed, if the total or the
 * share of an owner would be exceeded, or if there is no memory to count the
 * bytes. */
bool budget_take(struct budget *b, struct budget_hold *hold, size_t bytes);

/* Gives back all that ${hold} has taken. */
void budget_give(struct budget *b, struct budget_hold *hold);

/* Returns the number of bytes that are taken now. */
size_t budget_used(const struct budget *b);

#endif
