-- SPDX-License-Identifier: MIT
-- The totals of the outbox: the number of messages in each state, and counters
-- of everything that has happened to messages.

-- name: totals_add(pending, sending, sent, failed, expired, canceled,
--     scheduled, accepted_total, sent_total, acked_total, retries_total,
--     failed_total, expired_total, canceled_total, requeued_total,
--     rescues_total, fenced_total)
UPDATE outbox_totals SET pending = pending + $pending,
    sending = sending + $sending, sent = sent + $sent,
    failed = failed + $failed, expired = expired + $expired,
    canceled = canceled + $canceled, scheduled = scheduled + $scheduled,
    accepted_total = accepted_total + $accepted_total,
    sent_total = sent_total + $sent_total,
    acked_total = acked_total + $acked_total,
    retries_total = retries_total + $retries_total,
    failed_total = failed_total + $failed_total,
    expired_total = expired_total + $expired_total,
    canceled_total = canceled_total + $canceled_total,
    requeued_total = requeued_total + $requeued_total,
    rescues_total = rescues_total + $rescues_total,
    fenced_total = fenced_total + $fenced_total
WHERE one = 1;

-- Changes nothing: SQLite has one row of totals for all nodes.
-- name: totals_fold(node)
UPDATE outbox_totals SET one = 1 WHERE one = 1 AND $node = 0;

-- name: totals_get
-- columns: pending, sending, sent, failed, expired, canceled, scheduled,
--     accepted_total, sent_total, acked_total, retries_total, failed_total,
--     expired_total, canceled_total, requeued_total, rescues_total,
--     fenced_total
SELECT pending, sending, sent, failed, expired, canceled, scheduled,
    accepted_total, sent_total, acked_total, retries_total, failed_total,
    expired_total, canceled_total, requeued_total, rescues_total, fenced_total
FROM outbox_totals WHERE one = 1;
