-- SPDX-License-Identifier: MIT
-- Lanes: one cursor for each conversation, recipient and class.

-- Finds a lane with its tail.  The tail of a local lane is the last place of a
-- row that is still pending.
-- name: lane_find(conversation_id, dest_kind, dest_id, class)
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
FROM outbox_lanes l
WHERE l.conversation_id = $conversation_id AND l.dest_kind = $dest_kind
  AND l.dest_id = $dest_id
  AND l.class = $class;

-- name: lane_get(lane_id)
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
FROM outbox_lanes l WHERE l.lane_id = $lane_id;

-- name: lane_set(lane_id, next_seq, last_published_seq, due_at, now)
UPDATE outbox_lanes SET next_seq = $next_seq,
    last_published_seq = $last_published_seq, due_at = $due_at,
    updated_at = $now
WHERE lane_id = $lane_id;

-- Writes all changing columns of a lane to another server.
-- name: lane_remote_set(lane_id, next_seq, last_published_seq, due_at, now,
--     state, tail_seq, priority, lease_token, lease_until, lease_owner,
--     replay_seq, acked_seq)
UPDATE outbox_lanes SET next_seq = $next_seq,
    last_published_seq = $last_published_seq, due_at = $due_at,
    updated_at = $now, state = $state, tail_seq = $tail_seq,
    priority = $priority, lease_token = $lease_token,
    lease_until = $lease_until, lease_owner = $lease_owner,
    replay_seq = $replay_seq, acked_seq = $acked_seq
WHERE lane_id = $lane_id;

-- Lists at most $limit local lanes after lane $after that have pending rows,
-- each with its due time.  The cost is one step in the index of pending rows
-- for each lane, independent of the number of its rows.
-- name: lanes_pending(after, limit)
-- columns: as due_lane
WITH RECURSIVE owing (lane_id) AS (
    SELECT min(o.lane_id) FROM outbox o
    WHERE o.state = 'pending' AND o.lane_seq IS NOT NULL
      AND o.dest_kind = 'user' AND o.lane_id > $after
    UNION ALL
    SELECT (SELECT min(o.lane_id) FROM outbox o
            WHERE o.state = 'pending' AND o.lane_seq IS NOT NULL
              AND o.dest_kind = 'user' AND o.lane_id > w.lane_id)
    FROM owing w WHERE w.lane_id IS NOT NULL
    LIMIT $limit)
SELECT l.lane_id, l.due_at FROM owing w JOIN outbox_lanes l
    ON l.lane_id = w.lane_id;

-- Lists the ready lanes of one destination and priority that are due at $upto,
-- in the order of the index.  The list begins after lane $after_lane_id, which
-- was due at $after_due_at.  The statement has two parts, because SQLite uses
-- only the first column of a row value for a search in an index.
-- name: lanes_ready(destination_id, priority, upto, after_due_at,
--     after_lane_id, limit)
-- columns: as due_lane
SELECT * FROM (
    SELECT lane_id, due_at FROM outbox_lanes
    WHERE state = 'ready' AND destination_id = $destination_id
      AND priority = $priority
      AND due_at = $after_due_at AND due_at <= $upto
          AND lane_id > $after_lane_id
    ORDER BY lane_id LIMIT $limit)
UNION ALL
SELECT * FROM (
    SELECT lane_id, due_at FROM outbox_lanes
    WHERE state = 'ready' AND destination_id = $destination_id
      AND priority = $priority
      AND due_at > $after_due_at AND due_at <= $upto
    ORDER BY due_at, lane_id LIMIT $limit)
LIMIT $limit;

-- Makes lanes due at once that are due after $beyond.  No lane is ever put off
-- that long, so the clock was set back.
-- name: lanes_cap_due(now, beyond)
UPDATE outbox_lanes SET due_at = $now WHERE state = 'ready' AND lane_id IN (
    SELECT lane_id FROM outbox_lanes INDEXED BY outbox_lanes_put_off
    WHERE due_at > 0 AND due_at > $beyond LIMIT 1000);

-- Lists leases that have run out, and leases that end after $beyond.  No lease
-- is that long, so the clock was set back.
-- name: lanes_stale(now, beyond, limit)
-- columns: lane_id, lease_token
SELECT lane_id, lease_token FROM outbox_lanes
WHERE state = 'leased' AND lease_until <= $now
UNION ALL
SELECT lane_id, lease_token FROM outbox_lanes
WHERE state = 'leased' AND lease_until > $beyond
LIMIT $limit;

-- Lists at most $limit destinations after $after that have ready lanes.  The
-- cost is one step in the index of ready lanes for each of them.
-- name: destinations_ready(after, limit)
-- columns: as destination
WITH RECURSIVE owing (destination_id) AS (
    SELECT min(l.destination_id) FROM outbox_lanes l
    WHERE l.state = 'ready' AND l.destination_id > $after
    UNION ALL
    SELECT (SELECT min(l.destination_id) FROM outbox_lanes l
            WHERE l.state = 'ready' AND l.destination_id > w.destination_id)
    FROM owing w WHERE w.destination_id IS NOT NULL
    LIMIT $limit)
SELECT d.destination_id, d.name, d.breaker, d.failures, d.successes,
    d.interval_ms, d.next_probe_at, d.failing_since, d.last_success_at,
    d.last_failure_at, d.last_error, d.paused_at, d.paused_by, d.pause_reason,
    d.per_second
FROM owing w JOIN destinations d ON d.destination_id = w.destination_id;
