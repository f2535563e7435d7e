-- SPDX-License-Identifier: MIT
-- Outbox rows on their way to other servers.

-- name: outbox_requeue(id, lane_seq, expires_at, now)
WITH tails AS (
    UPDATE outbox_lanes l SET tail_seq = $lane_seq
    FROM outbox o
    WHERE o.id = $id AND (o.state = 'failed' OR o.state = 'expired')
      AND l.lane_id = o.lane_id AND l.tail_seq < $lane_seq)
UPDATE outbox SET state = 'pending', lane_seq = $lane_seq, retry_count = 0,
    rescue_count = 0, reason = NULL, next_retry_at = NULL,
    expires_at = $expires_at, requeues = requeues + 1, last_status_at = $now
WHERE id = $id AND (state = 'failed' OR state = 'expired');

-- Counts the messages that wait for other servers.  Reads each lane from its
-- cursor on, so that rows which have left the lane cost nothing.  All messages
-- of a lane to another server have one sender: the other member of the direct
-- conversation.
-- name: outbox_waiting_remote
-- columns: as waiting
SELECT min(o.sender_id) AS sender_id, l.destination_id, count(*) AS count
FROM outbox_lanes l JOIN outbox o ON o.lane_id = l.lane_id
WHERE l.state <> 'local' AND l.state <> 'idle'
  AND o.dest_kind = 'server' AND o.lane_seq IS NOT NULL
  AND o.lane_seq >= l.next_seq AND o.kind = EVENT_MESSAGE
  AND (o.state = 'pending' OR o.state = 'sending')
GROUP BY l.lane_id;
