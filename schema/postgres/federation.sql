-- SPDX-License-Identifier: MIT
-- Requests of other servers.  One statement handles all rows that a request
-- needs.  Rows that another node is deleting at the same time are skipped.

-- name: processed_find(event_id, origin)
-- columns: event_id, sequence, behind
SELECT p.event_id, p.sequence, p.behind
FROM unnest($event_id::uuid[], $origin::bigint[]) AS r (event_id, origin)
JOIN processed_messages p
    ON p.event_id = r.event_id AND p.origin = r.origin;

-- name: processed_insert(event_id, origin, now, sequence, behind)
INSERT INTO processed_messages (event_id, origin, processed_at, sequence,
    behind)
SELECT * FROM unnest($event_id::uuid[], $origin::bigint[], $now::bigint[],
    $sequence::bigint[], $behind::bigint[]);

-- name: incoming_find(event_id, user_id, origin)
-- columns: event_id, user_id, fingerprint
SELECT i.event_id, i.user_id, m.fingerprint
FROM unnest($event_id::uuid[], $user_id::bigint[], $origin::bigint[])
    AS r (event_id, user_id, origin)
JOIN inbox i ON i.event_id = r.event_id AND i.user_id = r.user_id
    AND i.origin = r.origin
JOIN messages m ON m.mid = i.mid;

-- name: sequence_get(sender_id, recipient_id, class)
-- columns: sender_id, recipient_id, class, last_sequence, highest, highest_at
SELECT l.sender_id, l.recipient_id, l.class, l.last_sequence, l.highest,
    l.highest_at
FROM unnest($sender_id::bigint[], $recipient_id::bigint[], $class::bigint[])
    AS r (sender_id, recipient_id, class)
JOIN federation_lanes l ON l.sender_id = r.sender_id
    AND l.recipient_id = r.recipient_id AND l.class = r.class;

-- name: sequence_set(sender_id, recipient_id, class, last_sequence, highest,
--     highest_at)
INSERT INTO federation_lanes (sender_id, recipient_id, class, last_sequence,
    highest, highest_at)
SELECT * FROM unnest($sender_id::bigint[], $recipient_id::bigint[],
    $class::bigint[], $last_sequence::bigint[], $highest::bigint[],
    $highest_at::bigint[])
ON CONFLICT (sender_id, recipient_id, class)
    DO UPDATE SET last_sequence = excluded.last_sequence,
	highest = excluded.highest, highest_at = excluded.highest_at;

-- name: nonce_expire(now, limit)
DELETE FROM federation_nonces WHERE (destination_id, key_id, nonce) IN (
    SELECT destination_id, key_id, nonce FROM federation_nonces
    WHERE keep_until < $now ORDER BY keep_until LIMIT $limit
    FOR UPDATE SKIP LOCKED);

-- name: receipt_target(message_id, dest_id)
-- columns: message_id, dest_id, mid, sender_id, conversation_id,
--     conversation_seq, lane_id, lane_seq, requeues, state, created_at
SELECT m.message_id, r.dest_id, m.mid, m.sender_id, m.conversation_id,
    m.conversation_seq, o.lane_id, o.lane_seq, o.requeues, o.state, o.created_at
FROM unnest($message_id::uuid[], $dest_id::bigint[])
    AS r (message_id, dest_id)
JOIN messages m ON m.message_id = r.message_id
LEFT JOIN outbox o ON o.event_id = m.event_id
    AND o.dest_kind = 'server' AND o.dest_id = r.dest_id;

-- Returns the rows in the order in which the lanes were given, and within a
-- lane by place.
-- name: receipt_rows(lane_id, after, upto)
-- columns: as covered
SELECT o.id, o.mid, o.conversation_seq,
    CASE WHEN o.state = 'sent' AND o.ack_deadline IS NULL THEN 1 ELSE 0
    END AS unacked, o.lane_id, o.lane_seq
FROM unnest($lane_id::bigint[], $after::bigint[], $upto::bigint[])
    WITH ORDINALITY AS r (lane_id, after, upto, place)
CROSS JOIN LATERAL (
    SELECT * FROM outbox w
    WHERE w.lane_id = r.lane_id AND w.dest_kind = 'server'
      AND w.lane_seq IS NOT NULL AND w.lane_seq > r.after
      AND w.lane_seq <= r.upto
      AND (w.state = 'sent' OR w.state = 'acked' OR w.state = 'sending'
        OR w.state = 'pending')
    ORDER BY w.lane_seq) AS o
ORDER BY r.place, o.lane_seq;
