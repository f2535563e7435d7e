-- SPDX-License-Identifier: MIT
-- The queries of operators.  No statement reads the whole backlog or the whole
-- history.  A walk goes along one index from a cursor and ends after $limit
-- rows; the caller continues after the last row.

-- row: inspected_destination(destination_id, name, breaker, failures,
--     successes, next_probe_at, failing_since, last_success_at,
--     last_failure_at, last_error, paused_at, paused_by, pause_reason,
--     per_second)
-- row: outbox_candidate(id, kind, state, lane_seq, sender_id, destination_id,
--     retry_count, last_status_at)
-- row: lane_candidate(lane_id, state, destination_id)
-- row: dead_letter_candidate(dead_id, reason, sender_id, destination_id,
--     resolution)
-- row: backlog(kind, created_at, deliver_at, sender_id)

-- ---- outbox rows ----

-- Reads an outbox row with everything that operators see of it.
-- name: inspect_outbox_row(id)
-- columns: id, message_id, kind, sender, recipient, destination, state,
--     reason, priority, attempts, retry_count, rescue_count, requeues,
--     event_time, created_at, last_attempt_at, last_status_at, next_retry_at,
--     deliver_at, expires_at, sent_at, acked_at, last_error, lane_id,
--     lane_seq, conversation_seq, shown_upto, shown_at
SELECT o.id, m.message_id, o.kind, s.name AS sender, d.name AS recipient,
    g.name AS destination, o.state, o.reason, o.priority, o.attempts,
    o.retry_count, o.rescue_count, o.requeues, o.event_time, o.created_at,
    o.last_attempt_at, o.last_status_at, o.next_retry_at, o.deliver_at,
    o.expires_at, o.sent_at, o.acked_at, o.last_error, o.lane_id, o.lane_seq,
    o.conversation_seq, p.shown_upto, p.shown_at
FROM outbox o
JOIN messages m ON m.mid = o.mid
JOIN users s ON s.user_id = o.sender_id
JOIN users d ON d.user_id = o.dest_id
JOIN destinations g ON g.destination_id = coalesce(d.destination_id, 1)
LEFT JOIN participants p ON p.conversation_id = o.conversation_id
    AND p.user_id = o.dest_id
WHERE o.id = $id;

-- Reads a message without its body, which operators must not see.
-- name: inspect_message(message_id)
-- columns: message_id, sender, public_id, conversation_seq, event_time,
--     created_at, correlation_id
SELECT m.message_id, s.name AS sender, c.public_id, m.conversation_seq,
    m.event_time, m.created_at, m.correlation_id
FROM messages m
JOIN users s ON s.user_id = m.sender_id
JOIN conversations c ON c.conversation_id = m.conversation_id
WHERE m.message_id = $message_id;

-- Reads the newest attempts of an outbox row, the newest first.
-- name: inspect_attempts(outbox_id, limit)
-- columns: attempt, started_at, finished_at, outcome, status, error, owner
SELECT attempt, started_at, finished_at, outcome, status, error, owner
FROM outbox_attempts WHERE outbox_id = $outbox_id
ORDER BY attempt DESC LIMIT $limit;

-- Reads the newest rows with the times from which latencies are computed.
-- name: inspect_newest(before, limit)
-- columns: kind, created_at, deliver_at, sent_at
SELECT kind, created_at, deliver_at, sent_at FROM outbox
WHERE id < $before ORDER BY id DESC LIMIT $limit;

-- ---- destinations ----
-- name: inspect_destinations(after, limit)
-- columns: as inspected_destination
SELECT destination_id, name, breaker, failures, successes, next_probe_at,
    failing_since, last_success_at, last_failure_at, last_error, paused_at,
    paused_by, pause_reason, per_second
FROM destinations WHERE name > $after ORDER BY name LIMIT $limit;

