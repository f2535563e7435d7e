-- SPDX-License-Identifier: MIT
-- The totals of the outbox: messages by state, and what has ever happened.

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
