-- SPDX-License-Identifier: MIT
-- The nodes of a database.  A database of SQLite has one writer, and so one node.

-- name: node_insert
INSERT INTO nodes (name, started_at, beat_at) VALUES ($1, $2, $2)
RETURNING node_id;

-- Inserts the row again if it was deleted: the node was only held up.
-- name: node_heartbeat
INSERT INTO nodes (node_id, name, started_at, beat_at) VALUES ($1, $3, $2, $2)
ON CONFLICT (node_id) DO UPDATE SET beat_at = excluded.beat_at, left_at = NULL;

-- name: node_get
SELECT beat_at FROM nodes WHERE node_id = $1;

-- name: node_leave
UPDATE nodes SET left_at = $2 WHERE node_id = $1 AND left_at IS NULL;

-- Unless it has sent another heartbeat.
-- name: node_mark_dead
UPDATE nodes SET left_at = $2
WHERE node_id = $1 AND left_at IS NULL AND beat_at = $3;

-- name: nodes_alive
SELECT node_id, name, beat_at FROM nodes
WHERE left_at IS NULL ORDER BY node_id;

-- The leases that have not run out.
-- name: node_leases_left
SELECT count(*) FROM outbox_lanes
WHERE state = 'leased' AND lease_owner = $1 AND lease_until > $2;

-- The nodes that left before $1 and hold no lease.
-- name: nodes_left
SELECT n.node_id FROM nodes n
WHERE n.left_at < $1
  AND NOT EXISTS (SELECT 1 FROM outbox_lanes l WHERE l.state = 'leased'
    AND l.lease_until > 0 AND l.lease_owner = n.name)
ORDER BY n.node_id LIMIT $2;

-- name: node_forget
DELETE FROM nodes WHERE node_id = $1 AND left_at < $2;
