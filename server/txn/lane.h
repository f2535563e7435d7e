/* SPDX-License-Identifier: MIT */
/*
 * Updates lanes (queues of the outbox rows of one conversation to one
 * recipient) when rows are added to them or leave them: assigns places at the
 * end of a lane, changes the state, priority and due time of the cached lane,
 * adds the lane to the wake-up for the relay, and counts the waiting messages.
 * Thread: writer.
 */
#ifndef TXN_LANE_H
#define TXN_LANE_H

#include "store/remote.h"
#include "txn/cache.h"

/* Adds ${lane} (or its destination, if that is another server) to the wake-up
 * of the transaction, so that the relay schedules it after the commit.
 * ${priority} is that of the row that is to be delivered; it is not used for a
 * destination. */
enum rc txn_wake_lane(struct tx *tx, const struct cached_lane *lane,
    int priority, struct err *err) MUST_USE;

/* Assigns the next place at the end of ${lane}: increments tail_seq of the
 * cached lane and returns it, as the lane_seq of a row of ${priority}.  If the
 * lane leads to another server, also changes its state: an idle lane becomes
 * ready, due at once and of ${priority}; a ready or leased lane gets
 * ${priority} if its own priority is lower. */
int64_t txn_lane_append(struct tx *tx, struct cached_lane *lane, int priority);

/* Must be called when ${row} has left ${lane} without being delivered.  Does
 * nothing for a lane to an inbox of this server.  For a lane to another server
 * has its priority computed again (cache_lane_recheck_priority()).  If such a
 * lane waited for the next attempt of ${row}, also makes the lane due at once
 * for the rows after ${row} and adds the lane to the wake-up for the relay.
 * Does not move next_seq, the cursor of the lane. */
enum rc txn_lane_row_gone(struct tx *tx, struct cached_lane *lane,
    const struct store_row *row, struct err *err) MUST_USE;

/* Adds ${n}, which may be negative, to three counts of waiting messages in the
 * backlog: of ${row}'s sender, of the destination of ${lane}, and in total.
 * Does nothing if ${row} is not a message. */
enum rc txn_backlog_add(struct tx *tx, const struct cached_lane *lane,
    const struct store_row *row, int64_t n, struct err *err) MUST_USE;

#endif
