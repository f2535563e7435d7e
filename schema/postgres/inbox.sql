-- SPDX-License-Identifier: MIT
-- Inbox events.

-- name: inbox_insert(user_id, seq, kind, own, event_id, origin, mid,
--     conversation_id, conversation_seq, actor_id, outbox_id, event_time,
--     delivered_at, attempt)
WITH rows AS (
    SELECT * FROM unnest($user_id::bigint[], $seq::bigint[], $kind::bigint[],
        $own::bigint[], $event_id::uuid[], $origin::bigint[], $mid::bigint[],
        $conversation_id::bigint[], $conversation_seq::bigint[],
        $actor_id::bigint[], $outbox_id::bigint[], $event_time::bigint[],
        $delivered_at::bigint[], $attempt::bigint[])
        AS r (user_id, seq, kind, own, event_id, origin, mid,
            conversation_id, conversation_seq, actor_id, outbox_id, event_time,
            delivered_at, attempt)),
heads AS (
    UPDATE inboxes b SET head = h.head
    FROM (SELECT user_id, max(seq) AS head FROM rows GROUP BY user_id) h
    WHERE b.user_id = h.user_id AND b.head < h.head)
INSERT INTO inbox (user_id, seq, kind, own, event_id, origin, mid,
    conversation_id, conversation_seq, actor_id, outbox_id, event_time,
    delivered_at, attempt)
SELECT user_id, seq, kind, own, event_id, origin, mid, conversation_id,
    conversation_seq, actor_id, outbox_id, event_time, delivered_at, attempt
FROM rows;

-- name: inbox_heads(user_id)
-- columns: user_id, head
SELECT b.user_id, b.head FROM inboxes b
WHERE b.user_id = ANY ($user_id::bigint[]);
