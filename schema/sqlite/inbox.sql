-- SPDX-License-Identifier: MIT
-- Inbox events.

-- name: inbox_insert(user_id, seq, kind, own, event_id, origin, mid,
--     conversation_id, conversation_seq, actor_id, outbox_id, event_time,
--     delivered_at, attempt)
INSERT INTO inbox (user_id, seq, kind, own, event_id, origin, mid,
    conversation_id, conversation_seq, actor_id, outbox_id, event_time,
    delivered_at, attempt)
VALUES ($user_id, $seq, $kind, $own, $event_id, $origin, $mid,
    $conversation_id, $conversation_seq, $actor_id, $outbox_id, $event_time,
    $delivered_at, $attempt);

-- name: inbox_heads(user_id)
-- columns: user_id, head
SELECT b.user_id, coalesce((SELECT max(i.seq) FROM inbox i
    WHERE i.user_id = b.user_id), b.trimmed) AS head
FROM inboxes b WHERE b.user_id = $user_id;