-- name: inspect_destination(name)
-- columns: as inspected_destination
SELECT destination_id, name, breaker, failures, successes, next_probe_at,
    failing_since, last_success_at, last_failure_at, last_error, paused_at,
    paused_by, pause_reason, per_second
FROM destinations WHERE name = $name;

-- name: inspect_lanes_walk(after, limit)
-- columns: as lane_candidate
SELECT lane_id, state, destination_id FROM outbox_lanes
WHERE lane_id > $after ORDER BY lane_id LIMIT $limit;

-- ---- dead letters ----
-- name: inspect_dead_letter(dead_id)
-- columns: dead_id, outbox_id, message_id, sender, recipient, destination,
--     state, reason, last_error, attempts, retry_count, event_time,
--     created_at, dead_at, resolution, resolved_at, resolved_by
SELECT q.dead_id, q.outbox_id, m.message_id, s.name AS sender,
    d.name AS recipient, g.name AS destination, q.state, q.reason, q.last_error,
    q.attempts, q.retry_count, q.event_time, q.created_at, q.dead_at,
    q.resolution, q.resolved_at, q.resolved_by
FROM dead_letter_queue q
JOIN messages m ON m.mid = q.mid
JOIN users s ON s.user_id = q.sender_id
JOIN users d ON d.user_id = q.dest_id
JOIN destinations g ON g.destination_id = q.destination_id
WHERE q.dead_id = $dead_id;

-- name: inspect_dead_letter_walk(before, limit)
-- columns: as dead_letter_candidate
SELECT dead_id, reason, sender_id, destination_id, resolution
FROM dead_letter_queue WHERE dead_id < $before
ORDER BY dead_id DESC LIMIT $limit;

-- Reads the dead letters of an outbox row, the newest first.
-- name: inspect_dead_letter_of(outbox_id, limit)
-- columns: dead_id, state, reason, dead_at, resolution, resolved_at,
--     resolved_by
SELECT dead_id, state, reason, dead_at, resolution, resolved_at, resolved_by
FROM dead_letter_queue WHERE outbox_id = $outbox_id
ORDER BY dead_id DESC LIMIT $limit;

-- ---- users and the audit log ----
-- row: inspected_user(user_id, name, display_name, admin, disabled_at,
--     created_at, destination_id, devices)

-- name: inspect_users(after, limit)
-- columns: as inspected_user
SELECT u.user_id, u.name, u.display_name, u.admin, u.disabled_at, u.created_at,
    u.destination_id, (SELECT count(*) FROM devices d
        WHERE d.user_id = u.user_id AND d.revoked_at IS NULL) AS devices
FROM users u WHERE u.name > $after ORDER BY u.name LIMIT $limit;

-- name: inspect_user(user_id)
-- columns: as inspected_user
SELECT u.user_id, u.name, u.display_name, u.admin, u.disabled_at, u.created_at,
    u.destination_id, (SELECT count(*) FROM devices d
        WHERE d.user_id = u.user_id AND d.revoked_at IS NULL) AS devices
FROM users u WHERE u.user_id = $user_id;

-- name: inspect_audit(before, limit)
-- columns: audit_id, at, actor, action, object, detail
SELECT audit_id, at, actor, action, object, detail
FROM audit_log WHERE audit_id < $before ORDER BY audit_id DESC LIMIT $limit;

-- Finds the first place of a lane below its cursor whose row the other server
-- accepted at $since or later, by the clock of this server.
-- name: inspect_lane_sent_since(lane_id, since)
-- columns: lane_seq
SELECT o.lane_seq
FROM outbox_lanes l
JOIN outbox o ON o.lane_id = l.lane_id AND o.lane_seq < l.next_seq
WHERE l.lane_id = $lane_id AND o.dest_kind = 'server' AND o.lane_seq IS NOT NULL
  AND (o.state = 'sent' OR o.state = 'acked') AND o.sent_at >= $since
ORDER BY o.lane_seq LIMIT 1;
