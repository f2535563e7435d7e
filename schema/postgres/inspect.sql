-- SPDX-License-Identifier: MIT
-- The queries of operators.  No statement walks all that waits or all that
-- ever was: walks go along one index from a cursor, and end after the number of
-- rows that they are given; the caller goes on from the last.  The order of a
-- set is that of the index that it is to be found by.

-- Walks and sets give the same columns: what the filters look at.
-- name: inspect_walk
SELECT o.id, o.kind, o.state, o.lane_seq, o.sender_id,
    coalesce(d.destination_id, 1), o.retry_count, o.last_status_at
FROM outbox o JOIN users d ON d.user_id = o.dest_id
WHERE o.id < $1 ORDER BY o.id DESC LIMIT $2;

-- name: inspect_walk_ended
SELECT o.id, o.kind, o.state, o.lane_seq, o.sender_id,
    coalesce(d.destination_id, 1), o.retry_count, o.last_status_at
FROM outbox o JOIN users d
    ON d.user_id = o.dest_id
WHERE o.state = $3 AND o.id < $1
  AND (o.state = 'failed' OR o.state = 'expired' OR o.state = 'canceled')
ORDER BY o.id DESC LIMIT $2;

-- name: inspect_set_sending
SELECT o.id, o.kind, o.state, o.lane_seq, o.sender_id,
    coalesce(d.destination_id, 1), o.retry_count, o.last_status_at
FROM outbox o JOIN users d
    ON d.user_id = o.dest_id
WHERE o.state = 'sending' AND o.last_status_at <= $2
ORDER BY o.last_status_at LIMIT $1;

-- name: inspect_set_retrying
SELECT o.id, o.kind, o.state, o.lane_seq, o.sender_id,
    coalesce(d.destination_id, 1), o.retry_count, o.last_status_at
FROM outbox o JOIN users d
    ON d.user_id = o.dest_id
WHERE o.retry_count >= $2 AND o.retry_count > 0
  AND (o.state = 'pending' OR o.state = 'sending')
ORDER BY o.retry_count LIMIT $1;

-- name: inspect_set_scheduled
SELECT o.id, o.kind, o.state, o.lane_seq, o.sender_id,
    coalesce(d.destination_id, 1), o.retry_count, o.last_status_at
FROM outbox o JOIN users d
    ON d.user_id = o.dest_id
WHERE o.state = 'pending' AND o.lane_seq IS NULL
ORDER BY o.deliver_at, o.id LIMIT $1;

-- name: inspect_set_pending_local
SELECT o.id, o.kind, o.state, o.lane_seq, o.sender_id,
    coalesce(d.destination_id, 1), o.retry_count, o.last_status_at
FROM outbox o JOIN users d
    ON d.user_id = o.dest_id
WHERE o.state = 'pending' AND o.lane_seq IS NOT NULL AND o.dest_kind = 'user'
ORDER BY o.lane_id, o.lane_seq LIMIT $1;

-- name: inspect_set_pending_remote
SELECT o.id, o.kind, o.state, o.lane_seq, o.sender_id,
    coalesce(d.destination_id, 1), o.retry_count, o.last_status_at
FROM outbox o JOIN users d
    ON d.user_id = o.dest_id
WHERE o.dest_kind = 'server' AND o.state = 'pending'
ORDER BY o.expires_at LIMIT $1;

-- ---- figures ----
-- name: inspect_dead_letter_count
SELECT count(*) FROM (SELECT 1 FROM dead_letter_queue
    WHERE resolution IS NULL ORDER BY dead_id LIMIT $1) w;

-- name: inspect_stuck_count
SELECT count(*) FROM outbox
WHERE state = 'sending' AND last_status_at <= $1;

-- name: inspect_retrying_count
SELECT count(*) FROM outbox
WHERE retry_count >= $1 AND retry_count > 0
  AND (state = 'pending' OR state = 'sending');

-- The first of what each lane to an inbox here owes, for at most $1 lanes.
-- name: inspect_heads_local
WITH RECURSIVE owing (lane_id, n) AS (
    SELECT min(o.lane_id), 1::bigint FROM outbox o
    WHERE o.state = 'pending' AND o.lane_seq IS NOT NULL
      AND o.dest_kind = 'user'
    UNION ALL
    SELECT (SELECT min(o.lane_id) FROM outbox o
            WHERE o.state = 'pending' AND o.lane_seq IS NOT NULL
              AND o.dest_kind = 'user' AND o.lane_id > w.lane_id), w.n + 1
    FROM owing w WHERE w.lane_id IS NOT NULL AND w.n < $1)
