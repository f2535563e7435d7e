-- SPDX-License-Identifier: MIT
-- The business rows.

-- In the order of what clients choose, for which writers wait.
-- name: message_insert
WITH rows AS (
    SELECT * FROM unnest($1::bigint[], $2::uuid[], $3::uuid[], $4::bigint[],
        $5::bigint[], $6::bigint[], $7::text[], $8::text[], $9::text[],
        $10::text[], $11::uuid[], $12::bigint[], $13::bigint[], $14::bytea[],
        $15::bytea[], $16::bytea[])
        AS r (mid, message_id, event_id, conversation_id, conversation_seq,
            sender_id, body, content_type, metadata, correlation_id, reply_to,
            priority, event_time, fingerprint, salt, digest)),
ends AS (
    UPDATE conversations c
    SET last_seq = e.conversation_seq, last_digest = e.digest
    FROM (SELECT DISTINCT ON (conversation_id) conversation_id,
              conversation_seq, digest
          FROM rows WHERE conversation_seq IS NOT NULL
          ORDER BY conversation_id, conversation_seq DESC) e
    WHERE c.conversation_id = e.conversation_id
      AND c.last_seq < e.conversation_seq)
INSERT INTO messages (mid, message_id, event_id, conversation_id,
    conversation_seq, sender_id, body, content_type, metadata, correlation_id,
    reply_to, priority, event_time, created_at, fingerprint, salt, digest)
SELECT mid, message_id, event_id, conversation_id, conversation_seq, sender_id,
    body, content_type, metadata, correlation_id, reply_to, priority,
    event_time, event_time, fingerprint, salt, digest
FROM rows ORDER BY message_id;

-- name: message_key
SELECT mid, sender_id, fingerprint FROM messages WHERE message_id = $1;

-- name: message_last_id
SELECT coalesce(max(mid), 0) FROM messages;

-- The next $1 numbers, ascending.
-- name: message_ids
SELECT nextval('message_ids') FROM generate_series(1, $1::bigint);

-- name: message_uuid
SELECT message_id FROM messages WHERE mid = $1;

-- The outbox rows of a message.
-- name: message_rows
SELECT o.id FROM messages m JOIN outbox o ON o.event_id = m.event_id
WHERE m.message_id = $1 LIMIT $2;

-- name: message_release
WITH ends AS (
    UPDATE conversations c SET last_seq = $2, last_digest = $3
    FROM messages m
    WHERE m.mid = $1 AND m.conversation_seq IS NULL
      AND c.conversation_id = m.conversation_id AND c.last_seq < $2)
UPDATE messages SET conversation_seq = $2, digest = $3
WHERE mid = $1 AND conversation_seq IS NULL;

-- What one sender has sent, newest first: for the quota of a day.
-- name: message_sizes
SELECT mid, created_at, coalesce(octet_length(body), 0)
    + coalesce(octet_length(metadata), 0)
FROM messages WHERE sender_id = $1 AND mid < $2
ORDER BY mid DESC LIMIT $3;

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

-- What a member may see of a conversation, newest first: his own, or what has
-- been delivered to him (at most his delivered mark, and nothing still owed).
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
