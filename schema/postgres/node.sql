-- SPDX-License-Identifier: MIT
-- The nodes of a database.

-- Ends the leases of a dead node.  Lanes whose conversation a transaction has
-- locked are left out: that transaction would overwrite the lane with the
-- values that it has read.
-- name: node_end_leases(owner, now)
WITH free AS (
    SELECT l.lane_id FROM outbox_lanes l
    JOIN conversations c ON c.conversation_id = l.conversation_id
    WHERE l.state = 'leased' AND l.lease_owner = $owner AND l.lease_until > $now
    FOR UPDATE OF c SKIP LOCKED)
UPDATE outbox_lanes SET lease_until = $now
WHERE lane_id = ANY (ARRAY (SELECT lane_id FROM free))
  AND state = 'leased' AND lease_owner = $owner AND lease_until > $now;
