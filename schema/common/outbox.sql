-- SPDX-License-Identifier: MIT
-- Outbox rows.

-- name: outbox_last_id
SELECT coalesce(max(id), 0) FROM outbox;

-- What a person has read is acked, too: others' messages in a conversation.
-- name: outbox_settle_read
UPDATE outbox SET state = 'acked', acked_at = $5, last_status_at = $5
WHERE event_id IN (SELECT m.event_id FROM messages m
      WHERE m.conversation_id = $1 AND m.conversation_seq > $2
        AND m.conversation_seq <= $3 AND m.sender_id <> $4)
  AND dest_kind = 'user' AND dest_id = $4 AND state = 'sent';

-- A receipt of the same kind that has not left yet: it will be moved on.  Not
-- a read receipt ($2 is 3) before a delivered one: moved on it would cover what
-- comes after it.
-- name: outbox_receipt_pending
SELECT r.id FROM outbox r
WHERE r.kind = $2 AND r.id = (SELECT o.id FROM outbox o
    WHERE o.lane_id = $1 AND o.lane_seq IS NOT NULL AND o.state = 'pending'
      AND o.dest_kind = 'user' AND o.kind <= $2 AND o.sender_id = $3
    ORDER BY o.lane_seq DESC LIMIT 1);

-- name: outbox_receipt_move
UPDATE outbox SET mid = $2, conversation_seq = $3, event_time = $4
WHERE id = $1 AND state = 'pending';

-- name: outbox_of_event
SELECT o.id, u.name, o.state, o.attempts, o.retry_count, o.last_attempt_at,
    o.last_status_at, o.next_retry_at, o.sent_at, o.acked_at, o.last_error,
    o.deliver_at, o.expires_at, p.shown_upto, p.shown_at, o.lane_seq, o.lane_id,
    o.dest_id, o.reason
FROM outbox o
JOIN users u ON u.user_id = o.dest_id
LEFT JOIN participants p ON p.conversation_id = o.conversation_id
    AND p.user_id = o.dest_id
WHERE o.event_id = $1 AND o.dest_kind >= 'server' -- and 'user'
ORDER BY o.dest_kind, o.dest_id;

-- name: outbox_cancel
UPDATE outbox SET state = 'canceled', last_status_at = $2
WHERE id = $1 AND state = 'pending';

-- name: outbox_scheduled_count
SELECT count(*) FROM outbox
WHERE state = 'pending' AND lane_seq IS NULL AND sender_id = $1;

-- name: outbox_pending_count
SELECT count(*) FROM outbox
WHERE state = 'pending' AND lane_seq IS NOT NULL AND dest_kind = 'user';

-- Which of them may be released says the lock of their conversations (lock_due).
-- name: outbox_due
SELECT o.id, o.event_id, o.mid, o.conversation_id, o.sender_id, o.lane_id,
    o.event_time, m.message_id, m.salt, m.body, o.priority
FROM outbox o JOIN messages m ON m.mid = o.mid
WHERE o.state = 'pending' AND o.lane_seq IS NULL AND o.deliver_at <= $1
ORDER BY o.deliver_at, o.id LIMIT $2;

-- name: outbox_next_scheduled
SELECT min(deliver_at) FROM outbox WHERE state = 'pending' AND lane_seq IS NULL;
