-- SPDX-License-Identifier: MIT
-- The queries of operators.  No statement walks all that waits or all that
-- ever was: walks go along one index from a cursor, and end after the number of
-- rows that they are given; the caller goes on from the last.

-- Walks and sets give the same columns: what the filters look at.
-- name: inspect_walk
SELECT o.id, o.kind, o.state, o.lane_seq, o.sender_id,
    coalesce(d.destination_id, 1), o.retry_count, o.last_status_at
FROM outbox o CROSS JOIN users d ON d.user_id = o.dest_id
WHERE o.id < $1 ORDER BY o.id DESC LIMIT $2;

-- name: inspect_walk_ended
SELECT o.id, o.kind, o.state, o.lane_seq, o.sender_id,
    coalesce(d.destination_id, 1), o.retry_count, o.last_status_at
FROM outbox o INDEXED BY outbox_ended CROSS JOIN users d
    ON d.user_id = o.dest_id
WHERE o.state = $3 AND o.id < $1
  AND (o.state = 'failed' OR o.state = 'expired' OR o.state = 'canceled')
ORDER BY o.id DESC LIMIT $2;

-- name: inspect_set_sending
SELECT o.id, o.kind, o.state, o.lane_seq, o.sender_id,
    coalesce(d.destination_id, 1), o.retry_count, o.last_status_at
FROM outbox o INDEXED BY outbox_sending CROSS JOIN users d
    ON d.user_id = o.dest_id
WHERE o.state = 'sending' AND o.last_status_at <= $2 LIMIT $1;

-- name: inspect_set_retrying
SELECT o.id, o.kind, o.state, o.lane_seq, o.sender_id,
    coalesce(d.destination_id, 1), o.retry_count, o.last_status_at
FROM outbox o INDEXED BY outbox_retrying CROSS JOIN users d
    ON d.user_id = o.dest_id
WHERE o.retry_count >= $2 AND o.retry_count > 0
  AND (o.state = 'pending' OR o.state = 'sending') LIMIT $1;

-- name: inspect_set_scheduled
SELECT o.id, o.kind, o.state, o.lane_seq, o.sender_id,
    coalesce(d.destination_id, 1), o.retry_count, o.last_status_at
FROM outbox o INDEXED BY outbox_scheduled CROSS JOIN users d
    ON d.user_id = o.dest_id
WHERE o.state = 'pending' AND o.lane_seq IS NULL LIMIT $1;

-- name: inspect_set_pending_local
SELECT o.id, o.kind, o.state, o.lane_seq, o.sender_id,
    coalesce(d.destination_id, 1), o.retry_count, o.last_status_at
FROM outbox o INDEXED BY outbox_pending CROSS JOIN users d
    ON d.user_id = o.dest_id
WHERE o.state = 'pending' AND o.lane_seq IS NOT NULL AND o.dest_kind = 'user'
LIMIT $1;

-- name: inspect_set_pending_remote
SELECT o.id, o.kind, o.state, o.lane_seq, o.sender_id,
    coalesce(d.destination_id, 1), o.retry_count, o.last_status_at
FROM outbox o INDEXED BY outbox_expiry CROSS JOIN users d
    ON d.user_id = o.dest_id
WHERE o.dest_kind = 'server' AND o.state = 'pending' LIMIT $1;

-- ---- figures ----
-- name: inspect_dead_letter_count
SELECT count(*) FROM (SELECT 1 FROM dead_letter_queue INDEXED BY dead_waiting
    WHERE resolution IS NULL LIMIT $1);

-- name: inspect_stuck_count
SELECT count(*) FROM outbox INDEXED BY outbox_sending
WHERE state = 'sending' AND last_status_at <= $1;

-- name: inspect_retrying_count
SELECT count(*) FROM outbox INDEXED BY outbox_retrying
WHERE retry_count >= $1 AND retry_count > 0
  AND (state = 'pending' OR state = 'sending');

-- The first of what each lane to an inbox here owes, for at most $1 lanes.
-- name: inspect_heads_local
WITH RECURSIVE owing (lane_id) AS (
    SELECT min(o.lane_id) FROM outbox o
    WHERE o.state = 'pending' AND o.lane_seq IS NOT NULL
      AND o.dest_kind = 'user'
    UNION ALL
    SELECT (SELECT min(o.lane_id) FROM outbox o
            WHERE o.state = 'pending' AND o.lane_seq IS NOT NULL
              AND o.dest_kind = 'user' AND o.lane_id > w.lane_id)
    FROM owing w WHERE w.lane_id IS NOT NULL
    LIMIT $1)
