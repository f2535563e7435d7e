-- SPDX-License-Identifier: MIT
-- The totals of the outbox: messages by state, and what has ever happened.

-- To the row of this connection's node (the setting twinbox.node; 0 without).
-- name: totals_add
INSERT INTO outbox_totals AS t (node, pending, sending, sent, failed, expired,
    canceled, scheduled, accepted_total, sent_total, acked_total,
    retries_total, failed_total, expired_total, canceled_total,
    requeued_total, rescues_total, fenced_total)
VALUES (coalesce(nullif(current_setting('twinbox.node', true), ''),
    '0')::bigint, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14,
    $15, $16, $17)
ON CONFLICT (node) DO UPDATE SET
    pending = t.pending + excluded.pending,
    sending = t.sending + excluded.sending,
    sent = t.sent + excluded.sent,
    failed = t.failed + excluded.failed,
    expired = t.expired + excluded.expired,
    canceled = t.canceled + excluded.canceled,
    scheduled = t.scheduled + excluded.scheduled,
    accepted_total = t.accepted_total + excluded.accepted_total,
    sent_total = t.sent_total + excluded.sent_total,
    acked_total = t.acked_total + excluded.acked_total,
    retries_total = t.retries_total + excluded.retries_total,
    failed_total = t.failed_total + excluded.failed_total,
    expired_total = t.expired_total + excluded.expired_total,
    canceled_total = t.canceled_total + excluded.canceled_total,
    requeued_total = t.requeued_total + excluded.requeued_total,
    rescues_total = t.rescues_total + excluded.rescues_total,
    fenced_total = t.fenced_total + excluded.fenced_total;

-- A node's row becomes part of row 0, and the sums stay what they are.
-- name: totals_fold
WITH gone AS (
	DELETE FROM outbox_totals WHERE node = $1 AND node <> 0 RETURNING *
)
INSERT INTO outbox_totals AS t (node, pending, sending, sent, failed, expired, canceled, scheduled, accepted_total,
    sent_total, acked_total, retries_total, failed_total, expired_total,
    canceled_total, requeued_total, rescues_total, fenced_total)
SELECT 0, pending, sending, sent, failed, expired, canceled, scheduled,
    accepted_total, sent_total, acked_total, retries_total, failed_total,
    expired_total, canceled_total, requeued_total, rescues_total, fenced_total
FROM gone
ON CONFLICT (node) DO UPDATE SET
    pending = t.pending + excluded.pending,
    sending = t.sending + excluded.sending,
    sent = t.sent + excluded.sent,
    failed = t.failed + excluded.failed,
    expired = t.expired + excluded.expired,
    canceled = t.canceled + excluded.canceled,
    scheduled = t.scheduled + excluded.scheduled,
    accepted_total = t.accepted_total + excluded.accepted_total,
    sent_total = t.sent_total + excluded.sent_total,
    acked_total = t.acked_total + excluded.acked_total,
    retries_total = t.retries_total + excluded.retries_total,
    failed_total = t.failed_total + excluded.failed_total,
    expired_total = t.expired_total + excluded.expired_total,
    canceled_total = t.canceled_total + excluded.canceled_total,
    requeued_total = t.requeued_total + excluded.requeued_total,
    rescues_total = t.rescues_total + excluded.rescues_total,
    fenced_total = t.fenced_total + excluded.fenced_total;

-- name: totals_get
SELECT coalesce(sum(pending), 0)::bigint,
    coalesce(sum(sending), 0)::bigint,
    coalesce(sum(sent), 0)::bigint,
    coalesce(sum(failed), 0)::bigint,
    coalesce(sum(expired), 0)::bigint,
    coalesce(sum(canceled), 0)::bigint,
    coalesce(sum(scheduled), 0)::bigint,
    coalesce(sum(accepted_total), 0)::bigint,
    coalesce(sum(sent_total), 0)::bigint,
    coalesce(sum(acked_total), 0)::bigint,
    coalesce(sum(retries_total), 0)::bigint,
    coalesce(sum(failed_total), 0)::bigint,
    coalesce(sum(expired_total), 0)::bigint,
    coalesce(sum(canceled_total), 0)::bigint,
    coalesce(sum(requeued_total), 0)::bigint,
    coalesce(sum(rescues_total), 0)::bigint,
    coalesce(sum(fenced_total), 0)::bigint
FROM outbox_totals;
