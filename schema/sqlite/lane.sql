-- SPDX-License-Identifier: MIT
-- Lanes: one cursor for each conversation, recipient and class.

-- A lane with its tail: of a local one the last place given, as far as it
-- still waits.
-- name: lane_find
SELECT l.lane_id, l.conversation_id, l.dest_kind, l.dest_id, l.class,
    CASE WHEN l.state = 'local' THEN
      (SELECT max(o.lane_seq) FROM outbox o WHERE o.lane_id = l.lane_id
       AND o.lane_seq IS NOT NULL AND o.state = 'pending'
       AND o.dest_kind = 'user')
    ELSE l.tail_seq END,
    l.next_seq, l.last_published_seq, l.due_at, l.destination_id, l.state,
    l.priority, l.lease_token, l.lease_until, l.lease_owner, l.replay_seq
FROM outbox_lanes l
WHERE l.conversation_id = $1 AND l.dest_kind = $2 AND l.dest_id = $3
  AND l.class = $4;

-- name: lane_get
SELECT l.lane_id, l.conversation_id, l.dest_kind, l.dest_id, l.class,
    CASE WHEN l.state = 'local' THEN
      (SELECT max(o.lane_seq) FROM outbox o WHERE o.lane_id = l.lane_id
       AND o.lane_seq IS NOT NULL AND o.state = 'pending'
       AND o.dest_kind = 'user')
    ELSE l.tail_seq END,
    l.next_seq, l.last_published_seq, l.due_at, l.destination_id, l.state,
    l.priority, l.lease_token, l.lease_until, l.lease_owner, l.replay_seq
FROM outbox_lanes l WHERE l.lane_id = $1;

-- name: lane_set
UPDATE outbox_lanes SET next_seq = $2, last_published_seq = $3, due_at = $4,
    updated_at = $5
WHERE lane_id = $1;

-- All of a lane to another server.
-- name: lane_remote_set
UPDATE outbox_lanes SET next_seq = $2, last_published_seq = $3, due_at = $4,
    updated_at = $5, state = $6, tail_seq = $7, priority = $8,
    lease_token = $9, lease_until = $10, lease_owner = $11, replay_seq = $12
WHERE lane_id = $1;

-- The next local lanes after $1 that owe something, at most $2, each with its
-- due time: one step in the index of what waits for each lane, however much
-- waits in it.
-- name: lanes_pending
WITH RECURSIVE owing (lane_id) AS (
    SELECT min(o.lane_id) FROM outbox o
    WHERE o.state = 'pending' AND o.lane_seq IS NOT NULL
      AND o.dest_kind = 'user' AND o.lane_id > $1
    UNION ALL
    SELECT (SELECT min(o.lane_id) FROM outbox o
            WHERE o.state = 'pending' AND o.lane_seq IS NOT NULL
              AND o.dest_kind = 'user' AND o.lane_id > w.lane_id)
    FROM owing w WHERE w.lane_id IS NOT NULL
    LIMIT $2)
SELECT l.lane_id, l.due_at FROM owing w JOIN outbox_lanes l
    ON l.lane_id = w.lane_id;

-- The lanes of one destination and priority that are ready and due at $3, in the
-- order of the index, behind lane $5, which was due at $4.  The statement has two
-- parts, because SQLite looks up a comparison of pairs only by its first column.
-- name: lanes_ready
SELECT * FROM (
    SELECT lane_id, due_at FROM outbox_lanes
    WHERE state = 'ready' AND destination_id = $1 AND priority = $2
      AND due_at = $4 AND due_at <= $3 AND lane_id > $5
    ORDER BY lane_id LIMIT $6)
UNION ALL
SELECT * FROM (
    SELECT lane_id, due_at FROM outbox_lanes
    WHERE state = 'ready' AND destination_id = $1 AND priority = $2
      AND due_at > $4 AND due_at <= $3
    ORDER BY due_at, lane_id LIMIT $6)
LIMIT $6;

-- Lanes that are due much later than anything is ever put off: the clock has
-- been put back.
-- name: lanes_cap_due
UPDATE outbox_lanes SET due_at = $1 WHERE state = 'ready' AND lane_id IN (
    SELECT lane_id FROM outbox_lanes INDEXED BY outbox_lanes_put_off
    WHERE due_at > 0 AND due_at > $2 LIMIT 1000);

-- Leases that have run out, or that nobody can have given (the clock has been
-- put back).
-- name: lanes_stale
SELECT lane_id, lease_token FROM outbox_lanes
WHERE state = 'leased' AND lease_until <= $1
UNION ALL
SELECT lane_id, lease_token FROM outbox_lanes
WHERE state = 'leased' AND lease_until > $2
LIMIT $3;
