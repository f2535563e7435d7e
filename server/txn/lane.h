/* SPDX-License-Identifier: MIT */
/*
 * Updates lanes when rows are added to them or leave them: assigns places at
 * the end of a lane, changes the state, priority and due time of the cached
 * lane, adds the lane to the wake-up for the relay, and counts the waiting
 * messages.
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
 * cached lane and returns it, as the lane_seq of a row of ${priority}.  A lane
 * to another server that was idle becomes ready with ${priority}; otherwise its
 * priority is raised to ${priority} if it was lower. */
int64_t txn_lane_append(struct tx *tx, struct cached_lane *lane, int priority);

/* Must be called when ${row} has left ${lane} without being delivered.  For a
 * lane to another server calls cache_lane_recheck_priority(), and if the lane
 * waited for the next attempt of this row, makes the lane due at once for the
 * rows after it and adds the lane to the wake-up.  Does not move the cursor of
 * the lane, and does nothing for a lane to an inbox of this server. */
enum rc txn_lane_row_gone(struct tx *tx, struct cached_lane *lane,
    const struct store_row *row, struct err *err) MUST_USE;

/* Adds ${n}, which may be negative, to three counts of waiting messages in the
 * backlog: of ${row}'s sender, of the destination of ${lane}, and in total.
 * Does nothing if ${row} is not a message. */
enum rc txn_backlog_add(struct tx *tx, const struct cached_lane *lane,
    const struct store_row *row, int64_t n, struct err *err) MUST_USE;

#endif
