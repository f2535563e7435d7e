/* SPDX-License-Identifier: MIT */
/*
 * Dead letters: rows for operators about messages that have failed or expired.
 * Each function below writes all its changes in the transaction ${tx}: for
 * example the new state of the outbox row, the dead letter, the bounce in the
 * sender's inbox and the changes of the lane.
 * Thread: writer.
 */
#ifndef DELIVERY_DEAD_LETTER_H
#define DELIVERY_DEAD_LETTER_H

#include "model/outbox.h"
#include "model/refusal.h"
#include "store/remote.h"
#include "txn/env.h"

/* Sets the state of ${row} to expired if ${reason} is REASON_EXPIRED, else to
 * failed.  For a message, also adds a dead letter and a bounce to the sender.
 * ${row} must be in a lane.  Its state must be pending or, unless ${reason} is
 * REASON_EXPIRED, sending.  RC_CONFLICT: the row has another state in the
 * database, and the transaction must be abandoned.  ${error} is the error text
 * for the row and the dead letter; if it is NULL, the row keeps its last error,
 * and the dead letter has none. */
enum rc dead_letter_make(struct tx *tx, const struct store_row *row,
    enum outbox_reason reason, const char *error, struct err *err) MUST_USE;

/* As dead_letter_make(), for the row with ${outbox_id}. */
enum rc dead_letter_make_by_id(struct tx *tx, int64_t outbox_id,
    enum outbox_reason reason, const char *error, struct err *err) MUST_USE;

/* On a multi-writer database, locks the conversation of the row with
 * ${outbox_id} until the end of the transaction, and thereby the row.  Does
 * nothing and returns RC_OK if there is no such row, or if it is in no lane.
 * RC_BUSY: another transaction holds the lock; the caller returns this result,
 * and the whole transaction is tried again. */
enum rc dead_letter_lock(
    struct tx *tx, int64_t outbox_id, struct err *err) MUST_USE;

/* Requeues a failed or expired row: it is pending again at the end of its lane,
 * with a new retry budget and a new expiry, and its open dead letter, if there
 * is one, is resolved by ${by}.  Changes nothing, sets the refusal ${ret} and
 * returns RC_OK if there is no such row, or if it is in no lane, in another
 * state, or was created more than txn_env_options.requeue_ms ago (0: no
 * limit). */
enum rc dead_letter_requeue(struct tx *tx, int64_t outbox_id, const char *by,
    struct refusal *ret, struct err *err) MUST_USE;

/* Discards a row.  If it has failed or expired, its open dead letter is
 * resolved by ${by}.  If it is pending and not scheduled, it fails with the
 * reason "discarded" (dead_letter_make(), with a bounce), and its new dead
 * letter is resolved at once.  Sets the refusal ${ret} and returns RC_OK if
 * there is no such row, or if it is in no lane, is scheduled, is in another
 * state, or has failed or expired without an open dead letter. */
enum rc dead_letter_discard(struct tx *tx, int64_t outbox_id, const char *by,
    struct refusal *ret, struct err *err) MUST_USE;

/* Requeues a failed or expired row, as dead_letter_requeue() does, which
 * refuses a row that is older than requeue_ms.  Makes a pending row that is not
 * scheduled due now.  Changes nothing, sets the refusal ${ret} and returns
 * RC_OK if there is no such row, or if it is in no lane, is scheduled, or is in
 * another state. */
enum rc dead_letter_retry(struct tx *tx, int64_t outbox_id, const char *by,
    struct refusal *ret, struct err *err) MUST_USE;

#endif
