-- SPDX-License-Identifier: MIT
-- The business rows.

-- name: message_insert
INSERT INTO messages (mid, message_id, event_id, conversation_id,
    conversation_seq, sender_id, body, content_type, metadata, correlation_id,
    reply_to, priority, event_time, created_at, fingerprint, salt, digest)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13, $14, $15,
    $16);

-- The next $1 numbers, ascending.
-- name: message_ids
WITH RECURSIVE ids (id) AS (
    SELECT coalesce(max(mid), 0) + 1 FROM messages
    UNION ALL
    SELECT id + 1 FROM ids
    LIMIT $1)
SELECT id FROM ids;

-- name: message_release
UPDATE messages SET conversation_seq = $2, digest = $3
WHERE mid = $1 AND conversation_seq IS NULL;

-- What one sender has sent, newest first: for the quota of a day.
-- name: message_sizes
SELECT mid, created_at, coalesce(length(CAST(body AS BLOB)), 0)
    + coalesce(length(CAST(metadata AS BLOB)), 0)
FROM messages WHERE sender_id = $1 AND mid < $2
ORDER BY mid DESC LIMIT $3;
