-- SPDX-License-Identifier: MIT
-- The messages.

-- row: entry(mid, message_id, event_id, public_id, conversation_seq,
--     content_type, metadata, correlation_id, reply_to, priority, event_time,
--     created_at, kind, conversation_id)
-- row: history(message_id, event_id, conversation_seq, sender_id, sender,
--     body, content_type, metadata, correlation_id, reply_to, event_time)
-- row: new_id(id)

-- name: message_key(message_id)
-- columns: mid, sender_id, fingerprint
SELECT mid, sender_id, fingerprint FROM messages WHERE message_id = $message_id;

-- name: message_last_id
-- columns: last_id
SELECT coalesce(max(mid), 0) AS last_id FROM messages;

-- name: message_uuid(mid)
-- columns: message_id
SELECT message_id FROM messages WHERE mid = $mid;

-- Lists the outbox rows of a message.
-- name: message_rows(message_id, limit)
-- columns: id
SELECT o.id FROM messages m JOIN outbox o ON o.event_id = m.event_id
    AND o.mid = m.mid
WHERE m.message_id = $message_id LIMIT $limit;

-- Reads a message of $sender_id as its outbox entry shows it.
-- name: message_entry(message_id, sender_id)
-- columns: as entry
SELECT m.mid, m.message_id, m.event_id, c.public_id, m.conversation_seq,
    m.content_type, m.metadata, m.correlation_id, m.reply_to, m.priority,
    m.event_time, m.created_at, c.kind, c.conversation_id
FROM messages m JOIN conversations c ON c.conversation_id = m.conversation_id
WHERE m.message_id = $message_id AND m.sender_id = $sender_id;

-- name: message_entries(sender_id, before, limit)
-- columns: as entry
SELECT m.mid, m.message_id, m.event_id, c.public_id, m.conversation_seq,
    m.content_type, m.metadata, m.correlation_id, m.reply_to, m.priority,
    m.event_time, m.created_at, c.kind, c.conversation_id
FROM messages m JOIN conversations c ON c.conversation_id = m.conversation_id
WHERE m.sender_id = $sender_id AND m.mid < $before
ORDER BY m.mid DESC LIMIT $limit;

-- Reads the messages of a conversation that a member may see, the newest first:
-- the member's own, and those that were delivered to the member.  Delivered
-- messages are those up to the delivered watermark, except those whose outbox
-- row is neither sent nor acked.
-- name: history_before(conversation_id, user_id, seq, delivered_upto, limit)
-- columns: as history
SELECT m.message_id, m.event_id, m.conversation_seq, m.sender_id,
    u.name AS sender, m.body, m.content_type, m.metadata, m.correlation_id,
    m.reply_to, m.event_time
FROM messages m JOIN users u ON u.user_id = m.sender_id
WHERE m.conversation_id = $conversation_id AND m.conversation_seq < $seq
  AND (m.sender_id = $user_id OR (m.conversation_seq <= $delivered_upto
    AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.event_id = m.event_id
      AND o.mid = m.mid AND o.dest_kind = 'user' AND o.dest_id = $user_id
      AND o.state NOT IN ('sent', 'acked'))))
ORDER BY m.conversation_seq DESC LIMIT $limit;

-- name: history_after(conversation_id, user_id, seq, delivered_upto, limit)
-- columns: as history
SELECT m.message_id, m.event_id, m.conversation_seq, m.sender_id,
    u.name AS sender, m.body, m.content_type, m.metadata, m.correlation_id,
    m.reply_to, m.event_time
FROM messages m JOIN users u ON u.user_id = m.sender_id
WHERE m.conversation_id = $conversation_id AND m.conversation_seq > $seq
  AND (m.sender_id = $user_id OR (m.conversation_seq <= $delivered_upto
    AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.event_id = m.event_id
      AND o.mid = m.mid AND o.dest_kind = 'user' AND o.dest_id = $user_id
      AND o.state NOT IN ('sent', 'acked'))))
ORDER BY m.conversation_seq LIMIT $limit;

-- Reads a message as a user sees it who has sent or received it.  The unary
-- plus keeps SQLite from walking along the whole inbox of the user.
-- name: message_visible(message_id, user_id)
-- columns: as history, public_id, conversation_id
SELECT m.message_id, m.event_id, m.conversation_seq, m.sender_id,
    u.name AS sender, m.body, m.content_type, m.metadata, m.correlation_id,
    m.reply_to, m.event_time, c.public_id, c.conversation_id
FROM messages m JOIN users u ON u.user_id = m.sender_id
JOIN conversations c ON c.conversation_id = m.conversation_id
WHERE m.message_id = $message_id
  AND (m.sender_id = $user_id OR EXISTS (SELECT 1 FROM inbox i
      WHERE i.event_id = m.event_id AND +i.user_id = $user_id
        AND i.mid = m.mid AND i.kind = EVENT_MESSAGE));
