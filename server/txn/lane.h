/* SPDX-License-Identifier: MIT */
/*
 * Lanes: adds places at their end, removes rows from them, and wakes the relay.
 * Thread: writer.
 */
#ifndef TXN_LANE_H
#define TXN_LANE_H

#include "store/remote.h"
#include "txn/cache.h"

/* Adds ${lane} (or its destination, if that is another server) to the wake-up
 * of the transaction, so that the relay schedules it after the commit.
 * ${priority} is that of the row that is to be delivered. */
enum rc txn_wake_lane(struct tx *tx, const struct cached_lane *lane,
    int priority, struct err *err) MUST_USE;

/* Returns the next lane_seq at the end of ${lane}.  A lane to another server
 * becomes ready if it was idle, and its priority rises to ${priority}. */
int64_t txn_lane_append(struct tx *tx, struct cached_lane *lane, int priority);

/* Notes that ${row} left ${lane} without being delivered.  If a lane to another
 * server waited for the next attempt of this row, the rows behind it are due at
 * once, and the lane is woken. */
enum rc txn_lane_row_gone(struct tx *tx, struct cached_lane *lane,
    const struct store_row *row, struct err *err) MUST_USE;

/* Adds ${n}, which may be negative, to the number of waiting messages of
 * ${row}'s sender for the destination of ${lane}.  Rows that are not messages
 * are not counted. */
enum rc txn_backlog_add(struct tx *tx, const struct cached_lane *lane,
    const struct store_row *row, int64_t n, struct err *err) MUST_USE;

#endif
