-- SPDX-License-Identifier: MIT
-- What a batch works with where there are several writers (schema/postgres/
-- lock.sql).  The only writer of this database never asks; these say the same,
-- a row at a time.

-- name: lock_names
SELECT substr($1, 1, 0);

-- name: lock_names_skip
SELECT 1 WHERE substr($1, 1, 0) <> '';

-- name: lock_users
SELECT user_id, name, display_name, password_hash, admin, disabled_at,
    destination_id
FROM users WHERE user_id = $1
UNION
SELECT user_id, name, display_name, password_hash, admin, disabled_at,
    destination_id
FROM users WHERE name = $2;

-- name: lock_about
SELECT m.conversation_id, 1 FROM messages m WHERE m.message_id = $1
UNION ALL
SELECT o.conversation_id, 1 FROM dead_letter_queue d
JOIN outbox o ON o.id = d.outbox_id WHERE d.dead_id = $2;

-- name: lock_conversations
SELECT c.conversation_id, c.public_id, c.kind, m.conversation_seq, m.digest
FROM conversations c LEFT JOIN messages m
    ON m.conversation_id = c.conversation_id AND m.conversation_seq = (
        SELECT max(l.conversation_seq) FROM messages l
        WHERE l.conversation_id = c.conversation_id
          AND l.conversation_seq > 0)
WHERE c.conversation_id IN (
    SELECT p.conversation_id FROM conversations p WHERE p.public_id = $1
    UNION SELECT k.conversation_id FROM users u JOIN conversations k
        ON k.direct_key = min(u.name, $3) || ' ' || max(u.name, $3)
        WHERE u.user_id = $2
    UNION SELECT l.conversation_id FROM outbox_lanes l WHERE l.lane_id = $4
    UNION SELECT i.conversation_id FROM inbox i
        WHERE i.user_id = $2 AND i.seq <= $5 AND i.kind = 1 AND i.own = 0
          AND i.seq > (SELECT coalesce(max(d.acked_seq), 0) FROM devices d
              WHERE d.user_id = i.user_id)
    UNION SELECT $6
    UNION SELECT i.conversation_id FROM inbox i JOIN inboxes b
        ON b.user_id = i.user_id
        WHERE i.user_id = $2 AND i.seq <= $7 AND i.kind = 1 AND i.own = 0
          AND i.seq > b.read_seq)
ORDER BY c.conversation_id;

-- name: lock_find
SELECT 1, p.conversation_id, NULL FROM conversations p WHERE p.public_id = $1
UNION ALL
SELECT 1, k.conversation_id, NULL FROM users u JOIN conversations k
    ON k.direct_key = min(u.name, $3) || ' ' || max(u.name, $3)
WHERE u.user_id = $2
UNION ALL
SELECT 1, l.conversation_id, CASE WHEN l.state = 'local' THEN l.dest_id END
FROM outbox_lanes l WHERE l.lane_id = $4
UNION ALL
SELECT 1, c.conversation_id, NULL FROM conversations c
WHERE c.conversation_id IN (SELECT i.conversation_id FROM inbox i
    WHERE i.user_id = $2 AND i.seq <= $5 AND i.kind = 1 AND i.own = 0
      AND i.seq > (SELECT coalesce(max(d.acked_seq), 0) FROM devices d
          WHERE d.user_id = i.user_id))
UNION ALL
SELECT 1, $6, NULL WHERE $6 IS NOT NULL
UNION ALL
SELECT 1, c.conversation_id, NULL FROM conversations c
WHERE c.conversation_id IN (SELECT i.conversation_id FROM inbox i
    JOIN inboxes b ON b.user_id = i.user_id
    WHERE i.user_id = $2 AND i.seq <= $7 AND i.kind = 1 AND i.own = 0
      AND i.seq > b.read_seq);

-- name: lock_conversations_skip
SELECT c.conversation_id, c.public_id, c.kind, m.conversation_seq, m.digest
FROM conversations c LEFT JOIN messages m
    ON m.conversation_id = c.conversation_id AND m.conversation_seq = (
        SELECT max(l.conversation_seq) FROM messages l
        WHERE l.conversation_id = c.conversation_id
          AND l.conversation_seq > 0)
