-- SPDX-License-Identifier: MIT
-- The queries of operators.  No statement reads the whole backlog or the whole
-- history.  A walk goes along one index from a cursor and ends after $limit
-- rows; the caller continues after the last row.

-- Walks (inspect_walk...) and sets (inspect_set_...) return the same columns:
-- those that the filters use.
-- name: inspect_walk(before, limit)
-- columns: as outbox_candidate
SELECT o.id, o.kind, o.state, o.lane_seq, o.sender_id,
    coalesce(d.destination_id, 1) AS destination_id, o.retry_count,
    o.last_status_at
FROM outbox o CROSS JOIN users d ON d.user_id = o.dest_id
WHERE o.id < $before ORDER BY o.id DESC LIMIT $limit;

-- name: inspect_walk_ended(before, limit, state)
-- columns: as outbox_candidate
SELECT o.id, o.kind, o.state, o.lane_seq, o.sender_id,
    coalesce(d.destination_id, 1) AS destination_id, o.retry_count,
    o.last_status_at
FROM outbox o INDEXED BY outbox_ended CROSS JOIN users d
    ON d.user_id = o.dest_id
WHERE o.state = $state AND o.id < $before
  AND (o.state = 'failed' OR o.state = 'expired' OR o.state = 'canceled')
ORDER BY o.id DESC LIMIT $limit;

-- name: inspect_set_sending(limit, bound)
-- columns: as outbox_candidate
SELECT o.id, o.kind, o.state, o.lane_seq, o.sender_id,
    coalesce(d.destination_id, 1) AS destination_id, o.retry_count,
    o.last_status_at
FROM outbox o INDEXED BY outbox_sending CROSS JOIN users d
    ON d.user_id = o.dest_id
WHERE o.state = 'sending' AND o.last_status_at <= $bound LIMIT $limit;

-- name: inspect_set_retrying(limit, bound)
-- columns: as outbox_candidate
SELECT o.id, o.kind, o.state, o.lane_seq, o.sender_id,
    coalesce(d.destination_id, 1) AS destination_id, o.retry_count,
    o.last_status_at
FROM outbox o INDEXED BY outbox_retrying CROSS JOIN users d
    ON d.user_id = o.dest_id
WHERE o.retry_count >= $bound AND o.retry_count > 0
  AND (o.state = 'pending' OR o.state = 'sending') LIMIT $limit;

-- name: inspect_set_scheduled(limit)
-- columns: as outbox_candidate
SELECT o.id, o.kind, o.state, o.lane_seq, o.sender_id,
    coalesce(d.destination_id, 1) AS destination_id, o.retry_count,
    o.last_status_at
FROM outbox o INDEXED BY outbox_scheduled CROSS JOIN users d
    ON d.user_id = o.dest_id
WHERE o.state = 'pending' AND o.lane_seq IS NULL LIMIT $limit;

-- name: inspect_set_pending_local(limit)
-- columns: as outbox_candidate
SELECT o.id, o.kind, o.state, o.lane_seq, o.sender_id,
    coalesce(d.destination_id, 1) AS destination_id, o.retry_count,
    o.last_status_at
FROM outbox o INDEXED BY outbox_pending CROSS JOIN users d
    ON d.user_id = o.dest_id
WHERE o.state = 'pending' AND o.lane_seq IS NOT NULL AND o.dest_kind = 'user'
LIMIT $limit;

-- name: inspect_set_pending_remote(limit)
-- columns: as outbox_candidate
SELECT o.id, o.kind, o.state, o.lane_seq, o.sender_id,
    coalesce(d.destination_id, 1) AS destination_id, o.retry_count,
    o.last_status_at
FROM outbox o INDEXED BY outbox_expiry CROSS JOIN users d
    ON d.user_id = o.dest_id
WHERE o.dest_kind = 'server' AND o.state = 'pending' LIMIT $limit;

-- ---- figures ----
-- name: inspect_dead_letter_count(limit)
-- columns: count
SELECT count(*) AS count FROM (SELECT 1
    FROM dead_letter_queue INDEXED BY dead_waiting
    WHERE resolution IS NULL LIMIT $limit);

