-- SPDX-License-Identifier: MIT
-- The rows of the archive, which are written before the originals are purged:
-- one JSON object for each row, with names and formats as in the API.  They
-- hold no bodies, because messages are not purged.

-- name: archive_outbox(id)
-- columns: as archived
SELECT json_object(
    'type', 'outbox',
    'outbox_id', o.id,
    'event_id', lower(substr(hex(o.event_id), 1, 8) || '-' || substr(hex(o.event_id), 9, 4) ||
      '-' || substr(hex(o.event_id), 13, 4) || '-' || substr(hex(o.event_id), 17, 4) ||
      '-' || substr(hex(o.event_id), 21)),
    'kind', o.kind,
    'id', lower(substr(hex(m.message_id), 1, 8) || '-' || substr(hex(m.message_id), 9, 4) ||
      '-' || substr(hex(m.message_id), 13, 4) || '-' || substr(hex(m.message_id), 17, 4) ||
      '-' || substr(hex(m.message_id), 21)),
    'conversation', lower(substr(hex(c.public_id), 1, 8) || '-' || substr(hex(c.public_id), 9, 4) ||
      '-' || substr(hex(c.public_id), 13, 4) || '-' || substr(hex(c.public_id), 17, 4) ||
      '-' || substr(hex(c.public_id), 21)),
    'conversation_seq', o.conversation_seq,
    'from', s.name,
    'to', d.name,
    'priority', o.priority,
    'state', o.state,
    'reason', o.reason,
    'attempts', o.attempts,
    'retry_count', o.retry_count,
    'rescue_count', o.rescue_count,
    'requeues', o.requeues,
    'event_time', strftime('%Y-%m-%dT%H:%M:%fZ', o.event_time / 1000.0,
      'unixepoch'),
    'created_at', strftime('%Y-%m-%dT%H:%M:%fZ', o.created_at / 1000.0,
      'unixepoch'),
    'deliver_at', strftime('%Y-%m-%dT%H:%M:%fZ', o.deliver_at / 1000.0,
      'unixepoch'),
    'expires_at', strftime('%Y-%m-%dT%H:%M:%fZ', o.expires_at / 1000.0,
      'unixepoch'),
    'last_attempt_at', strftime('%Y-%m-%dT%H:%M:%fZ', o.last_attempt_at / 1000.0,
      'unixepoch'),
    'sent_at', strftime('%Y-%m-%dT%H:%M:%fZ', o.sent_at / 1000.0,
      'unixepoch'),
    'acked_at', strftime('%Y-%m-%dT%H:%M:%fZ', o.acked_at / 1000.0,
      'unixepoch'),
    'last_error', o.last_error,
    'tries', (SELECT json_group_array(json_object(
      'attempt', a.attempt, 'destination', n.name, 'owner', a.owner,
      'started_at', strftime('%Y-%m-%dT%H:%M:%fZ', a.started_at / 1000.0,
      'unixepoch'),
      'finished_at', strftime('%Y-%m-%dT%H:%M:%fZ', a.finished_at / 1000.0,
      'unixepoch'),
      'outcome', a.outcome, 'status', a.status, 'error', a.error))
      FROM outbox_attempts a
      LEFT JOIN destinations n ON n.destination_id = a.destination_id
      WHERE a.outbox_id = o.id)) AS json
FROM outbox o
LEFT JOIN messages m ON m.mid = o.mid
LEFT JOIN conversations c ON c.conversation_id = o.conversation_id
LEFT JOIN users s ON s.user_id = o.sender_id
LEFT JOIN users d ON d.user_id = o.dest_id
WHERE o.id = $id;

-- name: archive_attempt(attempt_id)
-- columns: as archived
SELECT json_object('type', 'attempt', 'outbox_id', a.outbox_id,
      'attempt', a.attempt, 'destination', n.name, 'owner', a.owner,
      'started_at', strftime('%Y-%m-%dT%H:%M:%fZ', a.started_at / 1000.0,
      'unixepoch'),
      'finished_at', strftime('%Y-%m-%dT%H:%M:%fZ', a.finished_at / 1000.0,
      'unixepoch'),
      'outcome', a.outcome, 'status', a.status, 'error', a.error) AS json
FROM outbox_attempts a
LEFT JOIN destinations n ON n.destination_id = a.destination_id
WHERE a.attempt_id = $attempt_id;

-- name: archive_dead(dead_id)
-- columns: as archived
SELECT json_object(
    'type', 'dead_letter',
    'dead_id', q.dead_id,
    'outbox_id', q.outbox_id,
    'id', lower(substr(hex(m.message_id), 1, 8) || '-' || substr(hex(m.message_id), 9, 4) ||
      '-' || substr(hex(m.message_id), 13, 4) || '-' || substr(hex(m.message_id), 17, 4) ||
      '-' || substr(hex(m.message_id), 21)),
    'from', s.name,
    'to', d.name,
    'state', q.state,
    'reason', q.reason,
    'last_error', q.last_error,
    'attempts', q.attempts,
    'retry_count', q.retry_count,
    'event_time', strftime('%Y-%m-%dT%H:%M:%fZ', q.event_time / 1000.0,
      'unixepoch'),
    'created_at', strftime('%Y-%m-%dT%H:%M:%fZ', q.created_at / 1000.0,
      'unixepoch'),
    'dead_at', strftime('%Y-%m-%dT%H:%M:%fZ', q.dead_at / 1000.0,
      'unixepoch'),
    'resolution', q.resolution,
    'resolved_at', strftime('%Y-%m-%dT%H:%M:%fZ', q.resolved_at / 1000.0,
      'unixepoch'),
    'resolved_by', q.resolved_by) AS json
FROM dead_letter_queue q
LEFT JOIN messages m ON m.mid = q.mid
LEFT JOIN users s ON s.user_id = q.sender_id
LEFT JOIN users d ON d.user_id = q.dest_id
WHERE q.dead_id = $dead_id;

-- name: archive_audit(audit_id)
-- columns: as archived
SELECT json_object('type', 'audit', 'audit_id', audit_id,
    'at', strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000.0,
      'unixepoch'),
    'actor', actor, 'action', action, 'object', object,
    'detail', detail) AS json
FROM audit_log WHERE audit_id = $audit_id;
