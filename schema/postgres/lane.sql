-- SPDX-License-Identifier: MIT
-- Lanes: one cursor for each conversation, recipient and class.
--
-- Every transaction that changes a lane, or anything else that belongs to a
-- conversation, has locked the row of that conversation.  Therefore lanes have
-- no locks of their own.

-- Finds a lane with its tail: the last place given.
-- name: lane_find(conversation_id, dest_kind, dest_id, class)
-- columns: as lane
SELECT l.lane_id, l.conversation_id, l.dest_kind, l.dest_id, l.class,
    l.tail_seq, l.next_seq, l.last_published_seq, l.due_at, l.destination_id, l.state,
    l.priority, l.lease_token, l.lease_until, l.lease_owner, l.replay_seq,
    l.acked_seq
FROM outbox_lanes l
WHERE l.conversation_id = $conversation_id AND l.dest_kind = $dest_kind
  AND l.dest_id = $dest_id
  AND l.class = $class;

-- name: lane_get(lane_id)
-- columns: as lane
SELECT l.lane_id, l.conversation_id, l.dest_kind, l.dest_id, l.class,
    l.tail_seq, l.next_seq, l.last_published_seq, l.due_at, l.destination_id, l.state,
    l.priority, l.lease_token, l.lease_until, l.lease_owner, l.replay_seq,
    l.acked_seq
FROM outbox_lanes l WHERE l.lane_id = $lane_id;

-- name: lane_set(lane_id, next_seq, last_published_seq, due_at, now)
UPDATE outbox_lanes l SET next_seq = r.next_seq,
    last_published_seq = r.last_published_seq, due_at = r.due_at,
    updated_at = r.updated_at
FROM unnest($lane_id::bigint[], $next_seq::bigint[],
    $last_published_seq::bigint[], $due_at::bigint[], $now::bigint[])
    AS r (lane_id, next_seq, last_published_seq, due_at, updated_at)
WHERE l.lane_id = r.lane_id;

-- Writes all changing columns of a lane to another server.
-- name: lane_remote_set(lane_id, next_seq, last_published_seq, due_at, now,
--     state, tail_seq, priority, lease_token, lease_until, lease_owner,
--     replay_seq, acked_seq)
UPDATE outbox_lanes l SET next_seq = r.next_seq,
    last_published_seq = r.last_published_seq, due_at = r.due_at,
    updated_at = r.updated_at, state = r.state, tail_seq = r.tail_seq,
    priority = r.priority, lease_token = r.lease_token,
    lease_until = r.lease_until, lease_owner = r.lease_owner,
    replay_seq = r.replay_seq, acked_seq = r.acked_seq
FROM unnest($lane_id::bigint[], $next_seq::bigint[],
    $last_published_seq::bigint[], $due_at::bigint[], $now::bigint[],
    $state::text[], $tail_seq::bigint[], $priority::bigint[],
    $lease_token::bigint[], $lease_until::bigint[], $lease_owner::text[],
    $replay_seq::bigint[], $acked_seq::bigint[])
    AS r (lane_id, next_seq, last_published_seq, due_at, updated_at, state,
        tail_seq, priority, lease_token, lease_until, lease_owner, replay_seq,
        acked_seq)
WHERE l.lane_id = r.lane_id;

-- Lists at most $limit local lanes after lane $after that have pending rows,
-- each with its due time.  The cost is one step in the index of pending rows
-- for each lane, independent of the number of its rows.
-- name: lanes_pending(after, limit)
-- columns: as due_lane
WITH RECURSIVE owing (lane_id, n) AS (
    SELECT min(o.lane_id), 1::bigint FROM outbox o
    WHERE o.state = 'pending' AND o.lane_seq IS NOT NULL
      AND o.dest_kind = 'user' AND o.lane_id > $after
    UNION ALL
    SELECT (SELECT min(o.lane_id) FROM outbox o
            WHERE o.state = 'pending' AND o.lane_seq IS NOT NULL
              AND o.dest_kind = 'user' AND o.lane_id > w.lane_id), w.n + 1
    FROM owing w WHERE w.lane_id IS NOT NULL AND w.n < $limit)
SELECT l.lane_id, l.due_at FROM owing w JOIN outbox_lanes l
    ON l.lane_id = w.lane_id
ORDER BY w.n;

-- Lists the ready lanes of one destination and priority that are due at $upto,
-- in the order of the index.  The list begins after lane $after_lane_id, which
-- was due at $after_due_at.  Lanes whose conversation another transaction has
-- locked are left out.
-- name: lanes_ready(destination_id, priority, upto, after_due_at,
--     after_lane_id, limit)
-- columns: as due_lane
-- writer: FOR UPDATE OF c SKIP LOCKED
SELECT l.lane_id, l.due_at FROM outbox_lanes l
JOIN conversations c ON c.conversation_id = l.conversation_id
WHERE l.state = 'ready' AND l.destination_id = $destination_id
  AND l.priority = $priority
  AND l.due_at <= $upto
  AND (l.due_at, l.lane_id) > ($after_due_at, $after_lane_id)
ORDER BY l.due_at, l.lane_id LIMIT $limit;

-- Makes lanes due at once that are due after $beyond.  No lane is ever put off
-- that long, so the clock was set back.  Lanes whose conversation another
-- transaction has locked are left out.
-- name: lanes_cap_due(now, beyond)
WITH held AS (
    SELECT l.lane_id FROM outbox_lanes l
    JOIN conversations c ON c.conversation_id = l.conversation_id
    WHERE l.state = 'ready' AND l.due_at > 0 AND l.due_at > $beyond
    LIMIT 1000
    FOR UPDATE OF c SKIP LOCKED)
UPDATE outbox_lanes SET due_at = $now
WHERE lane_id = ANY (ARRAY (SELECT lane_id FROM held))
  AND state = 'ready' AND due_at > 0 AND due_at > $beyond;

-- Lists leases that have run out, and leases that end after $beyond.  No lease
-- is that long, so the clock was set back.
-- name: lanes_stale(now, beyond, limit)
-- columns: lane_id, lease_token
-- writer: FOR UPDATE OF c SKIP LOCKED
SELECT l.lane_id, l.lease_token FROM outbox_lanes l
JOIN conversations c ON c.conversation_id = l.conversation_id
WHERE l.state = 'leased' AND (l.lease_until <= $now OR l.lease_until > $beyond)
LIMIT $limit;

-- Lists at most $limit destinations after $after that have ready lanes.  The
-- cost is one step in the index of ready lanes for each of them.
-- name: destinations_ready(after, limit)
-- columns: as destination
WITH RECURSIVE owing (destination_id, n) AS (
    SELECT min(l.destination_id), 1::bigint FROM outbox_lanes l
    WHERE l.state = 'ready' AND l.destination_id > $after
    UNION ALL
    SELECT (SELECT min(l.destination_id) FROM outbox_lanes l
            WHERE l.state = 'ready' AND l.destination_id > w.destination_id),
        w.n + 1
    FROM owing w WHERE w.destination_id IS NOT NULL AND w.n < $limit)
SELECT d.destination_id, d.name, d.breaker, d.failures, d.successes,
    d.interval_ms, d.next_probe_at, d.failing_since, d.last_success_at,
    d.last_failure_at, d.last_error, d.paused_at, d.paused_by, d.pause_reason,
    d.per_second
FROM owing w JOIN destinations d ON d.destination_id = w.destination_id
ORDER BY w.n;
