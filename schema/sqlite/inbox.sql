-- SPDX-License-Identifier: MIT
-- Inbox events.

-- name: inbox_insert
INSERT INTO inbox (user_id, seq, kind, own, event_id, mid, conversation_id,
    conversation_seq, actor_id, outbox_id, event_time, delivered_at, attempt)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13);

-- name: inbox_heads
SELECT b.user_id, coalesce((SELECT max(i.seq) FROM inbox i
    WHERE i.user_id = b.user_id), b.trimmed)
FROM inboxes b WHERE b.user_id = $1;
