/* SPDX-License-Identifier: MIT */
/*
 * Bounded mailboxes: how threads hand objects to each other.  The object
 * carries its link, so putting one in cannot fail for want of memory; only a
 * full or closed box refuses.  Many may put, one takes.
 */
#ifndef BASE_MBOX_H
#define BASE_MBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rc.h"

/* Embedded in what is sent. */
struct mbox_node {
	struct mbox_node *next;
};

struct mbox;

/* A box for at most ${limit} objects (0 = no limit, for answers whose number
 * is bounded elsewhere).  With ${with_eventfd} it has a descriptor that is
 * readable while it may hold something.  NULL when resources are short. */
struct mbox *mbox_new(size_t limit, bool with_eventfd);

/* Frees ${box}, which must be empty.  NULL is allowed. */
void mbox_free(struct mbox *box);

/* Puts ${node} at the end.  RC_BUSY when full, RC_CLOSED after mbox_close();
 * then the caller still owns it.  Thread: any.  Blocks: never. */
enum rc mbox_put(struct mbox *box, struct mbox_node *node) MUST_USE;

/* As mbox_put(), but beyond the limit (never beyond mbox_close()). */
enum rc mbox_put_urgent(struct mbox *box, struct mbox_node *node) MUST_USE;

/* Takes everything as a list in order of arrival (NULL: none), without
 * waiting.  Thread: the owner. */
struct mbox_node *mbox_take_all(struct mbox *box);

/* Takes one; waits at most ${timeout_ms} (-1: for ever).  NULL on time-out, or
 * when closed and empty.  Thread: the owner, or several workers. */
struct mbox_node *mbox_take_wait(struct mbox *box, int64_t timeout_ms);

/* Refuses further puts and wakes the owner. */
void mbox_close(struct mbox *box);

/* How many wait. */
size_t mbox_count(struct mbox *box);

/* The descriptor to poll, -1 without one.  mbox_take_all() clears it. */
int mbox_fd(const struct mbox *box);

#endif
