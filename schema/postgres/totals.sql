-- SPDX-License-Identifier: MIT
-- The totals of the outbox: the number of messages in each state, and counters
-- of everything that has happened to messages.

-- Adds to the row of this connection's node, which is the setting twinbox.node
-- (0 if it is not set).
-- name: totals_add(pending, sending, sent, failed, expired, canceled,
--     scheduled, accepted_total, sent_total, acked_total, retries_total,
--     failed_total, expired_total, canceled_total, requeued_total,
--     rescues_total, fenced_total)
INSERT INTO outbox_totals AS t (node, pending, sending, sent, failed, expired,
    canceled, scheduled, accepted_total, sent_total, acked_total,
    retries_total, failed_total, expired_total, canceled_total,
    requeued_total, rescues_total, fenced_total)
VALUES (coalesce(nullif(current_setting('twinbox.node', true), ''),
    '0')::bigint, $pending, $sending, $sent, $failed, $expired, $canceled,
    $scheduled, $accepted_total, $sent_total, $acked_total, $retries_total,
    $failed_total, $expired_total, $canceled_total, $requeued_total,
    $rescues_total, $fenced_total)
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

-- Adds the row of a node to row 0 and deletes it.  The sums of all rows stay
-- the same.
-- name: totals_fold(node)
WITH gone AS (
	DELETE FROM outbox_totals WHERE node = $node AND node <> 0 RETURNING *
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
-- columns: pending, sending, sent, failed, expired, canceled, scheduled,
--     accepted_total, sent_total, acked_total, retries_total, failed_total,
--     expired_total, canceled_total, requeued_total, rescues_total,
--     fenced_total
SELECT coalesce(sum(pending), 0)::bigint AS pending,
    coalesce(sum(sending), 0)::bigint AS sending,
    coalesce(sum(sent), 0)::bigint AS sent,
    coalesce(sum(failed), 0)::bigint AS failed,
    coalesce(sum(expired), 0)::bigint AS expired,
    coalesce(sum(canceled), 0)::bigint AS canceled,
    coalesce(sum(scheduled), 0)::bigint AS scheduled,
    coalesce(sum(accepted_total), 0)::bigint AS accepted_total,
    coalesce(sum(sent_total), 0)::bigint AS sent_total,
    coalesce(sum(acked_total), 0)::bigint AS acked_total,
    coalesce(sum(retries_total), 0)::bigint AS retries_total,
    coalesce(sum(failed_total), 0)::bigint AS failed_total,
    coalesce(sum(expired_total), 0)::bigint AS expired_total,
    coalesce(sum(canceled_total), 0)::bigint AS canceled_total,
    coalesce(sum(requeued_total), 0)::bigint AS requeued_total,
    coalesce(sum(rescues_total), 0)::bigint AS rescues_total,
    coalesce(sum(fenced_total), 0)::bigint AS fenced_total
FROM outbox_totals;