-- name: inspect_stuck_count(unchanged_since)
-- columns: count
SELECT count(*) AS count FROM outbox INDEXED BY outbox_sending
WHERE state = 'sending' AND last_status_at <= $unchanged_since;

-- name: inspect_retrying_count(retry_count)
-- columns: count
SELECT count(*) AS count FROM outbox INDEXED BY outbox_retrying
WHERE retry_count >= $retry_count AND retry_count > 0
  AND (state = 'pending' OR state = 'sending');

-- Reads the first pending row of each lane to an inbox here, for at most $limit
-- lanes.
-- name: inspect_heads_local(limit)
-- columns: as backlog
WITH RECURSIVE owing (lane_id) AS (
    SELECT min(o.lane_id) FROM outbox o
    WHERE o.state = 'pending' AND o.lane_seq IS NOT NULL
      AND o.dest_kind = 'user'
    UNION ALL
    SELECT (SELECT min(o.lane_id) FROM outbox o
            WHERE o.state = 'pending' AND o.lane_seq IS NOT NULL
              AND o.dest_kind = 'user' AND o.lane_id > w.lane_id)
    FROM owing w WHERE w.lane_id IS NOT NULL
    LIMIT $limit)
SELECT f.kind, f.created_at, f.deliver_at, f.sender_id
FROM owing w CROSS JOIN outbox f INDEXED BY outbox_pending
WHERE f.lane_id = w.lane_id AND f.state = 'pending'
  AND f.lane_seq IS NOT NULL AND f.dest_kind = 'user'
  AND f.lane_seq = (SELECT min(o.lane_seq) FROM outbox o
      WHERE o.lane_id = w.lane_id AND o.state = 'pending'
        AND o.lane_seq IS NOT NULL AND o.dest_kind = 'user');

-- The four statements read pending rows: those to inboxes here, those to other
-- servers (those that expire first come first), and those to one other server,
-- in its ready and in its leased lanes.
-- name: inspect_backlog_local(limit)
-- columns: as backlog
SELECT kind, created_at, deliver_at, sender_id
FROM outbox INDEXED BY outbox_pending
WHERE state = 'pending' AND lane_seq IS NOT NULL AND dest_kind = 'user'
LIMIT $limit;

-- name: inspect_backlog_remote(limit)
-- columns: as backlog
SELECT kind, created_at, deliver_at, sender_id
FROM outbox INDEXED BY outbox_expiry
WHERE dest_kind = 'server' AND state = 'pending' AND lane_seq IS NOT NULL
LIMIT $limit;

-- name: inspect_backlog_ready(limit, destination_id)
-- columns: as backlog
SELECT o.kind, o.created_at, o.deliver_at, o.sender_id
FROM outbox_lanes l INDEXED BY lanes_ready
CROSS JOIN outbox o INDEXED BY outbox_remote
WHERE l.state = 'ready' AND l.destination_id = $destination_id
  AND o.lane_id = l.lane_id
  AND o.dest_kind = 'server' AND o.lane_seq IS NOT NULL
  AND o.state = 'pending' LIMIT $limit;

-- name: inspect_backlog_leased(limit, destination_id)
-- columns: as backlog
SELECT o.kind, o.created_at, o.deliver_at, o.sender_id
FROM outbox_lanes l INDEXED BY lanes_leased
CROSS JOIN outbox o INDEXED BY outbox_remote
WHERE l.state = 'leased' AND l.destination_id = $destination_id
  AND o.lane_id = l.lane_id
  AND o.dest_kind = 'server' AND o.lane_seq IS NOT NULL
  AND o.state = 'pending' LIMIT $limit;

-- Counts the ready lanes to a destination and the places that they hold, over
-- at most $limit lanes.
-- name: inspect_places(limit, destination_id)
-- columns: lanes, places
SELECT count(*) AS lanes, coalesce(sum(n), 0) AS places
FROM (SELECT tail_seq - next_seq + 1 AS n
      FROM outbox_lanes INDEXED BY lanes_ready
      WHERE state = 'ready' AND destination_id = $destination_id LIMIT $limit);

