-- SPDX-License-Identifier: MIT
-- The gauges of /metrics and of the alerts (inspect/gauges.c).  Monitoring
-- systems read them often.  Therefore each statement reads one row or walks
-- along a bounded number of rows, independent of the size of the backlog.

-- name: gauges_totals
-- columns: pending, scheduled, sending, sent, failed, expired, canceled,
--     accepted_total, sent_total, acked_total, retries_total, failed_total,
--     expired_total, canceled_total, requeued_total, rescues_total,
--     fenced_total
SELECT coalesce(sum(pending), 0)::bigint AS pending,
    coalesce(sum(scheduled), 0)::bigint AS scheduled,
    coalesce(sum(sending), 0)::bigint AS sending,
    coalesce(sum(sent), 0)::bigint AS sent,
    coalesce(sum(failed), 0)::bigint AS failed,
    coalesce(sum(expired), 0)::bigint AS expired,
    coalesce(sum(canceled), 0)::bigint AS canceled,
    coalesce(sum(accepted_total), 0)::bigint AS accepted_total,
    coalesce(sum(sent_total), 0)::bigint AS sent_total,
    coalesce(sum(acked_total), 0)::bigint AS acked_total,
    coalesce(sum(retries_total), 0)::bigint AS retries_total,
    coalesce(sum(failed_total), 0)::bigint AS failed_total,
    coalesce(sum(expired_total), 0)::bigint AS expired_total,
    coalesce(sum(canceled_total), 0)::bigint AS canceled_total,
    coalesce(sum(requeued_total), 0)::bigint AS requeued_total,
    coalesce(sum(rescues_total), 0)::bigint AS rescues_total,
    coalesce(sum(fenced_total), 0)::bigint AS fenced_total
FROM outbox_totals;

-- name: gauges_lanes_ready(limit)
-- columns: count
SELECT count(*) AS count FROM (
    SELECT 1 FROM outbox_lanes WHERE state = 'ready'
    ORDER BY destination_id, priority DESC, due_at, lane_id LIMIT $limit) w;

-- Counts open dead letters by reason, at most $limit of them.
-- name: gauges_dead(limit)
-- columns: open, max_retries, rejected, expired, poison, too_large
SELECT count(*) AS open,
    count(*) FILTER (WHERE reason = 'max_retries') AS max_retries,
    count(*) FILTER (WHERE reason = 'rejected') AS rejected,
    count(*) FILTER (WHERE reason = 'expired') AS expired,
    count(*) FILTER (WHERE reason = 'poison') AS poison,
    count(*) FILTER (WHERE reason = 'too_large') AS too_large
FROM (SELECT reason FROM dead_letter_queue WHERE resolution IS NULL
      ORDER BY dead_id LIMIT $limit) w;

-- Lists the destinations; ready: at least one lane to the destination is ready.
-- The subquery is not an EXISTS, because the planner may turn EXISTS into a
-- hash table of all ready lanes.
-- name: gauges_destinations
-- columns: destination_id, name, breaker, paused, ready
SELECT d.destination_id, d.name, d.breaker, d.paused_at IS NOT NULL AS paused,
    (SELECT l.lane_id FROM outbox_lanes l
     WHERE l.state = 'ready' AND l.destination_id = d.destination_id
     LIMIT 1) IS NOT NULL AS ready
FROM destinations d ORDER BY d.destination_id;

-- Measures a destination over at most $limit ready lanes, the most urgent
-- first, and $limit leased ones.  pending_rows: how many places these lanes
-- hold.  oldest_at: since when the oldest head of these lanes waits; the head
-- of a lane is its oldest row.
-- name: gauges_remote(destination_id, limit)
-- columns: pending_rows, oldest_at
SELECT coalesce(sum(w.tail_seq - w.next_seq + 1), 0)::bigint AS pending_rows,
    min((SELECT greatest(o.created_at, o.deliver_at) FROM outbox o
         WHERE o.lane_id = w.lane_id AND o.lane_seq IS NOT NULL
           AND o.dest_kind = 'server' AND o.lane_seq >= w.next_seq
         ORDER BY o.lane_seq LIMIT 1)) AS oldest_at
FROM ((SELECT lane_id, next_seq, tail_seq FROM outbox_lanes
       WHERE state = 'ready' AND destination_id = $destination_id
       ORDER BY priority DESC, due_at, lane_id LIMIT $limit)
      UNION ALL
      (SELECT lane_id, next_seq, tail_seq FROM outbox_lanes
       WHERE state = 'leased' AND destination_id = $destination_id
       ORDER BY lease_until LIMIT $limit)) w;

-- Returns the same oldest_at for the inboxes here, over at most $limit lanes
-- that have pending rows.
-- name: gauges_local(limit)
-- columns: oldest_at
WITH RECURSIVE owing (lane_id, n) AS (
    SELECT min(o.lane_id), 1::bigint FROM outbox o
    WHERE o.state = 'pending' AND o.lane_seq IS NOT NULL
      AND o.dest_kind = 'user'
    UNION ALL
    SELECT (SELECT min(o.lane_id) FROM outbox o
            WHERE o.state = 'pending' AND o.lane_seq IS NOT NULL
              AND o.dest_kind = 'user' AND o.lane_id > w.lane_id), w.n + 1
    FROM owing w WHERE w.lane_id IS NOT NULL AND w.n < $limit)
SELECT min((SELECT greatest(o.created_at, o.deliver_at) FROM outbox o
            WHERE o.lane_id = w.lane_id AND o.lane_seq IS NOT NULL
              AND o.state = 'pending' AND o.dest_kind = 'user'
            ORDER BY o.lane_seq LIMIT 1)) AS oldest_at
FROM owing w;

-- name: gauges_local_rows(limit)
-- columns: pending_rows
SELECT count(*) AS pending_rows FROM (
    SELECT 1 FROM outbox WHERE state = 'pending' AND lane_seq IS NOT NULL
      AND dest_kind = 'user' ORDER BY lane_id, lane_seq LIMIT $limit) w;

-- Lists the lanes to other servers after lane $after that have rows, at most
-- $limit - 1 of them, each with the place of its first row that is not purged,
-- and the time at which that row was sent.
-- name: gauges_lanes_kept(after, limit)
-- columns: lane_id, destination_id, last_published_seq, first_seq, first_at
WITH RECURSIVE kept (lane_id, n) AS (
    SELECT $after::bigint, 1::bigint
    UNION ALL
    SELECT (SELECT min(o.lane_id) FROM outbox o
            WHERE o.dest_kind = 'server' AND o.lane_seq IS NOT NULL
              AND o.lane_id > w.lane_id), w.n + 1
    FROM kept w WHERE w.lane_id IS NOT NULL AND w.n < $limit)
SELECT l.lane_id, l.destination_id, l.last_published_seq, f.first_seq,
    f.first_at
FROM kept w
    JOIN outbox_lanes l ON l.lane_id = w.lane_id
    CROSS JOIN LATERAL (SELECT o.lane_seq AS first_seq,
            coalesce(o.sent_at, o.created_at) AS first_at
        FROM outbox o
        WHERE o.lane_id = w.lane_id AND o.dest_kind = 'server'
          AND o.lane_seq IS NOT NULL
        ORDER BY o.lane_seq LIMIT 1) f
WHERE w.lane_id > $after
ORDER BY w.n;
