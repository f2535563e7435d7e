/* SPDX-License-Identifier: MIT */
/*
 * A bounded queue whose owners take turns: whoever puts many objects waits
 * behind their own, and not in front of everybody else.
 *
 * Stochastic fairness queueing (McKenney, 1990): a hash of the owner picks one
 * of FAIRQ_LINES lines, and the lines that are not empty are served in turn,
 * one object each.  Two owners of one line share its turns; the hash has a
 * random key (htab_key_set()), so that nobody can choose whose line they share.
 * Nothing is allocated after fairq_new().
 *
 * An object waits in one queue at a time; whoever takes it out owns it.
 * Within a line the order is that of arrival.  Threads: any number on both
 * ends.
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

/* A queue of at most ${limit} objects, of which one line holds at most
 * ${share}. NULL: no memory. */
struct fairq *fairq_new(size_t limit, size_t share);

/* Frees an empty queue.  NULL is allowed. */
void fairq_free(struct fairq *q);

/* Adds ${node} for ${owner}, any hash.  RC_BUSY: the queue is full, or the
 * owner's line is; RC_CLOSED: after fairq_close().  Then the caller still owns
 * it. */
enum rc fairq_put(
    struct fairq *q, struct mbox_node *node, uint64_t owner) MUST_USE;

/* Takes the object whose turn it is into *ret; waits at most ${timeout_ms} (-1:
 * for ever), after which *ret is NULL.  False: the queue is closed and empty.
 */
bool fairq_take(struct fairq *q, int64_t timeout_ms, struct mbox_node **ret);

/* No more is taken in; what waits is still handed out. */
void fairq_close(struct fairq *q);

/* How many objects wait. */
size_t fairq_count(struct fairq *q);

#endif
