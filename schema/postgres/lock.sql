-- SPDX-License-Identifier: MIT
-- The rows of a batch, each kind by one statement and locked before the batch's
-- first write: new names, then conversations, then devices, and inboxes after all
-- other writes, each in the order of their ids, so that batches of several nodes
-- wait for one another without a circle.

-- A batch that makes a conversation locks its name before any row: a missing row
-- cannot be locked, and a batch that waited for it only at its INSERT would hold
-- other rows meanwhile.  A batch that makes another server, its users or
-- conversations with them locks the server's name: a name each would not fit into
-- the server's table of locks (max_locks_per_transaction).  A batch that changes
-- an account locks its name, or "#" and its id.
-- The class of these locks is "box" in ASCII.
-- name: lock_names(name)
-- columns: locked
SELECT pg_advisory_xact_lock(6451064, s.number)::text AS locked
FROM (SELECT hashtext(r.name) AS number FROM unnest($name::text[]) AS r (name)
    ORDER BY number) AS s;

-- The same without waiting; the result is the place of each name that another
-- transaction holds.
-- name: lock_names_skip(name)
-- columns: number
SELECT r.number FROM unnest($name::text[]) WITH ORDINALITY AS r (name, number)
WHERE NOT pg_try_advisory_xact_lock(6451064, hashtext(r.name));

-- By id or by name.
-- name: lock_users(user_id, name)
-- columns: as user
SELECT user_id, name, display_name, password_hash, admin, disabled_at,
    destination_id, password_once_until
FROM users WHERE user_id = ANY ($user_id::bigint[])
UNION
SELECT user_id, name, display_name, password_hash, admin, disabled_at,
    destination_id, password_once_until
FROM users WHERE name = ANY ($name::text[]);

-- Which conversations messages ($message_id) and dead letters ($dead_id) are
-- of, each with its number: which that is never changes.
-- name: lock_about(message_id, dead_id)
-- columns: conversation_id, number
WITH r AS MATERIALIZED (
    SELECT * FROM unnest($message_id::uuid[], $dead_id::bigint[])
        WITH ORDINALITY
        AS k (message_id, dead_id, number))
SELECT m.conversation_id, r.number
FROM r JOIN messages m ON m.message_id = r.message_id
UNION ALL
SELECT o.conversation_id, r.number
FROM r JOIN dead_letter_queue d ON d.dead_id = r.dead_id
JOIN outbox o ON o.id = d.outbox_id;

-- By public id ($public_id), as the direct one of $user_id with $name, by a
-- lane ($lane_id), those whose messages an ack of $user_id up to $acked_upto is
-- about, by id ($conversation_id), those whose messages a read of $user_id up to
-- $read_upto is about, and by direct key ($direct_key).
-- name: lock_conversations(public_id, user_id, name, lane_id, acked_upto,
--     conversation_id, read_upto, direct_key)
-- columns: as conversation
-- writer: FOR UPDATE OF c
SELECT c.conversation_id, c.public_id, c.kind, c.last_seq, c.last_digest
FROM conversations c
WHERE c.conversation_id = ANY (ARRAY (
    SELECT p.conversation_id FROM conversations p
        WHERE p.public_id = ANY ($public_id::uuid[])
    UNION ALL SELECT k.conversation_id
        FROM unnest($user_id::bigint[], $name::text[]) AS r (user_id, name)
        JOIN users u ON u.user_id = r.user_id
        JOIN conversations k ON k.direct_key =
            least(u.name COLLATE "C", r.name) || ' ' ||
            greatest(u.name COLLATE "C", r.name)
        WHERE r.name IS NOT NULL
    UNION ALL SELECT l.conversation_id FROM outbox_lanes l
        WHERE l.lane_id = ANY ($lane_id::bigint[])
    UNION ALL SELECT DISTINCT a.conversation_id
        FROM unnest($user_id::bigint[], $acked_upto::bigint[])
            AS r (user_id, upto)
        JOIN inboxes b ON b.user_id = r.user_id
        CROSS JOIN LATERAL (
            SELECT i.conversation_id FROM inbox i
            WHERE i.user_id = r.user_id AND i.seq > b.acked
              AND i.seq <= r.upto AND i.kind = EVENT_MESSAGE AND i.own = 0
            ORDER BY i.seq LIMIT 2000) AS a
        WHERE r.upto IS NOT NULL
    UNION ALL SELECT unnest($conversation_id::bigint[])
    UNION ALL SELECT d.conversation_id FROM conversations d
        WHERE d.direct_key = ANY ($direct_key::text[])
    UNION ALL SELECT DISTINCT a.conversation_id
        FROM unnest($user_id::bigint[], $read_upto::bigint[])
            AS r (user_id, upto)
        JOIN inboxes b ON b.user_id = r.user_id
        CROSS JOIN LATERAL (
            SELECT i.conversation_id FROM inbox i
            WHERE i.user_id = r.user_id AND i.seq > b.read_seq
              AND i.seq <= r.upto AND i.kind = EVENT_MESSAGE AND i.own = 0
            ORDER BY i.seq LIMIT 2000) AS a
        WHERE r.upto IS NOT NULL))
