-- SPDX-License-Identifier: MIT
-- The business rows.

-- name: message_key
SELECT mid, sender_id, fingerprint FROM messages WHERE message_id = $1;

-- name: message_last_id
SELECT coalesce(max(mid), 0) FROM messages;

-- name: message_uuid
SELECT message_id FROM messages WHERE mid = $1;

-- The outbox rows of a message.
-- name: message_rows
SELECT o.id FROM messages m JOIN outbox o ON o.event_id = m.event_id
WHERE m.message_id = $1 LIMIT $2;

-- One of mine as its outbox entry shows it.
-- name: message_entry
SELECT m.mid, m.message_id, m.event_id, c.public_id, m.conversation_seq,
    m.content_type, m.metadata, m.correlation_id, m.reply_to, m.priority,
    m.event_time, m.created_at, c.kind, c.conversation_id
FROM messages m JOIN conversations c ON c.conversation_id = m.conversation_id
WHERE m.message_id = $1 AND m.sender_id = $2;

-- name: message_entries
SELECT m.mid, m.message_id, m.event_id, c.public_id, m.conversation_seq,
    m.content_type, m.metadata, m.correlation_id, m.reply_to, m.priority,
    m.event_time, m.created_at, c.kind, c.conversation_id
FROM messages m JOIN conversations c ON c.conversation_id = m.conversation_id
WHERE m.sender_id = $1 AND m.mid < $2
ORDER BY m.mid DESC LIMIT $3;

-- The messages of a conversation that a member may see, newest first: the
-- member's own, and those that were delivered to the member (up to the delivered
-- mark, without those that still wait).
-- name: history_before
SELECT m.message_id, m.event_id, m.conversation_seq, m.sender_id, u.name,
    m.body, m.content_type, m.metadata, m.correlation_id, m.reply_to,
    m.event_time
FROM messages m JOIN users u ON u.user_id = m.sender_id
WHERE m.conversation_id = $1 AND m.conversation_seq < $3
  AND (m.sender_id = $2 OR (m.conversation_seq <= $4
    AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.event_id = m.event_id
      AND o.dest_kind = 'user' AND o.dest_id = $2
      AND o.state NOT IN ('sent', 'acked'))))
ORDER BY m.conversation_seq DESC LIMIT $5;

-- name: history_after
SELECT m.message_id, m.event_id, m.conversation_seq, m.sender_id, u.name,
    m.body, m.content_type, m.metadata, m.correlation_id, m.reply_to,
    m.event_time
FROM messages m JOIN users u ON u.user_id = m.sender_id
WHERE m.conversation_id = $1 AND m.conversation_seq > $3
  AND (m.sender_id = $2 OR (m.conversation_seq <= $4
    AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.event_id = m.event_id
      AND o.dest_kind = 'user' AND o.dest_id = $2
      AND o.state NOT IN ('sent', 'acked'))))
ORDER BY m.conversation_seq LIMIT $5;

-- name: message_visible
SELECT m.message_id, m.event_id, m.conversation_seq, m.sender_id, u.name,
    m.body, m.content_type, m.metadata, m.correlation_id, m.reply_to,
    m.event_time, c.public_id, c.conversation_id
FROM messages m JOIN users u ON u.user_id = m.sender_id
JOIN conversations c ON c.conversation_id = m.conversation_id
WHERE m.message_id = $1
  AND (m.sender_id = $2 OR EXISTS (SELECT 1 FROM inbox i
      WHERE i.event_id = m.event_id AND i.user_id = $2));
