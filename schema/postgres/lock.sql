-- SPDX-License-Identifier: MIT
-- The rows of a batch, each kind by one statement and locked before the batch's
-- first write: new names, then conversations, then devices, and inboxes after all
-- other writes, each in the order of their ids, so that batches of several nodes
-- wait for one another without a circle.

-- A batch that makes a conversation, a user of another server or that server locks
-- its name before any row: a missing row cannot be locked, and a batch that waited
-- for it only at its INSERT would hold other rows meanwhile.  A batch that changes
-- an account locks its name, or "#" and its id.
-- The class of these locks is "box" in ASCII.
-- name: lock_names
SELECT pg_advisory_xact_lock(6451064, s.number)::text
FROM (SELECT hashtext(r.name) AS number FROM unnest($1::text[]) AS r (name)
    ORDER BY number) AS s;

-- The same without waiting; the result is the place of each name that another
-- transaction holds.
-- name: lock_names_skip
SELECT r.number FROM unnest($1::text[]) WITH ORDINALITY AS r (name, number)
WHERE NOT pg_try_advisory_xact_lock(6451064, hashtext(r.name));

-- By id or by name.
-- name: lock_users
SELECT user_id, name, display_name, password_hash, admin, disabled_at,
    destination_id
FROM users WHERE user_id = ANY ($1::bigint[])
UNION
SELECT user_id, name, display_name, password_hash, admin, disabled_at,
    destination_id
FROM users WHERE name = ANY ($2::text[]);

-- Which conversations messages ($1) and dead letters ($2) are of, each with its
-- number: which that is never changes.
-- name: lock_about
WITH r AS MATERIALIZED (
    SELECT * FROM unnest($1::uuid[], $2::bigint[]) WITH ORDINALITY
        AS k (message_id, dead_id, number))
SELECT m.conversation_id, r.number
FROM r JOIN messages m ON m.message_id = r.message_id
UNION ALL
SELECT o.conversation_id, r.number
FROM r JOIN dead_letter_queue d ON d.dead_id = r.dead_id
JOIN outbox o ON o.id = d.outbox_id;

-- By public id ($1), as the direct one of $2 with $3, by a lane ($4), those whose
-- messages an ack of $2 up to $5 is about, by id ($6), and those whose messages a
-- read of $2 up to $7 is about.
-- name: lock_conversations
-- writer: FOR UPDATE OF c
SELECT c.conversation_id, c.public_id, c.kind, c.last_seq, c.last_digest
FROM conversations c
WHERE c.conversation_id = ANY (ARRAY (
    SELECT p.conversation_id FROM conversations p
        WHERE p.public_id = ANY ($1::uuid[])
    UNION ALL SELECT k.conversation_id
        FROM unnest($2::bigint[], $3::text[]) AS r (user_id, name)
        JOIN users u ON u.user_id = r.user_id
        JOIN conversations k ON k.direct_key =
            least(u.name COLLATE "C", r.name) || ' ' ||
            greatest(u.name COLLATE "C", r.name)
        WHERE r.name IS NOT NULL
    UNION ALL SELECT l.conversation_id FROM outbox_lanes l
        WHERE l.lane_id = ANY ($4::bigint[])
    UNION ALL SELECT DISTINCT a.conversation_id
        FROM unnest($2::bigint[], $5::bigint[]) AS r (user_id, upto)
        JOIN inboxes b ON b.user_id = r.user_id
        CROSS JOIN LATERAL (
            SELECT i.conversation_id FROM inbox i
            WHERE i.user_id = r.user_id AND i.seq > b.acked
              AND i.seq <= r.upto AND i.kind = 1 AND i.own = 0
            ORDER BY i.seq LIMIT 2000) AS a
        WHERE r.upto IS NOT NULL
    UNION ALL SELECT unnest($6::bigint[])
    UNION ALL SELECT DISTINCT a.conversation_id
        FROM unnest($2::bigint[], $7::bigint[]) AS r (user_id, upto)
        JOIN inboxes b ON b.user_id = r.user_id
        CROSS JOIN LATERAL (
            SELECT i.conversation_id FROM inbox i
            WHERE i.user_id = r.user_id AND i.seq > b.read_seq
              AND i.seq <= r.upto AND i.kind = 1 AND i.own = 0
            ORDER BY i.seq LIMIT 2000) AS a
        WHERE r.upto IS NOT NULL))
ORDER BY c.conversation_id;

-- Which conversations the keys of lock_conversations lead to, each by the number
-- of its key, with the inbox that a lane to one here leads to; locks nothing.
-- name: lock_find
WITH r AS MATERIALIZED (
    SELECT * FROM unnest($1::uuid[], $2::bigint[], $3::text[], $4::bigint[],
        $5::bigint[], $6::bigint[], $7::bigint[]) WITH ORDINALITY
        AS k (public_id, user_id, name, lane_id, acked, conversation_id, read,
            number))
