-- SPDX-License-Identifier: MIT
-- Outbox rows.

-- Returns the next $count numbers in ascending order.
-- name: outbox_ids(count)
-- columns: as new_id
WITH RECURSIVE ids (id) AS (
    SELECT coalesce(max(o.id), 0) + 1 FROM outbox o
    UNION ALL
    SELECT id + 1 FROM ids
    LIMIT $count)
SELECT id FROM ids;

-- name: outbox_insert(id, event_id, kind, mid, conversation_id,
--     conversation_seq, sender_id, lane_id, lane_seq, dest_kind, dest_id,
--     priority, state, deliver_at, expires_at, event_time, now, attempts,
--     attempt_at, sent_at, acked_at)
INSERT INTO outbox (id, event_id, kind, mid, conversation_id, conversation_seq,
    sender_id, lane_id, lane_seq, dest_kind, dest_id, priority, state,
    deliver_at, expires_at, event_time, created_at, last_status_at, attempts,
    last_attempt_at, sent_at, acked_at)
VALUES ($id, $event_id, $kind, $mid, $conversation_id, $conversation_seq,
    $sender_id, $lane_id, $lane_seq, $dest_kind, $dest_id, $priority, $state,
    $deliver_at, $expires_at, $event_time, $now, $now, $attempts, $attempt_at,
    $sent_at, $acked_at);

-- Reads the next pending rows of a lane, in order.
-- name: outbox_claim(lane_id, from_seq, limit)
-- columns: id, event_id, kind, mid, conversation_seq, sender_id, lane_seq,
--     dest_id, event_time, created_at, attempts, expires_at, deliver_at,
--     lane_id
SELECT id, event_id, kind, mid, conversation_seq, sender_id, lane_seq, dest_id,
    event_time, created_at, attempts, expires_at, deliver_at, lane_id
FROM outbox
WHERE lane_id = $lane_id AND lane_seq IS NOT NULL AND state = 'pending'
  AND dest_kind = 'user' AND lane_seq >= $from_seq
ORDER BY lane_seq LIMIT $limit;

-- name: outbox_settle_sent(id, now)
UPDATE outbox SET state = 'sent', attempts = attempts + 1, sent_at = $now,
    last_attempt_at = $now, last_status_at = $now, last_error = NULL,
    next_retry_at = NULL
WHERE id = $id AND state = 'pending';

-- Acks a message that its recipient has acked.
-- name: outbox_settle_acked(id, now)
UPDATE outbox SET state = 'acked', acked_at = $now, last_status_at = $now
WHERE id = $id AND state = 'sent';

-- name: outbox_release(id, lane_seq, conversation_seq, now)
UPDATE outbox SET lane_seq = $lane_seq, conversation_seq = $conversation_seq,
    last_status_at = $now
WHERE id = $id AND state = 'pending' AND lane_seq IS NULL;
