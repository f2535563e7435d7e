/* SPDX-License-Identifier: MIT */
/*
 * Delivery into an inbox of this server, as the relay's unit does it for rows
 * that wait, and a transaction for a row that it has just added.
 * Thread: writer.
 */
#ifndef TXN_LOCAL_H
#define TXN_LOCAL_H

#include "model/delivery_turn.h"
#include "txn/cache.h"

/* Whether a row that is added to ${lane} now is delivered by this transaction.
 * It is not in a unit that runs alone because its batch was abandoned: a
 * delivery that fails must not fail the send, so that the row is left to the
 * relay, which finds out what is wrong with it. */
enum rc txn_local_at_once(struct tx *tx, const struct cached_lane *lane,
    bool *ret, struct err *err) MUST_USE;

/* An operator has paused or resumed something. */
void txn_local_pauses_changed(struct tx *tx);

/* The state of ${lane} for the rule.  A pause is not asked for: the relay knows
 * it and gives no lane to its unit meanwhile. */
struct delivery_lane txn_local_lane(const struct cached_lane *lane);

/* Puts ${row} of ${lane} into the recipient's inbox, and moves the lane's
 * cursor and the recipient's mark behind it.  The row itself is the caller's to
 * write.  ${from}: the state that the row leaves (enum outbox_state); -1: it is
 * new.  ${event_id} must stay valid until txn_write_inbox(). */
enum rc txn_local_deliver(struct tx *tx, struct cached_lane *lane,
    const struct store_claimed *row, const struct uuid *event_id, int from,
    struct err *err) MUST_USE;

#endif
