-- SPDX-License-Identifier: MIT
-- The nodes of a database: this one has one writer, and so one node.

-- Ends the leases of a dead node.
-- name: node_end_leases
UPDATE outbox_lanes SET lease_until = $2
WHERE state = 'leased' AND lease_owner = $1 AND lease_until > $2;
