-- SPDX-License-Identifier: MIT
-- The gauges of /metrics and of alerts (inspect/gauges.c).  Monitors read them
-- often: each statement reads one row or walks a bounded number, however large
-- the backlog is.

-- name: gauges_totals
SELECT coalesce(sum(pending), 0)::bigint,
    coalesce(sum(scheduled), 0)::bigint,
    coalesce(sum(sending), 0)::bigint,
    coalesce(sum(sent), 0)::bigint,
    coalesce(sum(failed), 0)::bigint,
    coalesce(sum(expired), 0)::bigint,
    coalesce(sum(canceled), 0)::bigint,
    coalesce(sum(accepted_total), 0)::bigint,
    coalesce(sum(sent_total), 0)::bigint,
    coalesce(sum(acked_total), 0)::bigint,
    coalesce(sum(retries_total), 0)::bigint,
    coalesce(sum(failed_total), 0)::bigint,
    coalesce(sum(expired_total), 0)::bigint,
    coalesce(sum(canceled_total), 0)::bigint,
    coalesce(sum(requeued_total), 0)::bigint,
    coalesce(sum(rescues_total), 0)::bigint,
    coalesce(sum(fenced_total), 0)::bigint
FROM outbox_totals;

-- name: gauges_lanes_ready
SELECT count(*) FROM (
    SELECT 1 FROM outbox_lanes WHERE state = 'ready'
    ORDER BY destination_id, priority DESC, due_at, lane_id LIMIT $1) w;

-- Dead letters that nobody has dealt with, at most $1 of them, by reason.
-- name: gauges_dead
SELECT count(*),
    count(*) FILTER (WHERE reason = 'max_retries'),
    count(*) FILTER (WHERE reason = 'rejected'),
    count(*) FILTER (WHERE reason = 'expired'),
    count(*) FILTER (WHERE reason = 'poison'),
    count(*) FILTER (WHERE reason = 'too_large')
FROM (SELECT reason FROM dead_letter_queue WHERE resolution IS NULL
      ORDER BY dead_id LIMIT $1) w;

-- Destinations with whether something is ready for them.  (Not EXISTS, which may
-- be made into a hash table of all that is ready.)
-- name: gauges_destinations
SELECT d.destination_id, d.name, d.breaker, d.paused_at IS NOT NULL,
    (SELECT l.lane_id FROM outbox_lanes l
     WHERE l.state = 'ready' AND l.destination_id = d.destination_id
     LIMIT 1) IS NOT NULL
FROM destinations d ORDER BY d.destination_id;

-- Of a destination $1, over at most $2 lanes that are ready (those first that
-- are due first) and $2 that are leased: what they hold, and since when the
-- head of a lane waits, which is the oldest that is in it.
-- name: gauges_remote
SELECT coalesce(sum(w.tail_seq - w.next_seq + 1), 0)::bigint,
    min((SELECT greatest(o.created_at, o.deliver_at) FROM outbox o
         WHERE o.lane_id = w.lane_id AND o.lane_seq IS NOT NULL
           AND o.dest_kind = 'server' AND o.lane_seq >= w.next_seq
         ORDER BY o.lane_seq LIMIT 1))
FROM ((SELECT lane_id, next_seq, tail_seq FROM outbox_lanes
       WHERE state = 'ready' AND destination_id = $1
       ORDER BY priority DESC, due_at, lane_id LIMIT $2)
      UNION ALL
      (SELECT lane_id, next_seq, tail_seq FROM outbox_lanes
       WHERE state = 'leased' AND destination_id = $1
       ORDER BY lease_until LIMIT $2)) w;

-- The same for the inboxes here, over at most $1 lanes that owe something.
-- name: gauges_local
WITH RECURSIVE owing (lane_id, n) AS (
    SELECT min(o.lane_id), 1::bigint FROM outbox o
    WHERE o.state = 'pending' AND o.lane_seq IS NOT NULL
      AND o.dest_kind = 'user'
    UNION ALL
    SELECT (SELECT min(o.lane_id) FROM outbox o
            WHERE o.state = 'pending' AND o.lane_seq IS NOT NULL
              AND o.dest_kind = 'user' AND o.lane_id > w.lane_id), w.n + 1
    FROM owing w WHERE w.lane_id IS NOT NULL AND w.n < $1)
SELECT min((SELECT greatest(o.created_at, o.deliver_at) FROM outbox o
            WHERE o.lane_id = w.lane_id AND o.lane_seq IS NOT NULL
              AND o.state = 'pending' AND o.dest_kind = 'user'
            ORDER BY o.lane_seq LIMIT 1))
FROM owing w;

-- name: gauges_local_rows
SELECT count(*) FROM (
    SELECT 1 FROM outbox WHERE state = 'pending' AND lane_seq IS NOT NULL
      AND dest_kind = 'user' ORDER BY lane_id, lane_seq LIMIT $1) w;
