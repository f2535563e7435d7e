-- SPDX-License-Identifier: MIT
-- Outbox rows on their way to other servers.

-- name: outbox_requeue
WITH tails AS (
    UPDATE outbox_lanes l SET tail_seq = $2
    FROM outbox o
    WHERE o.id = $1 AND (o.state = 'failed' OR o.state = 'expired')
      AND l.lane_id = o.lane_id AND l.tail_seq < $2)
UPDATE outbox SET state = 'pending', lane_seq = $2, retry_count = 0,
    rescue_count = 0, reason = NULL, next_retry_at = NULL, expires_at = $3,
    requeues = requeues + 1, last_status_at = $4
WHERE id = $1 AND (state = 'failed' OR state = 'expired');

-- From each lane's cursor on: what has left it is not looked at.  A lane to
-- another server has one sender, the other one of a direct conversation.
-- name: outbox_waiting_remote
SELECT min(o.sender_id), l.destination_id, count(*)
FROM outbox_lanes l JOIN outbox o ON o.lane_id = l.lane_id
WHERE l.state <> 'local' AND l.state <> 'idle'
  AND o.dest_kind = 'server' AND o.lane_seq IS NOT NULL
  AND o.lane_seq >= l.next_seq AND o.kind = 1
  AND (o.state = 'pending' OR o.state = 'sending')
GROUP BY l.lane_id;
