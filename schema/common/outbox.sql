-- SPDX-License-Identifier: MIT
-- Outbox rows.

-- name: outbox_last_id
-- columns: last_id
SELECT coalesce(max(id), 0) AS last_id FROM outbox;

-- Acks what a user has read: the messages of others in a conversation.
-- name: outbox_settle_read(conversation_id, after, upto, user_id, now)
UPDATE outbox SET state = 'acked', acked_at = $now, last_status_at = $now
WHERE event_id IN (SELECT m.event_id FROM messages m
      WHERE m.conversation_id = $conversation_id AND m.conversation_seq > $after
        AND m.conversation_seq <= $upto AND m.sender_id <> $user_id)
  AND conversation_id = $conversation_id
  AND dest_kind = 'user' AND dest_id = $user_id AND state = 'sent';

-- Finds the pending receipt of the same kind that is to be moved to a later
-- message.  A read receipt ($kind is EVENT_READ) is not found if a delivered
-- receipt follows it in the lane: if moved, it would cover messages whose
-- delivered receipt comes after it.
-- name: outbox_receipt_pending(lane_id, kind, sender_id)
-- columns: id
SELECT r.id FROM outbox r
WHERE r.kind = $kind AND r.id = (SELECT o.id FROM outbox o
    WHERE o.lane_id = $lane_id AND o.lane_seq IS NOT NULL
      AND o.state = 'pending'
      AND o.dest_kind = 'user' AND o.kind <= $kind AND o.sender_id = $sender_id
    ORDER BY o.lane_seq DESC LIMIT 1);

-- name: outbox_receipt_move(id, mid, conversation_seq, event_time)
UPDATE outbox SET mid = $mid, conversation_seq = $conversation_seq,
    event_time = $event_time
WHERE id = $id AND state = 'pending';

-- name: outbox_of_event(event_id)
-- columns: id, name, state, attempts, retry_count, last_attempt_at,
--     last_status_at, next_retry_at, sent_at, acked_at, last_error,
--     deliver_at, expires_at, shown_upto, shown_at, lane_seq, lane_id,
--     dest_id, reason
SELECT o.id, u.name, o.state, o.attempts, o.retry_count, o.last_attempt_at,
    o.last_status_at, o.next_retry_at, o.sent_at, o.acked_at, o.last_error,
    o.deliver_at, o.expires_at, p.shown_upto, p.shown_at, o.lane_seq, o.lane_id,
    o.dest_id, o.reason
FROM outbox o
JOIN users u ON u.user_id = o.dest_id
LEFT JOIN participants p ON p.conversation_id = o.conversation_id
    AND p.user_id = o.dest_id
WHERE o.event_id = $event_id AND o.dest_kind >= 'server' -- and 'user'
ORDER BY o.dest_kind, o.dest_id;

-- name: outbox_cancel(id, now)
UPDATE outbox SET state = 'canceled', last_status_at = $now
WHERE id = $id AND state = 'pending';

-- name: outbox_scheduled_count(sender_id)
-- columns: count
SELECT count(*) AS count FROM outbox
WHERE state = 'pending' AND lane_seq IS NULL AND sender_id = $sender_id;

-- name: outbox_pending_count
-- columns: count
SELECT count(*) AS count FROM outbox
WHERE state = 'pending' AND lane_seq IS NOT NULL AND dest_kind = 'user';

-- Reads scheduled messages that are due.  The caller releases only those whose
-- conversations it has locked (lock_due).
-- name: outbox_due(now, limit)
-- columns: id, event_id, mid, conversation_id, sender_id, lane_id,
--     event_time, message_id, salt, body, priority
SELECT o.id, o.event_id, o.mid, o.conversation_id, o.sender_id, o.lane_id,
    o.event_time, m.message_id, m.salt, m.body, o.priority
FROM outbox o JOIN messages m ON m.mid = o.mid
WHERE o.state = 'pending' AND o.lane_seq IS NULL AND o.deliver_at <= $now
ORDER BY o.deliver_at, o.id LIMIT $limit;

-- name: outbox_next_scheduled
-- columns: deliver_at
SELECT min(deliver_at) AS deliver_at FROM outbox
WHERE state = 'pending' AND lane_seq IS NULL;
