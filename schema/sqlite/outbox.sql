-- SPDX-License-Identifier: MIT
-- Outbox rows.

-- The next $1 numbers, ascending.
-- name: outbox_ids
WITH RECURSIVE ids (id) AS (
    SELECT coalesce(max(o.id), 0) + 1 FROM outbox o
    UNION ALL
    SELECT id + 1 FROM ids
    LIMIT $1)
SELECT id FROM ids;

-- name: outbox_insert
INSERT INTO outbox (id, event_id, kind, mid, conversation_id, conversation_seq,
    sender_id, lane_id, lane_seq, dest_kind, dest_id, priority, state,
    deliver_at, expires_at, event_time, created_at, last_status_at, sent_at,
    acked_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16,
    $17, $17, $18, $18);

-- What a lane owes next, in order.
-- name: outbox_claim
SELECT id, event_id, kind, mid, conversation_seq, sender_id, lane_seq, dest_id,
    event_time, created_at, attempts, expires_at, deliver_at, lane_id
FROM outbox
WHERE lane_id = $1 AND lane_seq IS NOT NULL AND state = 'pending'
  AND dest_kind = 'user' AND lane_seq >= $2
ORDER BY lane_seq LIMIT $3;

-- name: outbox_settle_sent
UPDATE outbox SET state = 'sent', attempts = attempts + 1, sent_at = $2,
    last_attempt_at = $2, last_status_at = $2, last_error = NULL,
    next_retry_at = NULL
WHERE id = $1 AND state = 'pending';

-- A message that its recipient acked.
-- name: outbox_settle_acked
UPDATE outbox SET state = 'acked', acked_at = $2, last_status_at = $2
WHERE id = $1 AND state = 'sent';

-- name: outbox_release
UPDATE outbox SET lane_seq = $2, conversation_seq = $3, last_status_at = $4
WHERE id = $1 AND state = 'pending' AND lane_seq IS NULL;
