/* SPDX-License-Identifier: MIT */
/*
 * Dead letters: what has failed or expired.  The row, its dead letter, the
 * bounce in its sender's inbox and the gap in its lane are one transaction, and
 * so are the ways back.
 * Thread: writer.
 */
#ifndef DELIVERY_DEAD_LETTER_H
#define DELIVERY_DEAD_LETTER_H

#include "model/outbox.h"
#include "model/refusal.h"
#include "store/remote.h"
#include "txn/env.h"

/* Pending or sending row ${row} has ended because of ${reason}; ${error} (may
 * be NULL): what was said last. */
enum rc dead_letter_make(struct tx *tx, const struct store_row *row,
    enum outbox_reason reason, const char *error, struct err *err) MUST_USE;

/* The same of the row with ${outbox_id}. */
enum rc dead_letter_make_by_id(struct tx *tx, int64_t outbox_id,
    enum outbox_reason reason, const char *error, struct err *err) MUST_USE;

/* Where there are other nodes: the row with ${outbox_id}, if there is one, is
 * ours until the end of the transaction. */
enum rc dead_letter_lock(
    struct tx *tx, int64_t outbox_id, struct err *err) MUST_USE;

/* A failed or expired row is pending again, at the end of its lane, with a
 * fresh budget and a fresh expiry; ${by}: who says so.  ${ret} refuses when it
 * is in another state or too old. */
enum rc dead_letter_requeue(struct tx *tx, int64_t outbox_id, const char *by,
    struct refusal *ret, struct err *err) MUST_USE;

/* An open dead letter is put aside; a pending row fails as discarded.  ${ret}
 * refuses what is neither. */
enum rc dead_letter_discard(struct tx *tx, int64_t outbox_id, const char *by,
    struct refusal *ret, struct err *err) MUST_USE;

/* A failed or expired row is requeued; one that waits for a retry is due now.
 * ${ret} refuses what is neither. */
enum rc dead_letter_retry(struct tx *tx, int64_t outbox_id, const char *by,
    struct refusal *ret, struct err *err) MUST_USE;

#endif
