-- SPDX-License-Identifier: MIT
-- Events, requests and receipts of other servers.

-- row: covered(id, mid)

-- Whether an event was taken before.
-- name: processed_find(event_id, origin)
-- columns: processed_at
SELECT processed_at FROM processed_messages
WHERE event_id = $event_id AND origin = $origin;

-- name: processed_insert(event_id, origin, now)
INSERT INTO processed_messages (event_id, origin, processed_at)
VALUES ($event_id, $origin, $now);

-- The message that an event of another server has put into an inbox.
-- name: incoming_find(event_id, user_id, origin)
-- columns: mid, fingerprint
SELECT m.mid, m.fingerprint FROM inbox i JOIN messages m ON m.mid = i.mid
WHERE i.event_id = $event_id AND i.user_id = $user_id AND i.origin = $origin;

-- name: nonce_find(destination_id, key_id, nonce)
-- columns: keep_until
SELECT keep_until FROM federation_nonces
WHERE destination_id = $destination_id AND key_id = $key_id AND nonce = $nonce;

-- One that another node has just taken changes nothing.
-- name: nonce_insert(destination_id, key_id, nonce, keep_until)
INSERT INTO federation_nonces (destination_id, key_id, nonce, keep_until)
VALUES ($destination_id, $key_id, $nonce, $keep_until)
ON CONFLICT (destination_id, key_id, nonce) DO NOTHING;

-- Signatures with these are good no more: a few go with each request, so that
-- there are never more than of the last minutes.
-- name: nonce_expire(now, limit)
DELETE FROM federation_nonces WHERE (destination_id, key_id, nonce) IN (
    SELECT destination_id, key_id, nonce FROM federation_nonces
    WHERE keep_until < $now ORDER BY keep_until LIMIT $limit);

-- name: sequence_get(sender_id, recipient_id, class)
-- columns: last_sequence
SELECT last_sequence FROM federation_lanes
WHERE sender_id = $sender_id AND recipient_id = $recipient_id
  AND class = $class;

-- name: sequence_set(sender_id, recipient_id, class, last_sequence)
INSERT INTO federation_lanes (sender_id, recipient_id, class, last_sequence)
VALUES ($sender_id, $recipient_id, $class, $last_sequence)
ON CONFLICT (sender_id, recipient_id, class)
    DO UPDATE SET last_sequence = excluded.last_sequence;

-- The message that a receipt is about.
-- name: receipt_target(message_id)
-- columns: mid, sender_id, conversation_id, conversation_seq
SELECT mid, sender_id, conversation_id, conversation_seq FROM messages
WHERE message_id = $message_id;

-- The message of $sender_id that $skip others of the same sender in a part of a
-- conversation come before.
-- name: receipt_step(conversation_id, after, upto, sender_id, skip)
-- columns: mid, conversation_seq
SELECT mid, conversation_seq FROM messages
WHERE conversation_id = $conversation_id AND conversation_seq > $after
  AND conversation_seq <= $upto AND sender_id = $sender_id
ORDER BY conversation_seq LIMIT 1 OFFSET $skip;

-- The outbox row of the one message that a receipt names.
-- name: receipt_row(mid, dest_id)
-- columns: as covered
SELECT o.id, o.mid FROM messages m JOIN outbox o ON o.event_id = m.event_id
WHERE m.mid = $mid AND o.dest_kind = 'server' AND o.dest_id = $dest_id
  AND o.state = 'sent' AND o.ack_deadline IS NULL;

-- The outbox rows that a receipt from another server covers: sent, not acked.
-- A row whose server still owes an answer is acked when the answer is there.
-- name: receipt_rows(conversation_id, after, upto, sender_id, dest_id)
-- columns: as covered
SELECT o.id, o.mid FROM messages m JOIN outbox o ON o.event_id = m.event_id
WHERE m.conversation_id = $conversation_id AND m.conversation_seq > $after
  AND m.conversation_seq <= $upto AND m.sender_id = $sender_id
  AND o.dest_kind = 'server' AND o.dest_id = $dest_id AND o.state = 'sent'
  AND o.ack_deadline IS NULL
ORDER BY m.conversation_seq;
