-- SPDX-License-Identifier: MIT
-- Lanes: one cursor for each conversation, recipient and class.

-- name: lane_insert
INSERT INTO outbox_lanes (conversation_id, dest_kind, dest_id, class,
    updated_at, destination_id, state)
VALUES ($1, $2, $3, $4, $5, $6, $7)
RETURNING lane_id;

-- The highest priority of what waits in a lane to another server.
-- name: lane_top_priority
SELECT max(o.priority) FROM outbox o
WHERE o.lane_id = $1 AND o.dest_kind = 'server' AND o.state = 'pending'
  AND o.lane_seq IS NOT NULL;

-- The fence: only the holder of the lease with this token may settle.
-- name: lane_fence
UPDATE outbox_lanes SET state = 'ready', lease_until = NULL,
    lease_owner = NULL, updated_at = $3
WHERE lane_id = $1 AND lease_token = $2 AND state = 'leased';

-- The same token holds it for longer.
-- name: lane_renew
UPDATE outbox_lanes SET lease_until = $3, updated_at = $4
WHERE lane_id = $1 AND lease_token = $2 AND state = 'leased';

-- The next due time beyond now.
-- name: lanes_next_due
SELECT min(due_at) FROM outbox_lanes WHERE due_at > 0 AND due_at > $1;

-- When a destination's next lane is due, of each priority.
-- name: lanes_ready_next
SELECT min(due_at) FROM outbox_lanes
WHERE state = 'ready' AND destination_id = $1 AND priority = 1
UNION ALL
SELECT min(due_at) FROM outbox_lanes
WHERE state = 'ready' AND destination_id = $1 AND priority = 0
UNION ALL
SELECT min(due_at) FROM outbox_lanes
WHERE state = 'ready' AND destination_id = $1 AND priority = -1;

-- Whether there are lanes that are due after $1.
-- name: lanes_due_beyond
SELECT min(due_at) FROM outbox_lanes WHERE due_at > 0 AND due_at > $1;

-- When the next lease runs out.
-- name: lanes_lease_next
SELECT min(lease_until) FROM outbox_lanes WHERE state = 'leased';
