-- SPDX-License-Identifier: MIT
-- The nodes of a database.

-- Leases of a node that is gone run out now, as far as nobody is at work on their
-- conversations, who would write back what he has read of the lane.
-- name: node_end_leases(owner, now)
WITH held AS (
    SELECT l.lane_id FROM outbox_lanes l
    JOIN conversations c ON c.conversation_id = l.conversation_id
    WHERE l.state = 'leased' AND l.lease_owner = $owner AND l.lease_until > $now
    FOR UPDATE OF c SKIP LOCKED)
UPDATE outbox_lanes SET lease_until = $now
WHERE lane_id = ANY (ARRAY (SELECT lane_id FROM held))
  AND state = 'leased' AND lease_owner = $owner AND lease_until > $now;
