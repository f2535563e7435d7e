-- SPDX-License-Identifier: MIT
-- The lock set of a batch (txn/lockset.c).  One statement locks all rows of one
-- kind before the first write of the batch: names of things that have no row
-- yet, then conversations, then devices.  Inboxes are locked after all other
-- writes.  Rows of one kind are locked in the order of their ids.  All nodes
-- lock in the same order, so that their batches never wait for each other in a
-- circle.

-- A batch that makes a conversation locks its name before any row, because a
-- missing row cannot be locked.  A batch that met the conflict only at its
-- INSERT would wait while it holds locks on other rows.
--
-- A batch that makes another server, users of it or conversations with them
-- locks the name of the server instead: one lock for each of their names would
-- not fit into the lock table of PostgreSQL (max_locks_per_transaction).  A
-- batch that changes an account locks its name, or "#" and its id.
--
-- The class of these advisory locks, 6451064, is "box" in ASCII.
-- name: lock_names(name)
-- columns: locked
SELECT pg_advisory_xact_lock(6451064, s.number)::text AS locked
FROM (SELECT hashtext(r.name) AS number FROM unnest($name::text[]) AS r (name)
    ORDER BY number) AS s;

-- The same without waiting.  Returns the number of each name that another
-- transaction has locked.
-- name: lock_names_skip(name)
-- columns: number
SELECT r.number FROM unnest($name::text[]) WITH ORDINALITY AS r (name, number)
WHERE NOT pg_try_advisory_xact_lock(6451064, hashtext(r.name));

-- Reads users by id or by name, without locking them.
-- name: lock_users(user_id, name)
-- columns: as user
SELECT user_id, name, display_name, password_hash, admin, disabled_at,
    destination_id, password_once_until
FROM users WHERE user_id = ANY ($user_id::bigint[])
UNION
SELECT user_id, name, display_name, password_hash, admin, disabled_at,
    destination_id, password_once_until
FROM users WHERE name = ANY ($name::text[]);

-- Returns the conversations of messages ($message_id) and dead letters
-- ($dead_id), each with the number of its key.  Locks nothing: the conversation
-- of a message never changes.
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

-- Locks the conversations that these keys name: a public id ($public_id); a
-- user and a name ($user_id, $name), for their direct conversation; a lane
-- ($lane_id); an ack of $user_id up to $acked_upto, for the messages that it
-- covers; an id ($conversation_id); a read of $user_id up to $read_upto, for
-- the messages that it covers; a direct key ($direct_key).
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

-- Returns the conversations that the keys of lock_conversations name, each with
-- the number of its key.  A key that is a lane to an inbox here also returns
-- the owner of that inbox.  A key with $name and without $user_id returns the
-- inbox of the user with this name, and no conversation.  Locks nothing.
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

-- Locks those of the conversations that no other transaction has locked.
-- name: lock_conversations_skip(conversation_id)
-- columns: as conversation
-- writer: FOR UPDATE SKIP LOCKED
SELECT conversation_id, public_id, kind, last_seq, last_digest
FROM conversations WHERE conversation_id = ANY ($conversation_id::bigint[])
ORDER BY conversation_id;

-- Locks the conversations of the first $limit scheduled messages that are due,
-- except those that another transaction has locked.  That transaction probably
-- releases the same messages, and waiting for it would leave nothing to do.
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

-- Reads the counters with which acks and reads are compared.  They only grow,
-- so that acks and reads need not lock them.
-- name: lock_counters(user_id)
-- columns: as counters
SELECT user_id, head, trimmed + 1 AS oldest, acked, read_seq FROM inboxes
WHERE user_id = ANY ($user_id::bigint[]) ORDER BY user_id;

-- name: lock_inboxes(user_id)
-- columns: as counters
-- writer: FOR UPDATE
SELECT user_id, head, trimmed + 1 AS oldest, acked, read_seq FROM inboxes
WHERE user_id = ANY ($user_id::bigint[]) ORDER BY user_id;

-- For a batch that has locked other inboxes already.  It must not wait for an
-- inbox of another transaction, because that one may wait for an inbox of this
-- batch.  With NOWAIT the statement fails instead: the transaction starts again
-- and locks all inboxes at once.
-- name: lock_inboxes_nowait(user_id)
-- columns: as counters
-- writer: FOR UPDATE NOWAIT
SELECT user_id, head, trimmed + 1 AS oldest, acked, read_seq FROM inboxes
WHERE user_id = ANY ($user_id::bigint[]) ORDER BY user_id;

-- Locks those of the inboxes that no other transaction has locked.
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

-- Locks those of the devices that no other transaction has locked.
-- name: lock_devices_skip(device_id)
-- columns: as acked_device
-- writer: FOR UPDATE SKIP LOCKED
SELECT device_id, acked_seq FROM devices
WHERE device_id = ANY ($device_id::bigint[]) ORDER BY device_id;

-- Returns the ids of devices that exist, including devices that another
-- transaction has locked.
-- name: lock_devices_exist(device_id)
-- columns: device_id
SELECT device_id FROM devices WHERE device_id = ANY ($device_id::bigint[]);

-- Returns the messages that have one of these ids.
-- name: lock_keys(message_id)
-- columns: message_id, mid, sender_id, fingerprint
SELECT message_id, mid, sender_id, fingerprint FROM messages
WHERE message_id = ANY ($message_id::uuid[]);
