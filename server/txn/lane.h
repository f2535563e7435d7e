/* SPDX-License-Identifier: MIT */
/*
 * Lanes: numbers at their end, rows that leave them, and wake-ups.
 * Thread: writer.
 */
#ifndef TXN_LANE_H
#define TXN_LANE_H

#include "store/remote.h"
#include "txn/cache.h"

/* Whether the destination of ${lane} or the lane itself has work now: wakes
 * the relay. */
enum rc txn_wake_lane(struct tx *tx, const struct cached_lane *lane,
    int priority, struct err *err) MUST_USE;

/* The next lane_seq at the end of ${lane}, which is ready then. */
int64_t txn_lane_append(struct tx *tx, struct cached_lane *lane, int priority);

/* ${row} waits in ${lane} no more and never left.  If the lane waited for the
 * row's next attempt, what stands behind the row may go now. */
enum rc txn_lane_row_gone(struct tx *tx, struct cached_lane *lane,
    const struct store_row *row, struct err *err) MUST_USE;

/* What waits in ${lane} by ${row}'s sender changes by ${n} messages. */
enum rc txn_backlog_add(struct tx *tx, const struct cached_lane *lane,
    const struct store_row *row, int64_t n, struct err *err) MUST_USE;

#endif
