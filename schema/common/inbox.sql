-- SPDX-License-Identifier: MIT
-- Inbox events.

-- Events after a cursor with all that is needed to show them.
-- name: inbox_page
SELECT i.seq, i.kind, i.own, i.event_id, c.public_id, i.conversation_seq,
    a.name, i.event_time, i.delivered_at, i.attempt, m.message_id, m.body,
    m.content_type, m.metadata, m.correlation_id, m.reply_to, c.direct_key,
    p.read_upto, p.read_at,
    CASE WHEN i.kind = 5 THEN
      (SELECT b.reason FROM outbox b WHERE b.id = i.outbox_id) END
FROM inbox i
JOIN conversations c ON c.conversation_id = i.conversation_id
JOIN users a ON a.user_id = i.actor_id
JOIN messages m ON m.mid = i.mid
LEFT JOIN participants p ON p.conversation_id = i.conversation_id
    AND p.user_id = i.user_id
WHERE i.user_id = $1 AND i.seq > $2 AND i.seq <= $3
ORDER BY i.seq LIMIT $4;

-- Others' messages in a range, for acks and reads.
-- name: inbox_range
SELECT seq, mid, conversation_id, conversation_seq, actor_id, outbox_id
FROM inbox
WHERE user_id = $1 AND seq > $2 AND seq <= $3 AND kind = 1 AND own = 0
ORDER BY seq;

-- name: inbox_message
SELECT i.seq, i.mid, i.conversation_id, i.conversation_seq, i.actor_id, i.own
FROM messages m JOIN inbox i ON i.event_id = m.event_id
WHERE m.message_id = $1 AND i.user_id = $2;

-- The last of others' messages in a conversation up to a number.
-- name: message_last_of_others
SELECT m.mid, m.conversation_seq, m.sender_id FROM messages m
WHERE m.conversation_id = $1 AND m.conversation_seq <= $2
  AND m.sender_id <> $3 AND m.conversation_seq > $4
  AND EXISTS (SELECT 1 FROM inbox i
      WHERE i.event_id = m.event_id AND i.user_id = $3)
ORDER BY m.conversation_seq DESC LIMIT 1;
