-- SPDX-License-Identifier: MIT
-- The nodes of a database.  An SQLite database has one writer and therefore one
-- node.

-- name: node_insert(name, now)
-- columns: node_id
INSERT INTO nodes (name, started_at, beat_at) VALUES ($name, $now, $now)
RETURNING node_id;

-- Inserts the row again if it was deleted: the node had only been delayed.
-- name: node_heartbeat(node_id, now, name)
INSERT INTO nodes (node_id, name, started_at, beat_at)
VALUES ($node_id, $name, $now, $now)
ON CONFLICT (node_id) DO UPDATE SET beat_at = excluded.beat_at, left_at = NULL;

-- name: node_get(node_id)
-- columns: beat_at
SELECT beat_at FROM nodes WHERE node_id = $node_id;

-- name: node_leave(node_id, now)
UPDATE nodes SET left_at = $now WHERE node_id = $node_id AND left_at IS NULL;

-- Marks a node dead, unless it has written another heartbeat since $beat_at was
-- read.
-- name: node_mark_dead(node_id, now, beat_at)
UPDATE nodes SET left_at = $now
WHERE node_id = $node_id AND left_at IS NULL AND beat_at = $beat_at;

-- name: nodes_alive
-- columns: node_id, name, beat_at
SELECT node_id, name, beat_at FROM nodes
WHERE left_at IS NULL ORDER BY node_id;

-- Counts the leases of a node that have not run out.
-- name: node_leases_left(owner, now)
-- columns: count
SELECT count(*) AS count FROM outbox_lanes
WHERE state = 'leased' AND lease_owner = $owner AND lease_until > $now;

-- Lists the nodes that left before $before and hold no lease.
-- name: nodes_left(before, limit)
-- columns: node_id
SELECT n.node_id FROM nodes n
WHERE n.left_at < $before
  AND NOT EXISTS (SELECT 1 FROM outbox_lanes l WHERE l.state = 'leased'
    AND l.lease_until > 0 AND l.lease_owner = n.name)
ORDER BY n.node_id LIMIT $limit;

-- name: node_forget(node_id, before)
DELETE FROM nodes WHERE node_id = $node_id AND left_at < $before;
