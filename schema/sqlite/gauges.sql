-- SPDX-License-Identifier: MIT
-- The gauges of /metrics and of alerts (inspect/gauges.c).  Monitors read them
-- often: each statement reads one row or walks a bounded number, however large
-- the backlog is.

-- name: gauges_totals
SELECT pending, scheduled, sending, sent, failed, expired, canceled,
    accepted_total, sent_total, acked_total, retries_total, failed_total,
    expired_total, canceled_total, requeued_total, rescues_total, fenced_total
FROM outbox_totals WHERE one = 1;

-- name: gauges_lanes_ready
SELECT count(*) FROM (
    SELECT 1 FROM outbox_lanes WHERE state = 'ready' LIMIT $1);

-- Dead letters that nobody has dealt with, at most $1 of them, by reason.
-- name: gauges_dead
SELECT count(*),
    count(*) FILTER (WHERE reason = 'max_retries'),
    count(*) FILTER (WHERE reason = 'rejected'),
    count(*) FILTER (WHERE reason = 'expired'),
    count(*) FILTER (WHERE reason = 'poison'),
    count(*) FILTER (WHERE reason = 'too_large')
FROM (SELECT reason FROM dead_letter_queue WHERE resolution IS NULL LIMIT $1);

-- Destinations with whether something is ready for them.
-- name: gauges_destinations
SELECT d.destination_id, d.name, d.breaker, d.paused_at IS NOT NULL,
    EXISTS (SELECT 1 FROM outbox_lanes l
            WHERE l.state = 'ready' AND l.destination_id = d.destination_id)
FROM destinations d ORDER BY d.destination_id;

-- Of a destination $1, over at most $2 lanes that are ready (those first that
-- are due first) and $2 that are leased: what they hold, and since when the
-- head of a lane waits, which is the oldest that is in it.
-- name: gauges_remote
SELECT coalesce(sum(w.tail_seq - w.next_seq + 1), 0),
    min((SELECT max(o.created_at, coalesce(o.deliver_at, 0)) FROM outbox o
         WHERE o.lane_id = w.lane_id AND o.lane_seq IS NOT NULL
           AND o.dest_kind = 'server' AND o.lane_seq >= w.next_seq
         ORDER BY o.lane_seq LIMIT 1))
FROM (SELECT * FROM (
          SELECT lane_id, next_seq, tail_seq FROM outbox_lanes
          WHERE state = 'ready' AND destination_id = $1
          ORDER BY priority DESC, due_at LIMIT $2)
      UNION ALL
      SELECT * FROM (
          SELECT lane_id, next_seq, tail_seq FROM outbox_lanes
          WHERE state = 'leased' AND destination_id = $1 LIMIT $2)) w;

-- The same for the inboxes here, over at most $1 lanes that owe something.
-- name: gauges_local
WITH RECURSIVE owing (lane_id) AS (
    SELECT min(o.lane_id) FROM outbox o
    WHERE o.state = 'pending' AND o.lane_seq IS NOT NULL
      AND o.dest_kind = 'user'
    UNION ALL
    SELECT (SELECT min(o.lane_id) FROM outbox o
            WHERE o.state = 'pending' AND o.lane_seq IS NOT NULL
              AND o.dest_kind = 'user' AND o.lane_id > w.lane_id)
    FROM owing w WHERE w.lane_id IS NOT NULL
    LIMIT $1)
SELECT min((SELECT max(o.created_at, coalesce(o.deliver_at, 0)) FROM outbox o
            WHERE o.lane_id = w.lane_id AND o.lane_seq IS NOT NULL
              AND o.state = 'pending' AND o.dest_kind = 'user'
            ORDER BY o.lane_seq LIMIT 1))
FROM owing w;

-- name: gauges_local_rows
SELECT count(*) FROM (
    SELECT 1 FROM outbox WHERE state = 'pending' AND lane_seq IS NOT NULL
      AND dest_kind = 'user' LIMIT $1);
