-- SPDX-License-Identifier: MIT
-- The queries of operators.  No statement walks all that waits or all that
-- ever was: walks go along one index from a cursor, and end after the number of
-- rows that they are given; the caller goes on from the last.

-- ---- outbox rows ----

-- One row, as operators see it.
-- name: inspect_outbox_row
SELECT o.id, m.message_id, o.kind, s.name, d.name, g.name, o.state, o.reason,
    o.priority, o.attempts, o.retry_count, o.rescue_count, o.requeues,
    o.event_time, o.created_at, o.last_attempt_at, o.last_status_at,
    o.next_retry_at, o.deliver_at, o.expires_at, o.sent_at, o.acked_at,
    o.last_error, o.lane_id, o.lane_seq, o.conversation_seq, p.shown_upto,
    p.shown_at
FROM outbox o
JOIN messages m ON m.mid = o.mid
JOIN users s ON s.user_id = o.sender_id
JOIN users d ON d.user_id = o.dest_id
JOIN destinations g ON g.destination_id = coalesce(d.destination_id, 1)
LEFT JOIN participants p ON p.conversation_id = o.conversation_id
    AND p.user_id = o.dest_id
WHERE o.id = $1;

-- The message itself, without what it says.
-- name: inspect_message
SELECT m.message_id, s.name, c.public_id, m.conversation_seq, m.event_time,
    m.created_at, m.correlation_id
FROM messages m
JOIN users s ON s.user_id = m.sender_id
JOIN conversations c ON c.conversation_id = m.conversation_id
WHERE m.message_id = $1;

-- The newest attempts of a row, newest first.
-- name: inspect_attempts
SELECT attempt, started_at, finished_at, outcome, status, error, owner
FROM outbox_attempts WHERE outbox_id = $1 ORDER BY attempt DESC LIMIT $2;

-- The newest rows with the times that a latency is made of.
-- name: inspect_newest
SELECT kind, created_at, deliver_at, sent_at FROM outbox
WHERE id < $1 ORDER BY id DESC LIMIT $2;

-- ---- destinations ----
-- name: inspect_destinations
SELECT destination_id, name, breaker, failures, successes, next_probe_at,
    failing_since, last_success_at, last_failure_at, last_error, paused_at,
    paused_by, pause_reason, per_second
FROM destinations WHERE name > $1 ORDER BY name LIMIT $2;

-- name: inspect_destination
SELECT destination_id, name, breaker, failures, successes, next_probe_at,
    failing_since, last_success_at, last_failure_at, last_error, paused_at,
    paused_by, pause_reason, per_second
FROM destinations WHERE name = $1;

-- name: inspect_lanes_walk
SELECT lane_id, state, destination_id FROM outbox_lanes
WHERE lane_id > $1 ORDER BY lane_id LIMIT $2;

-- ---- dead letters ----
-- name: inspect_dead_letter
SELECT q.dead_id, q.outbox_id, m.message_id, s.name, d.name, g.name, q.state,
    q.reason, q.last_error, q.attempts, q.retry_count, q.event_time,
    q.created_at, q.dead_at, q.resolution, q.resolved_at, q.resolved_by
FROM dead_letter_queue q
JOIN messages m ON m.mid = q.mid
JOIN users s ON s.user_id = q.sender_id
JOIN users d ON d.user_id = q.dest_id
JOIN destinations g ON g.destination_id = q.destination_id
WHERE q.dead_id = $1;

-- name: inspect_dead_letter_walk
SELECT dead_id, reason, sender_id, destination_id, resolution
FROM dead_letter_queue WHERE dead_id < $1 ORDER BY dead_id DESC LIMIT $2;

-- Those of one row, newest first.
-- name: inspect_dead_letter_of
SELECT dead_id, state, reason, dead_at, resolution, resolved_at, resolved_by
FROM dead_letter_queue WHERE outbox_id = $1 ORDER BY dead_id DESC LIMIT $2;

-- ---- people, and what was done ----
-- name: inspect_users
SELECT u.user_id, u.name, u.display_name, u.admin, u.disabled_at, u.created_at,
    u.destination_id, (SELECT count(*) FROM devices d
        WHERE d.user_id = u.user_id AND d.revoked_at IS NULL)
FROM users u WHERE u.name > $1 ORDER BY u.name LIMIT $2;

-- name: inspect_audit
SELECT audit_id, at, actor, action, object, detail
FROM audit_log WHERE audit_id < $1 ORDER BY audit_id DESC LIMIT $2;