SELECT f.kind, f.created_at, f.deliver_at, f.sender_id
FROM owing w JOIN outbox f ON f.lane_id = w.lane_id
WHERE f.state = 'pending' AND f.lane_seq IS NOT NULL AND f.dest_kind = 'user'
  AND f.lane_seq = (SELECT min(o.lane_seq) FROM outbox o
      WHERE o.lane_id = w.lane_id AND o.state = 'pending'
        AND o.lane_seq IS NOT NULL AND o.dest_kind = 'user');

-- What waits for inboxes here, for other servers (those that expire first
-- come first), and for one of those.
-- name: inspect_backlog_local
SELECT kind, created_at, deliver_at, sender_id
FROM outbox
WHERE state = 'pending' AND lane_seq IS NOT NULL AND dest_kind = 'user'
ORDER BY lane_id, lane_seq LIMIT $1;

-- name: inspect_backlog_remote
SELECT kind, created_at, deliver_at, sender_id
FROM outbox
WHERE dest_kind = 'server' AND state = 'pending' AND lane_seq IS NOT NULL
ORDER BY expires_at LIMIT $1;

-- name: inspect_backlog_ready
SELECT o.kind, o.created_at, o.deliver_at, o.sender_id
FROM outbox_lanes l CROSS JOIN LATERAL (
    SELECT r.kind, r.created_at, r.deliver_at, r.sender_id FROM outbox r
    WHERE r.lane_id = l.lane_id AND r.dest_kind = 'server'
      AND r.lane_seq IS NOT NULL AND r.state = 'pending'
    ORDER BY r.lane_seq OFFSET 0) o
WHERE l.state = 'ready' AND l.destination_id = $2
ORDER BY l.priority DESC, l.due_at, l.lane_id LIMIT $1;

-- name: inspect_backlog_leased
SELECT o.kind, o.created_at, o.deliver_at, o.sender_id
FROM outbox_lanes l CROSS JOIN LATERAL (
    SELECT r.kind, r.created_at, r.deliver_at, r.sender_id FROM outbox r
    WHERE r.lane_id = l.lane_id AND r.dest_kind = 'server'
      AND r.lane_seq IS NOT NULL AND r.state = 'pending'
    ORDER BY r.lane_seq OFFSET 0) o
WHERE l.state = 'leased' AND l.destination_id = $2
ORDER BY l.lease_until LIMIT $1;

-- Lanes that are ready for a destination and the places they hold, over at most
-- $1 of them.
-- name: inspect_places
SELECT count(*), coalesce(sum(n), 0)::bigint
FROM (SELECT tail_seq - next_seq + 1 AS n FROM outbox_lanes
      WHERE state = 'ready' AND destination_id = $2
      ORDER BY priority DESC, due_at, lane_id LIMIT $1) w;

-- ---- lanes ----
-- name: inspect_lane
SELECT l.lane_id, c.public_id, u.name, g.name, l.class, l.state, l.priority,
    l.next_seq, l.last_published_seq,
    l.tail_seq, l.due_at, l.lease_owner, l.lease_until, l.lease_token, l.updated_at,
    l.replay_seq
FROM outbox_lanes l
JOIN conversations c ON c.conversation_id = l.conversation_id
JOIN users u ON u.user_id = l.dest_id
JOIN destinations g ON g.destination_id = l.destination_id
WHERE l.lane_id = $1;

-- name: inspect_lanes_ready
SELECT lane_id, state, destination_id FROM outbox_lanes
WHERE state = 'ready'
ORDER BY destination_id, priority DESC, due_at, lane_id LIMIT $1;

-- name: inspect_lanes_ready_to
SELECT lane_id, state, destination_id FROM outbox_lanes
WHERE state = 'ready' AND destination_id = $2
ORDER BY priority DESC, due_at, lane_id LIMIT $1;

-- name: inspect_lanes_leased
SELECT lane_id, state, destination_id FROM outbox_lanes
WHERE state = 'leased'
ORDER BY lease_until LIMIT $1;

-- name: inspect_dead_letter_open
SELECT dead_id, reason, sender_id, destination_id, resolution
FROM dead_letter_queue
WHERE resolution IS NULL AND dead_id < $1 ORDER BY dead_id DESC LIMIT $2;

-- The oldest first, as they are given new places.
-- name: inspect_dead_letter_oldest
SELECT dead_id, reason, sender_id, destination_id, resolution
FROM dead_letter_queue
WHERE resolution IS NULL AND dead_id > $1 ORDER BY dead_id LIMIT $2;
