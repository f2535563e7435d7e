-- SPDX-License-Identifier: MIT
-- Outbox rows.

-- Returns the next $count numbers in ascending order.
-- name: outbox_ids(count)
-- columns: as new_id
SELECT nextval('outbox_ids') AS id FROM generate_series(1, $count::bigint);

-- name: outbox_insert(id, event_id, kind, mid, conversation_id,
--     conversation_seq, sender_id, lane_id, lane_seq, dest_kind, dest_id,
--     priority, state, deliver_at, expires_at, event_time, now, attempts,
--     attempt_at, sent_at, acked_at)
WITH rows AS (
    SELECT * FROM unnest($id::bigint[], $event_id::uuid[], $kind::bigint[],
        $mid::bigint[], $conversation_id::bigint[], $conversation_seq::bigint[],
        $sender_id::bigint[], $lane_id::bigint[], $lane_seq::bigint[],
        $dest_kind::text[], $dest_id::bigint[], $priority::bigint[],
        $state::text[], $deliver_at::bigint[], $expires_at::bigint[],
        $event_time::bigint[], $now::bigint[], $attempts::bigint[],
        $attempt_at::bigint[], $sent_at::bigint[], $acked_at::bigint[])
        AS r (id, event_id, kind, mid, conversation_id, conversation_seq,
            sender_id, lane_id, lane_seq, dest_kind, dest_id, priority, state,
            deliver_at, expires_at, event_time, created_at, attempts,
            attempt_at, sent_at, acked_at)),
tails AS (
    UPDATE outbox_lanes l SET tail_seq = t.tail_seq
    FROM (SELECT lane_id, max(lane_seq) AS tail_seq FROM rows
          WHERE lane_seq IS NOT NULL GROUP BY lane_id) t
    WHERE l.lane_id = t.lane_id AND l.tail_seq < t.tail_seq)
INSERT INTO outbox (id, event_id, kind, mid, conversation_id, conversation_seq,
    sender_id, lane_id, lane_seq, dest_kind, dest_id, priority, state,
    deliver_at, expires_at, event_time, created_at, last_status_at, attempts,
    last_attempt_at, sent_at, acked_at)
SELECT id, event_id, kind, mid, conversation_id, conversation_seq, sender_id,
    lane_id, lane_seq, dest_kind, dest_id, priority, state, deliver_at,
    expires_at, event_time, created_at, created_at, attempts, attempt_at,
    sent_at, acked_at
FROM rows;

-- Reads the next pending rows of a lane, in order.
-- name: outbox_claim(lane_id, from_seq, limit)
-- columns: id, event_id, kind, mid, conversation_seq, sender_id, lane_seq,
--     dest_id, event_time, created_at, attempts, expires_at, deliver_at,
--     lane_id
SELECT o.id, o.event_id, o.kind, o.mid, o.conversation_seq, o.sender_id,
    o.lane_seq, o.dest_id, o.event_time, o.created_at, o.attempts,
    o.expires_at, o.deliver_at, o.lane_id
FROM unnest($lane_id::bigint[], $from_seq::bigint[],
    $limit::bigint[]) WITH ORDINALITY
    AS r (lane_id, from_seq, most, place)
CROSS JOIN LATERAL (
    SELECT * FROM outbox w
    WHERE w.lane_id = r.lane_id AND w.lane_seq IS NOT NULL
      AND w.state = 'pending' AND w.dest_kind = 'user'
      AND w.lane_seq >= r.from_seq
    ORDER BY w.lane_seq LIMIT r.most) AS o
ORDER BY r.place, o.lane_seq;

-- name: outbox_settle_sent(id, now)
UPDATE outbox o SET state = 'sent', attempts = o.attempts + 1, sent_at = r.at,
    last_attempt_at = r.at, last_status_at = r.at, last_error = NULL,
    next_retry_at = NULL
FROM unnest($id::bigint[], $now::bigint[]) AS r (id, at)
WHERE o.id = r.id AND o.state = 'pending';

-- Acks a message that its recipient has acked.
-- name: outbox_settle_acked(id, now)
UPDATE outbox o SET state = 'acked', acked_at = r.at, last_status_at = r.at
FROM unnest($id::bigint[], $now::bigint[]) AS r (id, at)
WHERE o.id = r.id AND o.state = 'sent';

-- Finds the row by its id.  The planner must not use the index of scheduled
-- rows instead, as it would while its statistics say that this index is empty.
-- The index is declared WHERE lane_seq IS NULL; the planner does not see that
-- IS NOT DISTINCT FROM NULL is the same.
-- name: outbox_release(id, lane_seq, conversation_seq, now)
WITH tails AS (
    UPDATE outbox_lanes l SET tail_seq = $lane_seq
    FROM outbox o
    WHERE o.id = $id AND o.state = 'pending'
      AND o.lane_seq IS NOT DISTINCT FROM NULL
      AND l.lane_id = o.lane_id AND l.tail_seq < $lane_seq)
UPDATE outbox SET lane_seq = $lane_seq, conversation_seq = $conversation_seq,
    last_status_at = $now
WHERE id = $id AND state = 'pending' AND lane_seq IS NOT DISTINCT FROM NULL;
