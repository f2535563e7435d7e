-- SPDX-License-Identifier: MIT
-- The lock set of a batch, which only a multi-writer database needs
-- (schema/postgres/lock.sql).  The writer of an SQLite database never runs
-- these statements.  They exist because both dialects have the same statements,
-- and return the same for one key at a time.

-- name: lock_names(name)
-- columns: locked
SELECT substr($name, 1, 0) AS locked;

-- name: lock_names_skip(name)
-- columns: number
SELECT 1 AS number WHERE substr($name, 1, 0) <> '';

-- name: lock_users(user_id, name)
-- columns: as user
SELECT user_id, name, display_name, password_hash, admin, disabled_at,
    destination_id, password_once_until
FROM users WHERE user_id = $user_id
UNION
SELECT user_id, name, display_name, password_hash, admin, disabled_at,
    destination_id, password_once_until
FROM users WHERE name = $name;

-- name: lock_about(message_id, dead_id)
-- columns: conversation_id, number
SELECT m.conversation_id, 1 AS number FROM messages m
    WHERE m.message_id = $message_id
UNION ALL
SELECT o.conversation_id, 1 FROM dead_letter_queue d
JOIN outbox o ON o.id = d.outbox_id WHERE d.dead_id = $dead_id;

-- name: lock_conversations(public_id, user_id, name, lane_id, acked_upto,
--     conversation_id, read_upto, direct_key)
-- columns: as conversation
SELECT c.conversation_id, c.public_id, c.kind, m.conversation_seq AS last_seq,
    m.digest AS last_digest
FROM conversations c LEFT JOIN messages m
    ON m.conversation_id = c.conversation_id AND m.conversation_seq = (
        SELECT max(l.conversation_seq) FROM messages l
        WHERE l.conversation_id = c.conversation_id
          AND l.conversation_seq > 0)
WHERE c.conversation_id IN (
    SELECT p.conversation_id FROM conversations p WHERE p.public_id = $public_id
    UNION SELECT k.conversation_id FROM users u JOIN conversations k
        ON k.direct_key = min(u.name, $name) || ' ' || max(u.name, $name)
        WHERE u.user_id = $user_id
    UNION SELECT l.conversation_id FROM outbox_lanes l
        WHERE l.lane_id = $lane_id
    UNION SELECT i.conversation_id FROM inbox i
        WHERE i.user_id = $user_id AND i.seq <= $acked_upto
          AND i.kind = EVENT_MESSAGE AND i.own = 0
          AND i.seq > (SELECT coalesce(max(d.acked_seq), 0) FROM devices d
              WHERE d.user_id = i.user_id)
    UNION SELECT $conversation_id
    UNION SELECT d.conversation_id FROM conversations d
        WHERE d.direct_key = $direct_key
    UNION SELECT i.conversation_id FROM inbox i JOIN inboxes b
        ON b.user_id = i.user_id
        WHERE i.user_id = $user_id AND i.seq <= $read_upto
          AND i.kind = EVENT_MESSAGE AND i.own = 0
          AND i.seq > b.read_seq)
ORDER BY c.conversation_id;

-- name: lock_find(public_id, user_id, name, lane_id, acked_upto,
--     conversation_id, read_upto, direct_key)
-- columns: number, conversation_id, inbox_user_id
SELECT 1 AS number, p.conversation_id, NULL AS inbox_user_id
    FROM conversations p WHERE p.public_id = $public_id
UNION ALL
SELECT 1, k.conversation_id, NULL FROM users u JOIN conversations k
    ON k.direct_key = min(u.name, $name) || ' ' || max(u.name, $name)
WHERE u.user_id = $user_id
UNION ALL
SELECT 1, d.conversation_id, NULL FROM conversations d
WHERE d.direct_key = $direct_key
UNION ALL
SELECT 1, NULL, u.user_id FROM users u
WHERE u.name = $name AND $user_id IS NULL
UNION ALL
SELECT 1, l.conversation_id, CASE WHEN l.state = 'local' THEN l.dest_id END
FROM outbox_lanes l WHERE l.lane_id = $lane_id
UNION ALL
SELECT 1, c.conversation_id, NULL FROM conversations c
WHERE c.conversation_id IN (SELECT i.conversation_id FROM inbox i
    WHERE i.user_id = $user_id AND i.seq <= $acked_upto
      AND i.kind = EVENT_MESSAGE AND i.own = 0
      AND i.seq > (SELECT coalesce(max(d.acked_seq), 0) FROM devices d
          WHERE d.user_id = i.user_id))
UNION ALL
SELECT 1, $conversation_id, NULL WHERE $conversation_id IS NOT NULL
UNION ALL
SELECT 1, c.conversation_id, NULL FROM conversations c
WHERE c.conversation_id IN (SELECT i.conversation_id FROM inbox i
    JOIN inboxes b ON b.user_id = i.user_id
    WHERE i.user_id = $user_id AND i.seq <= $read_upto
      AND i.kind = EVENT_MESSAGE AND i.own = 0
      AND i.seq > b.read_seq);