ORDER BY c.conversation_id;

-- Which conversations the keys of lock_conversations lead to, each by the number
-- of its key, with the inbox that a lane to one here leads to; and, without a
-- conversation, the inbox of the user called $name, for a key without $user_id.
-- Locks nothing.
-- name: lock_find(public_id, user_id, name, lane_id, acked_upto,
--     conversation_id, read_upto, direct_key)
-- columns: number, conversation_id, inbox_user_id
WITH r AS MATERIALIZED (
    SELECT * FROM unnest($public_id::uuid[], $user_id::bigint[], $name::text[],
        $lane_id::bigint[], $acked_upto::bigint[], $conversation_id::bigint[],
        $read_upto::bigint[], $direct_key::text[]) WITH ORDINALITY
        AS k (public_id, user_id, name, lane_id, acked, conversation_id, read,
            direct_key, number))
SELECT r.number, p.conversation_id, NULL::bigint AS inbox_user_id
FROM r JOIN conversations p ON p.public_id = r.public_id
UNION ALL
SELECT r.number, d.conversation_id, NULL
FROM r JOIN conversations d ON d.direct_key = r.direct_key
UNION ALL
SELECT r.number, k.conversation_id, NULL
FROM r JOIN users u ON u.user_id = r.user_id
JOIN conversations k ON k.direct_key =
    least(u.name COLLATE "C", r.name) || ' ' ||
    greatest(u.name COLLATE "C", r.name)
WHERE r.name IS NOT NULL
UNION ALL
SELECT r.number, NULL, u.user_id
FROM r JOIN users u ON u.name = r.name WHERE r.user_id IS NULL
UNION ALL
SELECT r.number, l.conversation_id, CASE WHEN l.state = 'local' THEN l.dest_id END
FROM r JOIN outbox_lanes l ON l.lane_id = r.lane_id
UNION ALL
SELECT r.number, a.conversation_id, NULL
FROM r JOIN inboxes b ON b.user_id = r.user_id
CROSS JOIN LATERAL (
    SELECT DISTINCT w.conversation_id FROM (
        SELECT i.conversation_id FROM inbox i
        WHERE i.user_id = r.user_id AND i.seq > b.acked
          AND i.seq <= r.acked AND i.kind = EVENT_MESSAGE AND i.own = 0
        ORDER BY i.seq LIMIT 2000) AS w) AS a
WHERE r.acked IS NOT NULL
UNION ALL
SELECT r.number, r.conversation_id, NULL
FROM r WHERE r.conversation_id IS NOT NULL
UNION ALL
SELECT r.number, a.conversation_id, NULL
FROM r JOIN inboxes b ON b.user_id = r.user_id
CROSS JOIN LATERAL (
    SELECT DISTINCT w.conversation_id FROM (
        SELECT i.conversation_id FROM inbox i
        WHERE i.user_id = r.user_id AND i.seq > b.read_seq
          AND i.seq <= r.read AND i.kind = EVENT_MESSAGE AND i.own = 0
        ORDER BY i.seq LIMIT 2000) AS w) AS a
WHERE r.read IS NOT NULL;

-- Those of these that nobody else has.
-- name: lock_conversations_skip(conversation_id)
-- columns: as conversation
-- writer: FOR UPDATE SKIP LOCKED
SELECT conversation_id, public_id, kind, last_seq, last_digest
FROM conversations WHERE conversation_id = ANY ($conversation_id::bigint[])
ORDER BY conversation_id;

