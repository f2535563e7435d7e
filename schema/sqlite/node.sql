-- SPDX-License-Identifier: MIT
-- The nodes of a database.  An SQLite database has one writer and therefore one
-- node.

-- Ends the leases of a dead node.
-- name: node_end_leases(owner, now)
UPDATE outbox_lanes SET lease_until = $now
WHERE state = 'leased' AND lease_owner = $owner AND lease_until > $now;
