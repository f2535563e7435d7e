-- SPDX-License-Identifier: MIT
-- Events, requests and receipts that come from other servers.

-- row: covered(id, mid, conversation_seq, unacked, lane_id, lane_seq)

-- Returns a row if the event was accepted before.
-- name: processed_find(event_id, origin)
-- columns: event_id, sequence, behind
SELECT event_id, sequence, behind FROM processed_messages
WHERE event_id = $event_id AND origin = $origin;

-- name: processed_insert(event_id, origin, now, sequence, behind)
INSERT INTO processed_messages (event_id, origin, processed_at, sequence,
    behind)
VALUES ($event_id, $origin, $now, $sequence, $behind);

-- Finds the message that an event of another server has put into an inbox.
-- name: incoming_find(event_id, user_id, origin)
-- columns: event_id, user_id, fingerprint
SELECT i.event_id, i.user_id, m.fingerprint
FROM inbox i JOIN messages m ON m.mid = i.mid
WHERE i.event_id = $event_id AND i.user_id = $user_id AND i.origin = $origin;

-- name: nonce_find(destination_id, key_id, nonce)
-- columns: keep_until
SELECT keep_until FROM federation_nonces
WHERE destination_id = $destination_id AND key_id = $key_id AND nonce = $nonce;

-- Reads a peer and one of its keys.  The columns of the key are NULL if the
-- peer has no such key.  No row: the peer was never in contact, or was deleted.
-- name: origin_find(destination_id, key_id)
-- columns: blocked_at, public, pinned_by, retired_at, pinned, updated_at
SELECT p.blocked_at, k.public, k.pinned_by, k.retired_at,
    (SELECT count(*) FROM peer_keys o
     WHERE o.destination_id = p.destination_id
       AND o.pinned_by IS NOT NULL) AS pinned,
    (SELECT d.updated_at FROM destinations d
     WHERE d.destination_id = p.destination_id) AS updated_at
FROM peers p LEFT JOIN peer_keys k
    ON k.destination_id = p.destination_id AND k.key_id = $key_id
WHERE p.destination_id = $destination_id;

-- Inserts no row if another node has just accepted the same request.
-- name: nonce_insert(destination_id, key_id, nonce, keep_until)
INSERT INTO federation_nonces (destination_id, key_id, nonce, keep_until)
VALUES ($destination_id, $key_id, $nonce, $keep_until)
ON CONFLICT (destination_id, key_id, nonce) DO NOTHING;

-- Deletes nonces whose signatures are not valid any more.  Each request deletes
-- a few of them, so that the table holds only those of the last minutes.
-- name: nonce_expire(now, limit)
DELETE FROM federation_nonces WHERE (destination_id, key_id, nonce) IN (
    SELECT destination_id, key_id, nonce FROM federation_nonces
    WHERE keep_until < $now ORDER BY keep_until LIMIT $limit);

-- name: sequence_get(sender_id, recipient_id, class)
-- columns: sender_id, recipient_id, class, last_sequence, highest, highest_at
SELECT sender_id, recipient_id, class, last_sequence, highest, highest_at
FROM federation_lanes
WHERE sender_id = $sender_id AND recipient_id = $recipient_id
  AND class = $class;

-- name: sequence_set(sender_id, recipient_id, class, last_sequence, highest,
--     highest_at)
INSERT INTO federation_lanes (sender_id, recipient_id, class, last_sequence,
    highest, highest_at)
VALUES ($sender_id, $recipient_id, $class, $last_sequence, $highest,
    $highest_at)
ON CONFLICT (sender_id, recipient_id, class)
    DO UPDATE SET last_sequence = excluded.last_sequence,
	highest = excluded.highest, highest_at = excluded.highest_at;

-- Finds the message that a receipt of $dest_id names, and its place in the lane
-- to $dest_id.  The columns of the outbox row are NULL if there is no such row.
-- name: receipt_target(message_id, dest_id)
-- columns: message_id, dest_id, mid, sender_id, conversation_id,
--     conversation_seq, lane_id, lane_seq, requeues, state, created_at
SELECT m.message_id, $dest_id AS dest_id, m.mid, m.sender_id,
    m.conversation_id, m.conversation_seq, o.lane_id, o.lane_seq, o.requeues,
    o.state, o.created_at
FROM messages m LEFT JOIN outbox o ON o.event_id = m.event_id
    AND o.dest_kind = 'server' AND o.dest_id = $dest_id
WHERE m.message_id = $message_id;

-- Finds the outbox row of the one message that a receipt names, if the row is
-- sent and no later answer is expected.
-- name: receipt_row(mid, dest_id)
-- columns: as covered
SELECT o.id, o.mid, o.conversation_seq, 1 AS unacked, o.lane_id, o.lane_seq
FROM messages m JOIN outbox o ON o.event_id = m.event_id
WHERE m.mid = $mid AND o.dest_kind = 'server' AND o.dest_id = $dest_id
  AND o.state = 'sent' AND o.ack_deadline IS NULL;

-- Records that a receipt has named a message which is not sent yet, as far as
-- this server knows, or for which the other server has promised a later answer.
-- The recipient has acked the message; its row becomes acked when it is sent.
-- name: receipt_note(mid, dest_id, now)
UPDATE outbox SET acked_at = $now
WHERE event_id = (SELECT event_id FROM messages WHERE mid = $mid)
  AND dest_kind = 'server' AND dest_id = $dest_id AND state <> 'acked'
  AND (state <> 'sent' OR ack_deadline IS NOT NULL);

-- Reads the rows of a lane to another server that a receipt covers, without
-- rows that have failed, expired or been canceled.  unacked: the row is sent,
-- but not acked.  A row whose server still owes an answer becomes acked when
-- that answer comes.
-- name: receipt_rows(lane_id, after, upto)
-- columns: as covered
SELECT o.id, o.mid, o.conversation_seq,
    CASE WHEN o.state = 'sent' AND o.ack_deadline IS NULL THEN 1 ELSE 0
    END AS unacked, o.lane_id, o.lane_seq
FROM outbox o
WHERE o.lane_id = $lane_id AND o.dest_kind = 'server'
  AND o.lane_seq IS NOT NULL AND o.lane_seq > $after AND o.lane_seq <= $upto
  AND (o.state = 'sent' OR o.state = 'acked' OR o.state = 'sending'
    OR o.state = 'pending')
ORDER BY o.lane_seq;
