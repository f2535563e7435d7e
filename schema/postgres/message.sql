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

-- The next $1 numbers, ascending.
-- name: message_ids
SELECT nextval('message_ids') FROM generate_series(1, $1::bigint);

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
