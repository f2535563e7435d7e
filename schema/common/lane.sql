-- SPDX-License-Identifier: MIT
-- Lanes: one cursor for each conversation, recipient and class.

-- row: lane(lane_id, conversation_id, dest_kind, dest_id, class, tail_seq,
--     next_seq, last_published_seq, due_at, destination_id, state, priority,
--     lease_token, lease_until, lease_owner, replay_seq, acked_seq)
-- row: due_lane(lane_id, due_at)
-- row: least(least)

-- name: lane_insert(conversation_id, dest_kind, dest_id, class, now,
--     destination_id, state)
-- columns: lane_id
INSERT INTO outbox_lanes (conversation_id, dest_kind, dest_id, class,
    updated_at, destination_id, state)
VALUES ($conversation_id, $dest_kind, $dest_id, $class, $now, $destination_id,
    $state)
RETURNING lane_id;

-- Returns the highest priority of the pending rows in a lane to another server.
-- name: lane_top_priority(lane_id)
-- columns: priority
SELECT max(o.priority) AS priority FROM outbox o
WHERE o.lane_id = $lane_id AND o.dest_kind = 'server' AND o.state = 'pending'
  AND o.lane_seq IS NOT NULL;

-- The fence: ends the lease if $lease_token is still the token of the lane.
-- Only the holder of that lease may settle rows.
-- name: lane_fence(lane_id, lease_token, now)
UPDATE outbox_lanes SET state = 'ready', lease_until = NULL,
    lease_owner = NULL, updated_at = $now
WHERE lane_id = $lane_id AND lease_token = $lease_token AND state = 'leased';

-- Extends the lease if $lease_token is still the token of the lane.
-- name: lane_renew(lane_id, lease_token, lease_until, now)
UPDATE outbox_lanes SET lease_until = $lease_until, updated_at = $now
WHERE lane_id = $lane_id AND lease_token = $lease_token AND state = 'leased';

-- Returns the first time after $now at which a lane becomes due.
-- name: lanes_next_due(now)
-- columns: due_at
SELECT min(due_at) AS due_at FROM outbox_lanes
WHERE due_at > 0 AND due_at > $now;

-- Returns for each priority when the next ready lane to a destination is due.
-- name: lanes_ready_next(destination_id)
-- columns: as least
SELECT min(due_at) AS least FROM outbox_lanes
WHERE state = 'ready' AND destination_id = $destination_id AND priority = 1
UNION ALL
SELECT min(due_at) FROM outbox_lanes
WHERE state = 'ready' AND destination_id = $destination_id AND priority = 0
UNION ALL
SELECT min(due_at) FROM outbox_lanes
WHERE state = 'ready' AND destination_id = $destination_id AND priority = -1;

-- Returns the first due time after $beyond; NULL if no lane is due after it.
-- name: lanes_due_beyond(beyond)
-- columns: as least
SELECT min(due_at) AS least FROM outbox_lanes
WHERE due_at > 0 AND due_at > $beyond;

-- Returns when the next lease runs out.
-- name: lanes_lease_next
-- columns: as least
SELECT min(lease_until) AS least FROM outbox_lanes WHERE state = 'leased';
