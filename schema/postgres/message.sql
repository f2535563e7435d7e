-- SPDX-License-Identifier: MIT
-- The messages.

-- Inserts in the order of message_id.  Clients choose these ids, and a writer
-- waits for another one that inserts the same id.  With one order for all
-- writers there is no deadlock.
-- name: message_insert(mid, message_id, event_id, conversation_id,
--     conversation_seq, sender_id, body, content_type, metadata,
--     correlation_id, reply_to, priority, event_time, now, fingerprint, salt,
--     digest)
WITH rows AS (
    SELECT * FROM unnest($mid::bigint[], $message_id::uuid[], $event_id::uuid[],
        $conversation_id::bigint[], $conversation_seq::bigint[],
        $sender_id::bigint[], $body::text[], $content_type::text[],
        $metadata::text[], $correlation_id::text[], $reply_to::uuid[],
        $priority::bigint[], $event_time::bigint[], $now::bigint[],
        $fingerprint::bytea[], $salt::bytea[], $digest::bytea[])
        AS r (mid, message_id, event_id, conversation_id, conversation_seq,
            sender_id, body, content_type, metadata, correlation_id, reply_to,
            priority, event_time, created_at, fingerprint, salt, digest)),
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
    event_time, created_at, fingerprint, salt, digest
FROM rows ORDER BY message_id;

-- Returns the next $count numbers in ascending order.
-- name: message_ids(count)
-- columns: as new_id
SELECT nextval('message_ids') AS id FROM generate_series(1, $count::bigint);

-- name: message_release(mid, conversation_seq, digest)
WITH ends AS (
    UPDATE conversations c SET last_seq = $conversation_seq,
        last_digest = $digest
    FROM messages m
    WHERE m.mid = $mid AND m.conversation_seq IS NULL
      AND c.conversation_id = m.conversation_id
          AND c.last_seq < $conversation_seq)
UPDATE messages SET conversation_seq = $conversation_seq, digest = $digest
WHERE mid = $mid AND conversation_seq IS NULL;

-- Reads the sizes of what one sender has sent, the newest first, for the daily
-- quota.
-- name: message_sizes(sender_id, before, limit)
-- columns: mid, created_at, bytes
SELECT mid, created_at, coalesce(octet_length(body), 0)
    + coalesce(octet_length(metadata), 0) AS bytes
FROM messages WHERE sender_id = $sender_id AND mid < $before
ORDER BY mid DESC LIMIT $limit;
