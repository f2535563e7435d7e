/* SPDX-License-Identifier: MIT */
/*
 * A number of bytes that clients may make the process hold, of which one owner
 * (base/owner.h) holds at most a share.  What cannot be taken is refused, never
 * waited for.
 *
 * Thread: any.
 */
#ifndef BASE_BUDGET_H
#define BASE_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The owners of one amount: it counts in the share of each of them.  A body has
 * two, for example: its client's address and its user. */
#define BUDGET_OWNERS 2

struct budget;

/* A budget of ${total} bytes, of which one owner holds at most ${share}.  NULL:
 * no memory. */
struct budget *budget_new(size_t total, size_t share);

/* Frees it; what is still taken is forgotten.  NULL is allowed. */
void budget_free(struct budget *b);

/* What one holder has taken.  Zero it before the first budget_take(). */
struct budget_hold {
	size_t bytes;
	uint64_t owner[BUDGET_OWNERS]; /* 0: no owner, only the total counts */
};

/* Takes ${bytes} more for ${hold}, whose owners are set and stay the same until
 * it is given back.  False: the total or the share of an owner would be
 * exceeded, or there is no memory to count; nothing has changed. */
bool budget_take(struct budget *b, struct budget_hold *hold, size_t bytes);

/* Gives back all that ${hold} has taken. */
void budget_give(struct budget *b, struct budget_hold *hold);

/* How many bytes are taken. */
size_t budget_used(const struct budget *b);

#endif
