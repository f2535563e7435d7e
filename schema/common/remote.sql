-- SPDX-License-Identifier: MIT
-- Outbox rows on their way to other servers.

-- What a lane owes next, in order: what waits, and what a peer has promised an
-- answer for.
-- name: remote_claim
SELECT o.id, o.event_id, o.kind, o.mid, o.conversation_id, o.conversation_seq,
    o.sender_id, o.lane_id, o.lane_seq, o.dest_id, o.state, o.attempts,
    o.retry_count, o.rescue_count, o.next_retry_at, o.deliver_at, o.expires_at,
    o.event_time, o.created_at, o.ack_deadline, o.reason, o.priority
FROM outbox o
WHERE o.lane_id = $1 AND o.dest_kind = 'server' AND o.lane_seq IS NOT NULL
  AND o.lane_seq >= $2 AND (o.state = 'pending'
    OR (o.state = 'sent' AND o.ack_deadline IS NOT NULL))
ORDER BY o.lane_seq LIMIT $3;

-- Rows below a lane's cursor, to be offered once more.
-- name: remote_replay
SELECT o.id, o.event_id, o.kind, o.mid, o.conversation_id, o.conversation_seq,
    o.sender_id, o.lane_id, o.lane_seq, o.dest_id, o.state, o.attempts,
    o.retry_count, o.rescue_count, o.next_retry_at, o.deliver_at, o.expires_at,
    o.event_time, o.created_at, o.ack_deadline, o.reason, o.priority
FROM outbox o
WHERE o.lane_id = $1 AND o.dest_kind = 'server' AND o.lane_seq IS NOT NULL
  AND o.lane_seq >= $2 AND o.lane_seq < $3
  AND (o.state = 'sent' OR o.state = 'acked')
ORDER BY o.lane_seq LIMIT $4;

-- name: remote_in_flight
SELECT o.id, o.event_id, o.kind, o.mid, o.conversation_id, o.conversation_seq,
    o.sender_id, o.lane_id, o.lane_seq, o.dest_id, o.state, o.attempts,
    o.retry_count, o.rescue_count, o.next_retry_at, o.deliver_at, o.expires_at,
    o.event_time, o.created_at, o.ack_deadline, o.reason, o.priority
FROM outbox o
WHERE o.lane_id = $1 AND o.dest_kind = 'server' AND o.lane_seq IS NOT NULL
  AND o.state = 'sending'
ORDER BY o.lane_seq;

-- name: outbox_row
SELECT o.id, o.event_id, o.kind, o.mid, o.conversation_id, o.conversation_seq,
    o.sender_id, o.lane_id, o.lane_seq, o.dest_id, o.state, o.attempts,
    o.retry_count, o.rescue_count, o.next_retry_at, o.deliver_at, o.expires_at,
    o.event_time, o.created_at, o.ack_deadline, o.reason, o.priority
FROM outbox o WHERE o.id = $1;

-- The attempt counts before it is made.
-- name: remote_sending
UPDATE outbox SET state = 'sending', attempts = attempts + 1,
    last_attempt_at = $2, last_status_at = $2
WHERE id = $1 AND state = 'pending';

-- The peer said "later" and said nothing more.
-- name: remote_late
UPDATE outbox SET state = 'pending', retry_count = retry_count + 1,
    ack_deadline = NULL, sent_at = NULL, last_status_at = $2
WHERE id = $1 AND state = 'sent' AND ack_deadline IS NOT NULL;

-- The peer has answered what it had promised to.
-- name: remote_confirm
UPDATE outbox SET ack_deadline = NULL, last_status_at = $2
WHERE id = $1 AND state = 'sent' AND ack_deadline IS NOT NULL;

-- name: remote_sent
UPDATE outbox SET state = 'sent', sent_at = $2, last_status_at = $2,
    last_error = NULL, next_retry_at = NULL, ack_deadline = $3
WHERE id = $1 AND state = 'sending';

-- Back to where it was: refused for now ($3, $4), or put off (as they were).
-- name: remote_back
UPDATE outbox SET state = 'pending', last_status_at = $2, retry_count = $3,
    next_retry_at = $4, last_error = coalesce($5, last_error)
WHERE id = $1 AND state = 'sending';

-- name: remote_rescue
UPDATE outbox SET state = 'pending', rescue_count = rescue_count + $3,
    last_status_at = $2
WHERE id = $1 AND state = 'sending';

-- name: outbox_dead
UPDATE outbox SET state = $2, reason = $3,
    last_error = coalesce($4, last_error), last_status_at = $5,
    next_retry_at = NULL, ack_deadline = NULL
WHERE id = $1 AND (state = 'pending'
    OR (state = 'sending' AND $2 = 'failed'));

-- Why, of a bounce's own row.
-- name: outbox_reason_set
UPDATE outbox SET reason = $2 WHERE id = $1;

-- name: outbox_due_now
UPDATE outbox SET next_retry_at = NULL, last_status_at = $2
WHERE id = $1 AND state = 'pending';

-- What has expired on its way to other servers.
-- name: outbox_expired
SELECT o.id, o.event_id, o.kind, o.mid, o.conversation_id, o.conversation_seq,
    o.sender_id, o.lane_id, o.lane_seq, o.dest_id, o.state, o.attempts,
    o.retry_count, o.rescue_count, o.next_retry_at, o.deliver_at, o.expires_at,
    o.event_time, o.created_at, o.ack_deadline, o.reason, o.priority
FROM outbox o
WHERE o.dest_kind = 'server' AND o.state = 'pending' AND o.expires_at <= $1
ORDER BY o.expires_at LIMIT $2;

-- When the next one does.
-- name: outbox_expiry_next
SELECT min(expires_at) FROM outbox
WHERE dest_kind = 'server' AND state = 'pending' AND expires_at > 0;

-- What has expired in a local lane that is held.
-- name: outbox_expired_local
SELECT o.id, o.event_id, o.kind, o.mid, o.conversation_id, o.conversation_seq,
    o.sender_id, o.lane_id, o.lane_seq, o.dest_id, o.state, o.attempts,
    o.retry_count, o.rescue_count, o.next_retry_at, o.deliver_at, o.expires_at,
    o.event_time, o.created_at, o.ack_deadline, o.reason, o.priority
FROM outbox o
WHERE o.state = 'pending' AND o.lane_seq IS NOT NULL AND o.dest_kind = 'user'
  AND o.lane_id > $1 AND o.lane_id <= $2 AND o.expires_at <= $3
ORDER BY o.lane_id, o.lane_seq LIMIT $4;

-- All that a carrier has to say about a message.
-- name: remote_message
SELECT m.message_id, m.body, m.content_type, m.metadata, m.correlation_id,
    m.reply_to, c.public_id, s.name, r.name
FROM messages m
JOIN conversations c ON c.conversation_id = m.conversation_id
JOIN users s ON s.user_id = $2
JOIN users r ON r.user_id = $3
WHERE m.mid = $1;

-- name: attempt_start
INSERT INTO outbox_attempts (outbox_id, attempt, destination_id, owner,
    started_at)
VALUES ($1, $2, $3, $4, $5);

-- name: attempt_end
UPDATE outbox_attempts SET finished_at = $3, outcome = $4, status = $5,
    error = $6
WHERE outbox_id = $1 AND attempt = $2 AND outcome IS NULL;

-- Messages that wait, by sender and destination (at the start).
-- name: outbox_waiting_local
SELECT o.sender_id, 1, count(*) FROM outbox o
WHERE o.state = 'pending' AND o.lane_seq IS NOT NULL AND o.dest_kind = 'user'
  AND o.kind = 1
GROUP BY o.sender_id;