SELECT r.number, p.conversation_id, NULL::bigint
FROM r JOIN conversations p ON p.public_id = r.public_id
UNION ALL
SELECT r.number, k.conversation_id, NULL
FROM r JOIN users u ON u.user_id = r.user_id
JOIN conversations k ON k.direct_key =
    least(u.name COLLATE "C", r.name) || ' ' ||
    greatest(u.name COLLATE "C", r.name)
WHERE r.name IS NOT NULL
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
          AND i.seq <= r.acked AND i.kind = 1 AND i.own = 0
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
          AND i.seq <= r.read AND i.kind = 1 AND i.own = 0
        ORDER BY i.seq LIMIT 2000) AS w) AS a
WHERE r.read IS NOT NULL;

-- Those of these that nobody else has.
-- name: lock_conversations_skip
-- writer: FOR UPDATE SKIP LOCKED
SELECT conversation_id, public_id, kind, last_seq, last_digest
FROM conversations WHERE conversation_id = ANY ($1::bigint[])
ORDER BY conversation_id;

-- Those of the first $2 scheduled messages that are due, as far as nobody else is
-- at work on them: who comes last would find nothing left to do.
-- name: lock_due
-- writer: FOR UPDATE OF c SKIP LOCKED
SELECT c.conversation_id, c.public_id, c.kind, c.last_seq, c.last_digest
FROM conversations c
WHERE c.conversation_id = ANY (ARRAY (
    SELECT o.conversation_id FROM outbox o
    WHERE o.state = 'pending' AND o.lane_seq IS NULL AND o.deliver_at <= $1
    ORDER BY o.deliver_at, o.id LIMIT $2));

-- name: lock_members
SELECT p.user_id, u.name, p.role, p.joined_seq, p.left_seq, p.delivered_upto,
    p.acked_upto, p.read_upto, p.acked_at, p.read_at, p.shown_upto,
    p.shown_at, p.conversation_id, u.disabled_at, u.destination_id
FROM participants p JOIN users u ON u.user_id = p.user_id
WHERE p.conversation_id = ANY ($1::bigint[])
ORDER BY p.conversation_id, p.user_id;

-- name: lock_lanes_of
SELECT l.lane_id, l.conversation_id, l.dest_kind, l.dest_id, l.class,
    l.tail_seq, l.next_seq, l.last_published_seq, l.due_at, l.destination_id,
    l.state, l.priority, l.lease_token, l.lease_until, l.lease_owner,
    l.replay_seq
FROM outbox_lanes l WHERE l.conversation_id = ANY ($1::bigint[]);

-- What acks and reads are compared with: it only grows, so that they need not
-- lock it.
-- name: lock_counters
SELECT user_id, head, trimmed + 1, acked, read_seq FROM inboxes
WHERE user_id = ANY ($1::bigint[]) ORDER BY user_id;

-- name: lock_inboxes
-- writer: FOR UPDATE
SELECT user_id, head, trimmed + 1, acked, read_seq FROM inboxes
WHERE user_id = ANY ($1::bigint[]) ORDER BY user_id;

-- When some are held already: another writer's is not waited for, he may wait for
-- one of these.  The transaction begins anew, and holds all at once.
-- name: lock_inboxes_nowait
-- writer: FOR UPDATE NOWAIT
SELECT user_id, head, trimmed + 1, acked, read_seq FROM inboxes
WHERE user_id = ANY ($1::bigint[]) ORDER BY user_id;

-- Those of these that nobody else has.
-- name: lock_inboxes_skip
-- writer: FOR UPDATE SKIP LOCKED
SELECT user_id, head, trimmed + 1, acked, read_seq FROM inboxes
WHERE user_id = ANY ($1::bigint[]) ORDER BY user_id;

-- name: lock_devices
-- writer: FOR UPDATE
SELECT device_id, acked_seq FROM devices
WHERE device_id = ANY ($1::bigint[]) ORDER BY device_id;

-- Those of these that nobody else has.
-- name: lock_devices_skip
-- writer: FOR UPDATE SKIP LOCKED
SELECT device_id, acked_seq FROM devices
WHERE device_id = ANY ($1::bigint[]) ORDER BY device_id;

-- The devices among these ids that exist, also when another transaction holds
-- them.
-- name: lock_devices_exist
SELECT device_id FROM devices WHERE device_id = ANY ($1::bigint[]);

-- Which of these ids are taken.
-- name: lock_keys
SELECT message_id, mid, sender_id, fingerprint FROM messages
WHERE message_id = ANY ($1::uuid[]);
