-- SPDX-License-Identifier: MIT
-- The rows of the archive, which are written before the originals are purged:
-- one JSON object for each row, with names and formats as in the API.  They
-- hold no bodies, because messages are not purged.

-- name: archive_outbox(id)
-- columns: as archived
SELECT row_to_json(r)::text AS json FROM (
    SELECT 'outbox' AS type, o.id AS outbox_id, o.event_id, o.kind,
        m.message_id AS id, c.public_id AS conversation, o.conversation_seq,
        s.name AS "from", d.name AS "to", o.priority, o.state, o.reason,
        o.attempts, o.retry_count, o.rescue_count, o.requeues,
        twinbox_time(o.event_time) AS event_time,
        twinbox_time(o.created_at) AS created_at,
        twinbox_time(o.deliver_at) AS deliver_at,
        twinbox_time(o.expires_at) AS expires_at,
        twinbox_time(o.last_attempt_at) AS last_attempt_at,
        twinbox_time(o.sent_at) AS sent_at,
        twinbox_time(o.acked_at) AS acked_at,
        o.last_error,
        array_to_json(ARRAY(
            SELECT row_to_json(t) FROM (
                SELECT a.attempt, n.name AS destination, a.owner,
                    twinbox_time(a.started_at) AS started_at,
                    twinbox_time(a.finished_at) AS finished_at,
                    a.outcome, a.status, a.error
                FROM outbox_attempts a
                LEFT JOIN destinations n
                    ON n.destination_id = a.destination_id
                WHERE a.outbox_id = o.id ORDER BY a.attempt) t)) AS tries
    FROM outbox o
    LEFT JOIN messages m ON m.mid = o.mid
    LEFT JOIN conversations c ON c.conversation_id = o.conversation_id
    LEFT JOIN users s ON s.user_id = o.sender_id
    LEFT JOIN users d ON d.user_id = o.dest_id
    WHERE o.id = $id) r;

-- name: archive_attempt(attempt_id)
-- columns: as archived
SELECT row_to_json(r)::text AS json FROM (
    SELECT 'attempt' AS type, a.outbox_id, a.attempt, n.name AS destination,
        a.owner, twinbox_time(a.started_at) AS started_at,
        twinbox_time(a.finished_at) AS finished_at, a.outcome, a.status,
        a.error
    FROM outbox_attempts a
    LEFT JOIN destinations n ON n.destination_id = a.destination_id
    WHERE a.attempt_id = $attempt_id) r;

-- name: archive_dead(dead_id)
-- columns: as archived
SELECT row_to_json(r)::text AS json FROM (
    SELECT 'dead_letter' AS type, q.dead_id, q.outbox_id, m.message_id AS id,
        s.name AS "from", d.name AS "to", q.state, q.reason, q.last_error,
        q.attempts, q.retry_count, twinbox_time(q.event_time) AS event_time,
        twinbox_time(q.created_at) AS created_at,
        twinbox_time(q.dead_at) AS dead_at, q.resolution,
        twinbox_time(q.resolved_at) AS resolved_at, q.resolved_by
    FROM dead_letter_queue q
    LEFT JOIN messages m ON m.mid = q.mid
    LEFT JOIN users s ON s.user_id = q.sender_id
    LEFT JOIN users d ON d.user_id = q.dest_id
    WHERE q.dead_id = $dead_id) r;

-- name: archive_audit(audit_id)
-- columns: as archived
SELECT row_to_json(r)::text AS json FROM (
    SELECT 'audit' AS type, audit_id, twinbox_time(at) AS at, actor, action,
        object, detail
    FROM audit_log WHERE audit_id = $audit_id) r;