WHERE c.conversation_id = $1;

-- name: lock_due
SELECT c.conversation_id, c.public_id, c.kind, m.conversation_seq, m.digest
FROM conversations c LEFT JOIN messages m
    ON m.conversation_id = c.conversation_id AND m.conversation_seq = (
        SELECT max(l.conversation_seq) FROM messages l
        WHERE l.conversation_id = c.conversation_id
          AND l.conversation_seq > 0)
WHERE c.conversation_id IN (
    SELECT o.conversation_id FROM outbox o
    WHERE o.state = 'pending' AND o.lane_seq IS NULL AND o.deliver_at <= $1
    ORDER BY o.deliver_at, o.id LIMIT $2);

-- name: lock_members
SELECT p.user_id, u.name, p.role, p.joined_seq, p.left_seq, p.delivered_upto,
    p.acked_upto, p.read_upto, p.acked_at, p.read_at, p.shown_upto,
    p.shown_at, p.conversation_id, u.disabled_at, u.destination_id
FROM participants p JOIN users u ON u.user_id = p.user_id
WHERE p.conversation_id = $1
ORDER BY p.user_id;

-- name: lock_lanes_of
SELECT l.lane_id, l.conversation_id, l.dest_kind, l.dest_id, l.class,
    CASE WHEN l.state = 'local' THEN
      (SELECT max(o.lane_seq) FROM outbox o WHERE o.lane_id = l.lane_id
       AND o.lane_seq IS NOT NULL AND o.state = 'pending'
       AND o.dest_kind = 'user')
    ELSE l.tail_seq END,
    l.next_seq, l.last_published_seq, l.due_at, l.destination_id, l.state,
    l.priority, l.lease_token, l.lease_until, l.lease_owner, l.replay_seq
FROM outbox_lanes l WHERE l.conversation_id = $1;

-- name: lock_counters
SELECT b.user_id, coalesce((SELECT max(i.seq) FROM inbox i
    WHERE i.user_id = b.user_id), b.trimmed), b.trimmed + 1,
    (SELECT coalesce(max(d.acked_seq), 0) FROM devices d
     WHERE d.user_id = b.user_id), b.read_seq
FROM inboxes b WHERE b.user_id = $1;

-- name: lock_inboxes
SELECT b.user_id, coalesce((SELECT max(i.seq) FROM inbox i
    WHERE i.user_id = b.user_id), b.trimmed), b.trimmed + 1,
    (SELECT coalesce(max(d.acked_seq), 0) FROM devices d
     WHERE d.user_id = b.user_id), b.read_seq
FROM inboxes b WHERE b.user_id = $1;

-- name: lock_inboxes_nowait
SELECT b.user_id, coalesce((SELECT max(i.seq) FROM inbox i
    WHERE i.user_id = b.user_id), b.trimmed), b.trimmed + 1,
    (SELECT coalesce(max(d.acked_seq), 0) FROM devices d
     WHERE d.user_id = b.user_id), b.read_seq
FROM inboxes b WHERE b.user_id = $1;

-- name: lock_inboxes_skip
SELECT b.user_id, coalesce((SELECT max(i.seq) FROM inbox i
    WHERE i.user_id = b.user_id), b.trimmed), b.trimmed + 1,
    (SELECT coalesce(max(d.acked_seq), 0) FROM devices d
     WHERE d.user_id = b.user_id), b.read_seq
FROM inboxes b WHERE b.user_id = $1;

-- name: lock_devices
SELECT device_id, acked_seq FROM devices WHERE device_id = $1;

-- name: lock_devices_skip
SELECT device_id, acked_seq FROM devices WHERE device_id = $1;

-- name: lock_devices_exist
SELECT device_id FROM devices WHERE device_id = $1;

-- name: lock_keys
SELECT message_id, mid, sender_id, fingerprint FROM messages
WHERE message_id = $1;