-- ---- lanes ----
-- name: inspect_lane(lane_id)
-- columns: lane_id, public_id, recipient, destination, class, state,
--     priority, next_seq, last_published_seq, tail_seq, due_at, lease_owner,
--     lease_until, lease_token, updated_at, replay_seq
SELECT l.lane_id, c.public_id, u.name AS recipient, g.name AS destination,
    l.class, l.state, l.priority, l.next_seq, l.last_published_seq,
    CASE WHEN l.state = 'local' THEN
      (SELECT max(o.lane_seq) FROM outbox o WHERE o.lane_id = l.lane_id
       AND o.lane_seq IS NOT NULL AND o.state = 'pending'
       AND o.dest_kind = 'user')
    ELSE l.tail_seq END AS tail_seq,
    l.due_at, l.lease_owner, l.lease_until, l.lease_token, l.updated_at,
    l.replay_seq
FROM outbox_lanes l
JOIN conversations c ON c.conversation_id = l.conversation_id
JOIN users u ON u.user_id = l.dest_id
JOIN destinations g ON g.destination_id = l.destination_id
WHERE l.lane_id = $lane_id;

-- name: inspect_lanes_ready(limit)
-- columns: as lane_candidate
SELECT lane_id, state, destination_id FROM outbox_lanes INDEXED BY lanes_ready
WHERE state = 'ready' LIMIT $limit;

-- name: inspect_lanes_ready_to(limit, destination_id)
-- columns: as lane_candidate
SELECT lane_id, state, destination_id FROM outbox_lanes INDEXED BY lanes_ready
WHERE state = 'ready' AND destination_id = $destination_id LIMIT $limit;

-- name: inspect_lanes_leased(limit)
-- columns: as lane_candidate
SELECT lane_id, state, destination_id FROM outbox_lanes INDEXED BY lanes_leased
WHERE state = 'leased' LIMIT $limit;

-- name: inspect_dead_letter_open(before, limit)
-- columns: as dead_letter_candidate
SELECT dead_id, reason, sender_id, destination_id, resolution
FROM dead_letter_queue INDEXED BY dead_waiting
WHERE resolution IS NULL AND dead_id < $before
ORDER BY dead_id DESC LIMIT $limit;

-- Lists the oldest dead letters first: requeued messages get their new places
-- in this order.
-- name: inspect_dead_letter_oldest(after, limit)
-- columns: as dead_letter_candidate
SELECT dead_id, reason, sender_id, destination_id, resolution
FROM dead_letter_queue INDEXED BY dead_waiting
WHERE resolution IS NULL AND dead_id > $after ORDER BY dead_id LIMIT $limit;

-- Lists changes at other servers of which a user is known here, and what
-- operators did about them, the newest first.  Reads only the newest $entries
-- entries of the audit log.  Servers of which no user is known can neither
-- raise an alert nor hide one.
-- name: inspect_peer_changes(since, entries, limit)
-- columns: audit_id, at, action, object, detail, destination_id
SELECT w.audit_id, w.at, w.action, w.object, w.detail, w.destination_id
FROM (SELECT a.audit_id, a.at, a.action, a.object, a.detail,
      (SELECT d.destination_id FROM destinations d
       WHERE d.name = a.object AND d.updated_at <> 0)
      AS destination_id
    FROM audit_log a
    WHERE a.audit_id > (SELECT coalesce(max(audit_id), 0) FROM audit_log)
        - $entries
      AND a.at >= $since
      AND (a.action = 'peer-keys' OR a.action = 'peer-epoch'
        OR a.action = 'peer-pin' OR a.action = 'peer-unpin'
        OR a.action = 'peer-block' OR a.action = 'peer-unblock'
        OR a.action = 'peer-forget' OR a.action = 'rewind')) w
WHERE w.action = 'rewind' OR w.destination_id IS NOT NULL
ORDER BY w.audit_id DESC LIMIT $limit;
