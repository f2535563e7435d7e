-- SPDX-License-Identifier: MIT
-- The reads of the scrubber, a piece at a time after a position.  It reads
-- every row of every table, so that it finds damaged pages, and checks what
-- follows from the row before.

-- row: scrubbed(key, subkey, value)
-- row: scrubbed_text(key, name, value)

-- name: scrub_chain(key, subkey, limit)
-- columns: as link, metadata, deleted_at
SELECT m.conversation_id, m.conversation_seq, m.message_id, u.name AS sender,
    m.salt, m.body, m.digest, m.metadata, m.deleted_at
FROM messages m JOIN users u ON u.user_id = m.sender_id
WHERE m.conversation_seq IS NOT NULL
  AND (m.conversation_id, m.conversation_seq) > ($key, $subkey)
ORDER BY m.conversation_id, m.conversation_seq LIMIT $limit;

-- name: scrub_inbox(key, subkey, limit)
-- columns: user_id, seq, trimmed, attempt
SELECT i.user_id, i.seq, b.trimmed, i.attempt
FROM inbox i JOIN inboxes b ON b.user_id = i.user_id
WHERE (i.user_id, i.seq) > ($key, $subkey)
ORDER BY i.user_id, i.seq LIMIT $limit;

-- name: scrub_attempts(key, limit)
-- columns: as scrubbed
SELECT attempt_id AS key, 0 AS subkey, error AS value FROM outbox_attempts
WHERE attempt_id > $key ORDER BY attempt_id LIMIT $limit;

-- name: scrub_dead(key, limit)
-- columns: as scrubbed
SELECT dead_id AS key, 0 AS subkey, resolved_by AS value FROM dead_letter_queue
WHERE dead_id > $key ORDER BY dead_id LIMIT $limit;

-- name: scrub_audit(key, limit)
-- columns: as scrubbed
SELECT audit_id AS key, 0 AS subkey, detail AS value FROM audit_log
WHERE audit_id > $key ORDER BY audit_id LIMIT $limit;

-- name: scrub_meta(key, limit)
-- columns: as scrubbed
SELECT key, 0 AS subkey, value FROM meta WHERE key > $key
ORDER BY key LIMIT $limit;

-- name: scrub_nodes(key, limit)
-- columns: as scrubbed
SELECT node_id AS key, 0 AS subkey, CAST(left_at AS TEXT) AS value FROM nodes
WHERE node_id > $key ORDER BY node_id LIMIT $limit;

-- name: scrub_server_keys(key, limit)
-- columns: as scrubbed
SELECT key_id AS key, 0 AS subkey, CAST(retired_at AS TEXT) AS value
FROM server_keys WHERE key_id > $key ORDER BY key_id LIMIT $limit;

-- name: scrub_peers(key, limit)
-- columns: as scrubbed
SELECT destination_id AS key, 0 AS subkey, blocked_by AS value FROM peers
WHERE destination_id > $key ORDER BY destination_id LIMIT $limit;

-- name: scrub_peer_keys(key, name, limit)
-- columns: as scrubbed_text
SELECT destination_id AS key, key_id AS name, CAST(retired_at AS TEXT) AS value
FROM peer_keys WHERE (destination_id, key_id) > ($key, $name)
ORDER BY destination_id, key_id LIMIT $limit;

-- name: scrub_nonces(key, name, nonce, limit)
-- columns: as scrubbed_text, nonce
SELECT destination_id AS key, key_id AS name,
    CAST(keep_until AS TEXT) AS value, nonce
FROM federation_nonces
WHERE (destination_id, key_id, nonce) > ($key, $name, $nonce)
ORDER BY destination_id, key_id, nonce LIMIT $limit;

-- The subkey holds both the recipient and the class, which is 0 or 1.
-- name: scrub_federation_lanes(key, subkey, limit)
-- columns: as scrubbed
SELECT sender_id AS key, recipient_id * 2 + class AS subkey,
    CAST(highest_at AS TEXT) AS value
FROM federation_lanes
WHERE (sender_id, recipient_id, class) > ($key, $subkey / 2, $subkey % 2)
ORDER BY sender_id, recipient_id, class LIMIT $limit;
