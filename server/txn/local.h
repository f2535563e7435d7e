/* SPDX-License-Identifier: MIT */
/*
 * Delivery of outbox rows into the inboxes of this server.  The relay's unit
 * (delivery/deliver.c) delivers rows that waited, and a transaction may deliver
 * a row that it has just added; both use these functions.
 * Thread: writer.
 */
#ifndef TXN_LOCAL_H
#define TXN_LOCAL_H

#include "model/delivery_turn.h"
#include "txn/cache.h"

/* Sets *ret to true if this transaction is to deliver the outbox row that it
 * is about to add to ${lane}: txn_env_options.at_once is set, the lane leads to
 * an inbox of this server, the lane's due_at has passed, no row waits in it, no
 * operator has paused these deliveries, and tx->alone is not set (if set, the
 * unit was in an abandoned batch, and a delivery that fails must not fail the
 * unit again).  Otherwise *ret is false, and the relay delivers the row.  An
 * error also sets *ret to false, and must abandon the transaction.  Must be
 * called before txn_lane_append(), and not for a scheduled row. */
enum rc txn_local_at_once(struct tx *tx, const struct cached_lane *lane,
    bool *ret, struct err *err) MUST_USE;

/* Must be called when an operator has paused or resumed deliveries. */
void txn_local_pauses_changed(struct tx *tx);

/* Returns the state of ${lane} in the form that delivery_turn() reads, with the
 * member `paused` false.  txn_local_at_once() then sets `paused` itself; the
 * relay's unit (delivery/deliver.c) leaves `paused` false, because the relay
 * puts no paused lane into the unit. */
struct delivery_lane txn_local_lane(const struct cached_lane *lane);

/* Adds outbox row ${row} of ${lane} as an event with id ${event_id} to the
 * recipient's inbox, and moves next_seq of the lane past the row.  For a
 * message also advances the recipient's delivered_upto in the conversation to
 * it, counts the row in the metrics and, as moved from state ${from} to sent,
 * in the totals, and adds CHANGE_SENT for the sender to the effects.  ${from}
 * is the row's enum outbox_state, or -1 for a new row.  The caller itself
 * writes the outbox row in state sent and, if the message was counted as
 * waiting, subtracts it (backlog_wait()).  ${event_id} must stay valid until
 * txn_write_inbox(). */
enum rc txn_local_deliver(struct tx *tx, struct cached_lane *lane,
    const struct store_claimed *row, const struct uuid *event_id, int from,
    struct err *err) MUST_USE;

#endif