-- Those of the first $limit scheduled messages that are due, as far as nobody
-- else is at work on them: who comes last would find nothing left to do.
-- name: lock_due(now, limit)
-- columns: as conversation
-- writer: FOR UPDATE OF c SKIP LOCKED
SELECT c.conversation_id, c.public_id, c.kind, c.last_seq, c.last_digest
FROM conversations c
WHERE c.conversation_id = ANY (ARRAY (
    SELECT o.conversation_id FROM outbox o
    WHERE o.state = 'pending' AND o.lane_seq IS NULL AND o.deliver_at <= $now
    ORDER BY o.deliver_at, o.id LIMIT $limit));

-- name: lock_members(conversation_id)
-- columns: as participant, conversation_id, disabled_at, destination_id
SELECT p.user_id, u.name, p.role, p.joined_seq, p.left_seq, p.delivered_upto,
    p.acked_upto, p.read_upto, p.acked_at, p.read_at, p.shown_upto,
    p.shown_at, p.conversation_id, u.disabled_at, u.destination_id
FROM participants p JOIN users u ON u.user_id = p.user_id
WHERE p.conversation_id = ANY ($conversation_id::bigint[])
ORDER BY p.conversation_id, p.user_id;

-- name: lock_lanes_of(conversation_id)
-- columns: as lane
SELECT l.lane_id, l.conversation_id, l.dest_kind, l.dest_id, l.class,
    l.tail_seq, l.next_seq, l.last_published_seq, l.due_at, l.destination_id,
    l.state, l.priority, l.lease_token, l.lease_until, l.lease_owner,
    l.replay_seq, l.acked_seq
FROM outbox_lanes l WHERE l.conversation_id = ANY ($conversation_id::bigint[]);

-- What acks and reads are compared with: it only grows, so that they need not
-- lock it.
-- name: lock_counters(user_id)
-- columns: as counters
SELECT user_id, head, trimmed + 1 AS oldest, acked, read_seq FROM inboxes
WHERE user_id = ANY ($user_id::bigint[]) ORDER BY user_id;

-- name: lock_inboxes(user_id)
-- columns: as counters
-- writer: FOR UPDATE
SELECT user_id, head, trimmed + 1 AS oldest, acked, read_seq FROM inboxes
WHERE user_id = ANY ($user_id::bigint[]) ORDER BY user_id;

-- When some are held already: another writer's is not waited for, he may wait for
-- one of these.  The transaction begins anew, and holds all at once.
-- name: lock_inboxes_nowait(user_id)
-- columns: as counters
-- writer: FOR UPDATE NOWAIT
SELECT user_id, head, trimmed + 1 AS oldest, acked, read_seq FROM inboxes
WHERE user_id = ANY ($user_id::bigint[]) ORDER BY user_id;

-- Those of these that nobody else has.
-- name: lock_inboxes_skip(user_id)
-- columns: as counters
-- writer: FOR UPDATE SKIP LOCKED
SELECT user_id, head, trimmed + 1 AS oldest, acked, read_seq FROM inboxes
WHERE user_id = ANY ($user_id::bigint[]) ORDER BY user_id;

-- name: lock_devices(device_id)
-- columns: as acked_device
-- writer: FOR UPDATE
SELECT device_id, acked_seq FROM devices
WHERE device_id = ANY ($device_id::bigint[]) ORDER BY device_id;

-- Those of these that nobody else has.
-- name: lock_devices_skip(device_id)
-- columns: as acked_device
-- writer: FOR UPDATE SKIP LOCKED
SELECT device_id, acked_seq FROM devices
WHERE device_id = ANY ($device_id::bigint[]) ORDER BY device_id;

-- The devices among these ids that exist, also when another transaction holds
-- them.
-- name: lock_devices_exist(device_id)
-- columns: device_id
SELECT device_id FROM devices WHERE device_id = ANY ($device_id::bigint[]);

-- Which of these ids are taken.
-- name: lock_keys(message_id)
-- columns: message_id, mid, sender_id, fingerprint
SELECT message_id, mid, sender_id, fingerprint FROM messages
WHERE message_id = ANY ($message_id::uuid[]);
