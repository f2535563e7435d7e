/* SPDX-License-Identifier: MIT */
/*
 * A bounded queue that is fair between owners (base/owner.h): many objects of
 * one owner delay each other, but hardly the objects of other owners.
 *
 * Stochastic fairness queueing (McKenney, 1990): an owner's hash selects one of
 * FAIRQ_LINES lines, and the lines that are not empty are served in turn, one
 * object each.  Two owners with the same line share its turns.  The hash, which
 * callers pass to fairq_put(), has a random key (htab_hash()), so that no
 * client can choose whose line it shares.  Nothing is allocated after
 * fairq_new().
 *
 * An object is in at most one queue at a time; the thread that takes it out is
 * then responsible for it.  The objects of a line keep their order of arrival.
 * Threads: any number may put and take at the same time.
 */
#ifndef BASE_FAIRQ_H
#define BASE_FAIRQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mbox.h"
#include "base/rc.h"

#define FAIRQ_LINES 256

struct fairq;

/* Makes a queue of at most ${limit} objects in total, and of at most ${share}
 * objects in each of its FAIRQ_LINES lines, together for all owners that have
 * the same line.  Returns NULL if there is no memory. */
struct fairq *fairq_new(size_t limit, size_t share);

/* Frees an empty queue.  NULL is allowed. */
void fairq_free(struct fairq *q);

/* Adds ${node} for ${owner}, a hash (base/owner.h).  Returns RC_BUSY if the
 * queue or the line of the owner is full, RC_CLOSED after fairq_close(); the
 * caller then still owns ${node}. */
enum rc fairq_put(
    struct fairq *q, struct mbox_node *node, uint64_t owner) MUST_USE;

/* Takes the next object into *ret and returns true.  Waits at most
 * ${timeout_ms} (-1: for ever); after a time-out returns true with *ret NULL.
 * Returns false, with *ret NULL, if the queue is closed and empty. */
bool fairq_take(struct fairq *q, int64_t timeout_ms, struct mbox_node **ret);

/* Makes fairq_put() refuse objects from now on.  fairq_take() still hands out
 * the objects in the queue; once there are none it returns false at once, also
 * in threads that are waiting in it already. */
void fairq_close(struct fairq *q);

/* Returns the number of objects in the queue. */
size_t fairq_count(struct fairq *q);

#endif
