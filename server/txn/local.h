/* SPDX-License-Identifier: MIT */
/*
 * Delivery into an inbox of this server.  The relay's unit delivers rows that
 * waited, and a transaction may deliver a row that it has just added; both use
 * these functions.
 * Thread: writer.
 */
#ifndef TXN_LOCAL_H
#define TXN_LOCAL_H

#include "model/delivery_turn.h"
#include "txn/cache.h"

/* Sets *ret to true if a row that is added to ${lane} now is to be delivered by
 * this transaction: txn_env_options.at_once is set, the lane leads to an inbox
 * of this server and is due, nothing waits in it, and deliveries are not
 * paused.  It is false in a unit that runs alone because its batch was
 * abandoned: a delivery that fails must not fail the send.  The relay then
 * delivers the row and handles the failure. */
enum rc txn_local_at_once(struct tx *tx, const struct cached_lane *lane,
    bool *ret, struct err *err) MUST_USE;

/* Must be called when an operator has paused or resumed deliveries. */
void txn_local_pauses_changed(struct tx *tx);

/* Returns the state of ${lane} in the form that delivery_turn() reads.  Its
 * member `paused` is left false: the relay knows about pauses and gives no
 * paused lane to its unit. */
struct delivery_lane txn_local_lane(const struct cached_lane *lane);

/* Adds ${row} of ${lane} to the recipient's inbox and moves the cursor of the
 * lane past the row.  For a message also advances the recipient's delivered
 * watermark to it, counts it and notes the change for the sender.  The caller
 * writes the outbox row itself.  ${from} is the state that the row leaves (enum
 * outbox_state), or -1 for a new row.  ${event_id} must stay valid until
 * txn_write_inbox(). */
enum rc txn_local_deliver(struct tx *tx, struct cached_lane *lane,
    const struct store_claimed *row, const struct uuid *event_id, int from,
    struct err *err) MUST_USE;

#endif
