/* SPDX-License-Identifier: MIT */
/*
 * Dead letters: messages that have failed or expired.  The state of the row,
 * its dead letter, the bounce in its sender's inbox and the gap in its lane are
 * written in one transaction; requeue, retry and discard are one transaction,
 * too.
 * Thread: writer.
 */
#ifndef DELIVERY_DEAD_LETTER_H
#define DELIVERY_DEAD_LETTER_H

#include "model/outbox.h"
#include "model/refusal.h"
#include "store/remote.h"
#include "txn/env.h"

/* Ends ${row}, which is pending or sending, for ${reason}.  ${error} is the
 * last error text, or NULL.  A receipt gets no dead letter and no bounce. */
enum rc dead_letter_make(struct tx *tx, const struct store_row *row,
    enum outbox_reason reason, const char *error, struct err *err) MUST_USE;

/* As dead_letter_make(), for the row with ${outbox_id}. */
enum rc dead_letter_make_by_id(struct tx *tx, int64_t outbox_id,
    enum outbox_reason reason, const char *error, struct err *err) MUST_USE;

/* On a multi-writer database, locks the conversation of the row with
 * ${outbox_id} until the end of the transaction, and thereby the row.  Does
 * nothing if there is no such row, or if it is in no lane.  RC_BUSY: see
 * cache_conversation_by_id(). */
enum rc dead_letter_lock(
    struct tx *tx, int64_t outbox_id, struct err *err) MUST_USE;

/* Requeues a failed or expired row: it is pending again at the end of its lane,
 * with a new retry budget and a new expiry.  ${by} is who requests it.  Sets
 * ${ret} if there is no such row, or if it is in no lane, in another state, or
 * older than txn_env_options.requeue_ms (0: no limit). */
enum rc dead_letter_requeue(struct tx *tx, int64_t outbox_id, const char *by,
    struct refusal *ret, struct err *err) MUST_USE;

/* Discards a row: an open dead letter is resolved, and a pending row that is
 * not scheduled fails with the reason "discarded".  Sets ${ret} if there is no
 * such row, if it is in no lane, or if neither case applies. */
enum rc dead_letter_discard(struct tx *tx, int64_t outbox_id, const char *by,
    struct refusal *ret, struct err *err) MUST_USE;

/* Requeues a failed or expired row, or refuses that as dead_letter_requeue()
 * does.  Makes a pending row that is not scheduled due now.  Sets ${ret} if
 * there is no such row, or if it is in no lane or in another state. */
enum rc dead_letter_retry(struct tx *tx, int64_t outbox_id, const char *by,
    struct refusal *ret, struct err *err) MUST_USE;

#endif
