-- SPDX-License-Identifier: MIT
-- Inbox events.

-- name: inbox_insert
WITH rows AS (
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[],
        $4::bigint[], $5::uuid[], $6::bigint[], $7::bigint[], $8::bigint[],
        $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[],
        $13::bigint[])
        AS r (user_id, seq, kind, own, event_id, mid, conversation_id,
            conversation_seq, actor_id, outbox_id, event_time, delivered_at,
            attempt)),
heads AS (
    UPDATE inboxes b SET head = h.head
    FROM (SELECT user_id, max(seq) AS head FROM rows GROUP BY user_id) h
    WHERE b.user_id = h.user_id AND b.head < h.head)
INSERT INTO inbox (user_id, seq, kind, own, event_id, mid, conversation_id,
    conversation_seq, actor_id, outbox_id, event_time, delivered_at, attempt)
SELECT user_id, seq, kind, own, event_id, mid, conversation_id,
    conversation_seq, actor_id, outbox_id, event_time, delivered_at, attempt
FROM rows;

-- name: inbox_heads
SELECT b.user_id, b.head FROM inboxes b
WHERE b.user_id = ANY ($1::bigint[]);
