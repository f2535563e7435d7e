-- SPDX-License-Identifier: MIT
-- Dead letters, totals, and what operators did.

-- name: dead_insert
INSERT INTO dead_letter_queue (outbox_id, mid, sender_id, dest_id,
    destination_id, state, reason, last_error, attempts, retry_count,
    event_time, created_at, dead_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13);

-- name: dead_resolve
UPDATE dead_letter_queue SET resolution = $2, resolved_at = $3,
    resolved_by = $4
WHERE outbox_id = $1 AND resolution IS NULL;

-- name: totals_add
UPDATE outbox_totals SET pending = pending + $1, sending = sending + $2,
    sent = sent + $3, failed = failed + $4, expired = expired + $5,
    canceled = canceled + $6, scheduled = scheduled + $7,
    accepted_total = accepted_total + $8, sent_total = sent_total + $9,
    acked_total = acked_total + $10, retries_total = retries_total + $11,
    failed_total = failed_total + $12, expired_total = expired_total + $13,
    canceled_total = canceled_total + $14,
    requeued_total = requeued_total + $15,
    rescues_total = rescues_total + $16, fenced_total = fenced_total + $17
WHERE one = 1;

-- There is one row for all, in which everything is already.
-- name: totals_fold
UPDATE outbox_totals SET one = 1 WHERE one = 1 AND $1 = 0;

-- name: totals_get
SELECT pending, sending, sent, failed, expired, canceled, scheduled,
    accepted_total, sent_total, acked_total, retries_total, failed_total,
    expired_total, canceled_total, requeued_total, rescues_total, fenced_total
FROM outbox_totals WHERE one = 1;

-- name: audit_insert
INSERT INTO audit_log (at, actor, action, object, detail)
VALUES ($1, $2, $3, $4, $5);
