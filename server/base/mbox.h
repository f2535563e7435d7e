/* SPDX-License-Identifier: MIT */
/*
 * Bounded mailboxes, by which threads hand objects to each other.  An object
 * contains its link, so a put never needs memory: only a full or a closed box
 * refuses an object.  Any number of threads put.  Only one thread takes, unless
 * all takers use mbox_take_wait().
 */
#ifndef BASE_MBOX_H
#define BASE_MBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rc.h"

/* Embed this in the objects that are sent. */
struct mbox_node {
	struct mbox_node *next;
};

struct mbox;

/* Makes a box for at most ${limit} objects (0: no limit, for objects whose
 * number is bounded elsewhere).  With ${with_eventfd} the box has a descriptor
 * (mbox_fd()) that is readable while the box holds an object; mbox_close()
 * makes it readable, too.  Returns NULL if there is no memory or the descriptor
 * cannot be made. */
struct mbox *mbox_new(size_t limit, bool with_eventfd);

/* Frees ${box}, which must be empty.  NULL is allowed. */
void mbox_free(struct mbox *box);

/* Puts ${node} at the end.  Returns RC_BUSY if the box is full, RC_CLOSED after
 * mbox_close(); the caller then still owns ${node}.  Thread: any.  Blocks:
 * never. */
enum rc mbox_put(struct mbox *box, struct mbox_node *node) MUST_USE;

/* As mbox_put(), but ignores the limit.  Returns RC_CLOSED after
 * mbox_close(). */
enum rc mbox_put_urgent(struct mbox *box, struct mbox_node *node) MUST_USE;

/* Takes all objects, without waiting.  Returns them as a list in order of
 * arrival, linked by next; NULL if there are none.  Thread: the only one that
 * takes objects from ${box}. */
struct mbox_node *mbox_take_all(struct mbox *box);

/* Takes the first object; if there is none, waits at most ${timeout_ms} for one
 * (-1: for ever; 0: not at all).  Returns NULL on time-out, or if the box is
 * closed and empty.  Thread: any that takes objects from ${box}; several may
 * call this at once. */
struct mbox_node *mbox_take_wait(struct mbox *box, int64_t timeout_ms);

/* Makes puts fail from now on and wakes the threads that wait. */
void mbox_close(struct mbox *box);

/* Returns the number of objects in the box. */
size_t mbox_count(struct mbox *box);

/* Returns the descriptor to poll, -1 if the box has none.  The box owns the
 * descriptor, and mbox_free() closes it.  A put and mbox_close() make the
 * descriptor readable.  mbox_take_all(), and mbox_take_wait() when it takes the
 * last object, make it unreadable, even if the box is closed. */
int mbox_fd(const struct mbox *box);

#endif
