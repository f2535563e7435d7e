-- SPDX-License-Identifier: MIT
-- The messages.

-- name: message_insert(mid, message_id, event_id, conversation_id,
--     conversation_seq, sender_id, body, content_type, metadata,
--     correlation_id, reply_to, priority, event_time, now, fingerprint, salt,
--     digest)
INSERT INTO messages (mid, message_id, event_id, conversation_id,
    conversation_seq, sender_id, body, content_type, metadata, correlation_id,
    reply_to, priority, event_time, created_at, fingerprint, salt, digest)
VALUES ($mid, $message_id, $event_id, $conversation_id, $conversation_seq,
    $sender_id, $body, $content_type, $metadata, $correlation_id, $reply_to,
    $priority, $event_time, $now, $fingerprint, $salt, $digest);

-- Returns the next $count numbers in ascending order.
-- name: message_ids(count)
-- columns: as new_id
WITH RECURSIVE ids (id) AS (
    SELECT coalesce(max(mid), 0) + 1 FROM messages
    UNION ALL
    SELECT id + 1 FROM ids
    LIMIT $count)
SELECT id FROM ids;

-- name: message_release(mid, conversation_seq, digest)
UPDATE messages SET conversation_seq = $conversation_seq, digest = $digest
WHERE mid = $mid AND conversation_seq IS NULL;

-- Reads the sizes of what one sender has sent, the newest first, for the daily
-- quota.
-- name: message_sizes(sender_id, before, limit)
-- columns: mid, created_at, bytes
SELECT mid, created_at, coalesce(length(CAST(body AS BLOB)), 0)
    + coalesce(length(CAST(metadata AS BLOB)), 0) AS bytes
FROM messages WHERE sender_id = $sender_id AND mid < $before
ORDER BY mid DESC LIMIT $limit;
