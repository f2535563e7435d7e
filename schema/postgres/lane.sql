-- SPDX-License-Identifier: MIT
-- Lanes: one cursor for each conversation, recipient and class.
--
-- Whoever changes a lane, or anything else of a conversation, holds the lock of
-- its row in conversations; so a lane needs none of its own.

-- A lane with its tail, the last place given.
-- name: lane_find
SELECT l.lane_id, l.conversation_id, l.dest_kind, l.dest_id, l.class,
    l.tail_seq, l.next_seq, l.last_published_seq, l.due_at, l.destination_id, l.state,
    l.priority, l.lease_token, l.lease_until, l.lease_owner, l.replay_seq
FROM outbox_lanes l
WHERE l.conversation_id = $1 AND l.dest_kind = $2 AND l.dest_id = $3
  AND l.class = $4;

-- name: lane_get
SELECT l.lane_id, l.conversation_id, l.dest_kind, l.dest_id, l.class,
    l.tail_seq, l.next_seq, l.last_published_seq, l.due_at, l.destination_id, l.state,
    l.priority, l.lease_token, l.lease_until, l.lease_owner, l.replay_seq
FROM outbox_lanes l WHERE l.lane_id = $1;

-- name: lane_set
UPDATE outbox_lanes l SET next_seq = r.next_seq,
    last_published_seq = r.last_published_seq, due_at = r.due_at,
    updated_at = r.updated_at
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[],
    $5::bigint[])
    AS r (lane_id, next_seq, last_published_seq, due_at, updated_at)
WHERE l.lane_id = r.lane_id;

-- All of a lane to another server.
-- name: lane_remote_set
UPDATE outbox_lanes l SET next_seq = r.next_seq,
    last_published_seq = r.last_published_seq, due_at = r.due_at,
    updated_at = r.updated_at, state = r.state, tail_seq = r.tail_seq,
    priority = r.priority, lease_token = r.lease_token,
    lease_until = r.lease_until, lease_owner = r.lease_owner,
    replay_seq = r.replay_seq
FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[],
    $5::bigint[], $6::text[], $7::bigint[], $8::bigint[], $9::bigint[],
    $10::bigint[], $11::text[], $12::bigint[])
    AS r (lane_id, next_seq, last_published_seq, due_at, updated_at, state,
        tail_seq, priority, lease_token, lease_until, lease_owner, replay_seq)
WHERE l.lane_id = r.lane_id;

-- The next local lanes after $1 that owe something, at most $2, each with its
-- due time: one step in the index of what waits for each lane, however much
-- waits in it.
-- name: lanes_pending
WITH RECURSIVE owing (lane_id, n) AS (
    SELECT min(o.lane_id), 1::bigint FROM outbox o
    WHERE o.state = 'pending' AND o.lane_seq IS NOT NULL
      AND o.dest_kind = 'user' AND o.lane_id > $1
    UNION ALL
    SELECT (SELECT min(o.lane_id) FROM outbox o
            WHERE o.state = 'pending' AND o.lane_seq IS NOT NULL
              AND o.dest_kind = 'user' AND o.lane_id > w.lane_id), w.n + 1
    FROM owing w WHERE w.lane_id IS NOT NULL AND w.n < $2)
SELECT l.lane_id, l.due_at FROM owing w JOIN outbox_lanes l
    ON l.lane_id = w.lane_id
ORDER BY w.n;

-- The lanes of one destination and priority that are ready and due at $3, in the
-- order of the index, behind lane $5, which was due at $4.  Lanes are left out
-- while another writer holds their conversation.
-- name: lanes_ready
-- writer: FOR UPDATE OF c SKIP LOCKED
SELECT l.lane_id, l.due_at FROM outbox_lanes l
JOIN conversations c ON c.conversation_id = l.conversation_id
WHERE l.state = 'ready' AND l.destination_id = $1 AND l.priority = $2
  AND l.due_at <= $3 AND (l.due_at, l.lane_id) > ($4, $5)
ORDER BY l.due_at, l.lane_id LIMIT $6;

-- Lanes that are due much later than anything is ever put off: the clock has
-- been put back.  As far as nobody is at work on their conversations.
-- name: lanes_cap_due
WITH held AS (
    SELECT l.lane_id FROM outbox_lanes l
    JOIN conversations c ON c.conversation_id = l.conversation_id
    WHERE l.state = 'ready' AND l.due_at > 0 AND l.due_at > $2
    LIMIT 1000
    FOR UPDATE OF c SKIP LOCKED)
UPDATE outbox_lanes SET due_at = $1
WHERE lane_id = ANY (ARRAY (SELECT lane_id FROM held))
  AND state = 'ready' AND due_at > 0 AND due_at > $2;

-- Leases that have run out, or that nobody can have given (the clock has been
-- put back).
-- name: lanes_stale
-- writer: FOR UPDATE OF c SKIP LOCKED
SELECT l.lane_id, l.lease_token FROM outbox_lanes l
JOIN conversations c ON c.conversation_id = l.conversation_id
WHERE l.state = 'leased' AND (l.lease_until <= $1 OR l.lease_until > $2)
LIMIT $3;