SELECT f.kind, f.created_at, f.deliver_at, f.sender_id
FROM owing w CROSS JOIN outbox f INDEXED BY outbox_pending
WHERE f.lane_id = w.lane_id AND f.state = 'pending'
  AND f.lane_seq IS NOT NULL AND f.dest_kind = 'user'
  AND f.lane_seq = (SELECT min(o.lane_seq) FROM outbox o
      WHERE o.lane_id = w.lane_id AND o.state = 'pending'
        AND o.lane_seq IS NOT NULL AND o.dest_kind = 'user');

-- What waits for inboxes here, for other servers (those that expire first
-- come first), and for one of those.
-- name: inspect_backlog_local
SELECT kind, created_at, deliver_at, sender_id
FROM outbox INDEXED BY outbox_pending
WHERE state = 'pending' AND lane_seq IS NOT NULL AND dest_kind = 'user'
LIMIT $1;

-- name: inspect_backlog_remote
SELECT kind, created_at, deliver_at, sender_id
FROM outbox INDEXED BY outbox_expiry
WHERE dest_kind = 'server' AND state = 'pending' AND lane_seq IS NOT NULL
LIMIT $1;

-- name: inspect_backlog_ready
SELECT o.kind, o.created_at, o.deliver_at, o.sender_id
FROM outbox_lanes l INDEXED BY lanes_ready
CROSS JOIN outbox o INDEXED BY outbox_remote
WHERE l.state = 'ready' AND l.destination_id = $2 AND o.lane_id = l.lane_id
  AND o.dest_kind = 'server' AND o.lane_seq IS NOT NULL
  AND o.state = 'pending' LIMIT $1;

-- name: inspect_backlog_leased
SELECT o.kind, o.created_at, o.deliver_at, o.sender_id
FROM outbox_lanes l INDEXED BY lanes_leased
CROSS JOIN outbox o INDEXED BY outbox_remote
WHERE l.state = 'leased' AND l.destination_id = $2 AND o.lane_id = l.lane_id
  AND o.dest_kind = 'server' AND o.lane_seq IS NOT NULL
  AND o.state = 'pending' LIMIT $1;

-- Lanes that are ready for a destination and the places they hold, over at most
-- $1 of them.
-- name: inspect_places
SELECT count(*), coalesce(sum(n), 0)
FROM (SELECT tail_seq - next_seq + 1 AS n
      FROM outbox_lanes INDEXED BY lanes_ready
      WHERE state = 'ready' AND destination_id = $2 LIMIT $1);

-- ---- lanes ----
-- name: inspect_lane
SELECT l.lane_id, c.public_id, u.name, g.name, l.class, l.state, l.priority,
    l.next_seq, l.last_published_seq,
    CASE WHEN l.state = 'local' THEN
      (SELECT max(o.lane_seq) FROM outbox o WHERE o.lane_id = l.lane_id
       AND o.lane_seq IS NOT NULL AND o.state = 'pending'
       AND o.dest_kind = 'user')
    ELSE l.tail_seq END,
    l.due_at, l.lease_owner, l.lease_until, l.lease_token, l.updated_at,
    l.replay_seq
FROM outbox_lanes l
JOIN conversations c ON c.conversation_id = l.conversation_id
JOIN users u ON u.user_id = l.dest_id
JOIN destinations g ON g.destination_id = l.destination_id
WHERE l.lane_id = $1;

-- name: inspect_lanes_ready
SELECT lane_id, state, destination_id FROM outbox_lanes INDEXED BY lanes_ready
WHERE state = 'ready' LIMIT $1;

-- name: inspect_lanes_ready_to
SELECT lane_id, state, destination_id FROM outbox_lanes INDEXED BY lanes_ready
WHERE state = 'ready' AND destination_id = $2 LIMIT $1;

-- name: inspect_lanes_leased
SELECT lane_id, state, destination_id FROM outbox_lanes INDEXED BY lanes_leased
WHERE state = 'leased' LIMIT $1;

-- name: inspect_dead_letter_open
SELECT dead_id, reason, sender_id, destination_id, resolution
FROM dead_letter_queue INDEXED BY dead_waiting
WHERE resolution IS NULL AND dead_id < $1 ORDER BY dead_id DESC LIMIT $2;

-- The oldest first, as they are given new places.
-- name: inspect_dead_letter_oldest
SELECT dead_id, reason, sender_id, destination_id, resolution
FROM dead_letter_queue INDEXED BY dead_waiting
WHERE resolution IS NULL AND dead_id > $1 ORDER BY dead_id LIMIT $2;