-- name: lock_conversations_skip(conversation_id)
-- columns: as conversation
SELECT c.conversation_id, c.public_id, c.kind, m.conversation_seq AS last_seq,
    m.digest AS last_digest
FROM conversations c LEFT JOIN messages m
    ON m.conversation_id = c.conversation_id AND m.conversation_seq = (
        SELECT max(l.conversation_seq) FROM messages l
        WHERE l.conversation_id = c.conversation_id
          AND l.conversation_seq > 0)
WHERE c.conversation_id = $conversation_id;

-- name: lock_due(now, limit)
-- columns: as conversation
SELECT c.conversation_id, c.public_id, c.kind, m.conversation_seq AS last_seq,
    m.digest AS last_digest
FROM conversations c LEFT JOIN messages m
    ON m.conversation_id = c.conversation_id AND m.conversation_seq = (
        SELECT max(l.conversation_seq) FROM messages l
        WHERE l.conversation_id = c.conversation_id
          AND l.conversation_seq > 0)
WHERE c.conversation_id IN (
    SELECT o.conversation_id FROM outbox o
    WHERE o.state = 'pending' AND o.lane_seq IS NULL AND o.deliver_at <= $now
    ORDER BY o.deliver_at, o.id LIMIT $limit);

-- name: lock_members(conversation_id)
-- columns: as participant, conversation_id, disabled_at, destination_id
SELECT p.user_id, u.name, p.role, p.joined_seq, p.left_seq, p.delivered_upto,
    p.acked_upto, p.read_upto, p.acked_at, p.read_at, p.shown_upto,
    p.shown_at, p.conversation_id, u.disabled_at, u.destination_id
FROM participants p JOIN users u ON u.user_id = p.user_id
WHERE p.conversation_id = $conversation_id
ORDER BY p.user_id;

-- name: lock_lanes_of(conversation_id)
-- columns: as lane
SELECT l.lane_id, l.conversation_id, l.dest_kind, l.dest_id, l.class,
    CASE WHEN l.state = 'local' THEN
      (SELECT max(o.lane_seq) FROM outbox o WHERE o.lane_id = l.lane_id
       AND o.lane_seq IS NOT NULL AND o.state = 'pending'
       AND o.dest_kind = 'user')
    ELSE l.tail_seq END AS tail_seq,
    l.next_seq, l.last_published_seq, l.due_at, l.destination_id, l.state,
    l.priority, l.lease_token, l.lease_until, l.lease_owner, l.replay_seq,
    l.acked_seq
FROM outbox_lanes l WHERE l.conversation_id = $conversation_id;

-- name: lock_counters(user_id)
-- columns: as counters
SELECT b.user_id, coalesce((SELECT max(i.seq) FROM inbox i
    WHERE i.user_id = b.user_id), b.trimmed) AS head, b.trimmed + 1 AS oldest,
    (SELECT coalesce(max(d.acked_seq), 0) FROM devices d
     WHERE d.user_id = b.user_id) AS acked, b.read_seq
FROM inboxes b WHERE b.user_id = $user_id;

-- name: lock_inboxes(user_id)
-- columns: as counters
SELECT b.user_id, coalesce((SELECT max(i.seq) FROM inbox i
    WHERE i.user_id = b.user_id), b.trimmed) AS head, b.trimmed + 1 AS oldest,
    (SELECT coalesce(max(d.acked_seq), 0) FROM devices d
     WHERE d.user_id = b.user_id) AS acked, b.read_seq
FROM inboxes b WHERE b.user_id = $user_id;

-- name: lock_inboxes_nowait(user_id)
-- columns: as counters
SELECT b.user_id, coalesce((SELECT max(i.seq) FROM inbox i
    WHERE i.user_id = b.user_id), b.trimmed) AS head, b.trimmed + 1 AS oldest,
    (SELECT coalesce(max(d.acked_seq), 0) FROM devices d
     WHERE d.user_id = b.user_id) AS acked, b.read_seq
FROM inboxes b WHERE b.user_id = $user_id;

-- name: lock_inboxes_skip(user_id)
-- columns: as counters
SELECT b.user_id, coalesce((SELECT max(i.seq) FROM inbox i
    WHERE i.user_id = b.user_id), b.trimmed) AS head, b.trimmed + 1 AS oldest,
    (SELECT coalesce(max(d.acked_seq), 0) FROM devices d
     WHERE d.user_id = b.user_id) AS acked, b.read_seq
FROM inboxes b WHERE b.user_id = $user_id;

-- name: lock_devices(device_id)
-- columns: as acked_device
SELECT device_id, acked_seq FROM devices WHERE device_id = $device_id;

-- name: lock_devices_skip(device_id)
-- columns: as acked_device
SELECT device_id, acked_seq FROM devices WHERE device_id = $device_id;

-- name: lock_devices_exist(device_id)
-- columns: device_id
SELECT device_id FROM devices WHERE device_id = $device_id;

-- name: lock_keys(message_id)
-- columns: message_id, mid, sender_id, fingerprint
SELECT message_id, mid, sender_id, fingerprint FROM messages
WHERE message_id = $message_id;
