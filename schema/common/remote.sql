-- SPDX-License-Identifier: MIT
-- Outbox rows on their way to other servers.

-- row: outbox(id, event_id, kind, mid, conversation_id, conversation_seq,
--     sender_id, lane_id, lane_seq, dest_id, state, attempts, retry_count,
--     rescue_count, next_retry_at, deliver_at, expires_at, event_time,
--     created_at, ack_deadline, reason, priority, requeues)
-- row: waiting(sender_id, destination_id, count)

-- Reads the rows that a lane has still to deliver, in order: pending rows, and
-- rows for which the peer has promised a later answer.
-- name: remote_claim(lane_id, from_seq, limit)
-- columns: as outbox
SELECT o.id, o.event_id, o.kind, o.mid, o.conversation_id, o.conversation_seq,
    o.sender_id, o.lane_id, o.lane_seq, o.dest_id, o.state, o.attempts,
    o.retry_count, o.rescue_count, o.next_retry_at, o.deliver_at, o.expires_at,
    o.event_time, o.created_at, o.ack_deadline, o.reason, o.priority,
    o.requeues
FROM outbox o
WHERE o.lane_id = $lane_id AND o.dest_kind = 'server' AND o.lane_seq IS NOT NULL
  AND o.lane_seq >= $from_seq AND (o.state = 'pending'
    OR (o.state = 'sent' AND o.ack_deadline IS NOT NULL))
ORDER BY o.lane_seq LIMIT $limit;

-- Reads rows below the cursor of a lane, to be sent again.
-- name: remote_replay(lane_id, from_seq, upto_seq, limit)
-- columns: as outbox
SELECT o.id, o.event_id, o.kind, o.mid, o.conversation_id, o.conversation_seq,
    o.sender_id, o.lane_id, o.lane_seq, o.dest_id, o.state, o.attempts,
    o.retry_count, o.rescue_count, o.next_retry_at, o.deliver_at, o.expires_at,
    o.event_time, o.created_at, o.ack_deadline, o.reason, o.priority,
    o.requeues
FROM outbox o
WHERE o.lane_id = $lane_id AND o.dest_kind = 'server' AND o.lane_seq IS NOT NULL
  AND o.lane_seq >= $from_seq AND o.lane_seq < $upto_seq
  AND (o.state = 'sent' OR o.state = 'acked')
ORDER BY o.lane_seq LIMIT $limit;

-- name: remote_in_flight(lane_id)
-- columns: as outbox
SELECT o.id, o.event_id, o.kind, o.mid, o.conversation_id, o.conversation_seq,
    o.sender_id, o.lane_id, o.lane_seq, o.dest_id, o.state, o.attempts,
    o.retry_count, o.rescue_count, o.next_retry_at, o.deliver_at, o.expires_at,
    o.event_time, o.created_at, o.ack_deadline, o.reason, o.priority,
    o.requeues
FROM outbox o
WHERE o.lane_id = $lane_id AND o.dest_kind = 'server' AND o.lane_seq IS NOT NULL
  AND o.state = 'sending'
ORDER BY o.lane_seq;

-- name: outbox_row(id)
-- columns: as outbox
SELECT o.id, o.event_id, o.kind, o.mid, o.conversation_id, o.conversation_seq,
    o.sender_id, o.lane_id, o.lane_seq, o.dest_id, o.state, o.attempts,
    o.retry_count, o.rescue_count, o.next_retry_at, o.deliver_at, o.expires_at,
    o.event_time, o.created_at, o.ack_deadline, o.reason, o.priority,
    o.requeues
FROM outbox o WHERE o.id = $id;

-- Counts the attempt before it is made, so that an attempt which a crash
-- interrupts is counted, too.
-- name: remote_sending(id, now)
UPDATE outbox SET state = 'sending', attempts = attempts + 1,
    last_attempt_at = $now, last_status_at = $now
WHERE id = $id AND state = 'pending';

-- The peer has answered "later", and the promised answer did not come.
-- name: remote_late(id, now)
UPDATE outbox SET state = 'pending', retry_count = retry_count + 1,
    ack_deadline = NULL, sent_at = NULL, last_status_at = $now
WHERE id = $id AND state = 'sent' AND ack_deadline IS NOT NULL;

-- The promised later answer has come.
-- name: remote_confirm(id, now)
UPDATE outbox SET ack_deadline = NULL, last_status_at = $now
WHERE id = $id AND state = 'sent' AND ack_deadline IS NOT NULL;

-- Finds the row of an event for which a peer has answered "later", or may be
-- about to, because the row is being sent.
-- name: promised_find(event_id, origin)
-- columns: id
SELECT o.id FROM outbox o JOIN users u ON u.user_id = o.dest_id
WHERE o.event_id = $event_id AND o.dest_kind = 'server'
  AND u.destination_id = $origin AND (o.state = 'sending'
    OR (o.state = 'sent' AND o.ack_deadline IS NOT NULL));

-- The peer says that it cannot accept the event now: the promised answer counts
-- as late at an earlier time.
-- name: remote_hasten(id, ack_deadline)
UPDATE outbox SET ack_deadline = $ack_deadline
WHERE id = $id AND state = 'sent' AND ack_deadline IS NOT NULL;

-- Acks a row whose place a receipt covered before the answer came.
-- name: remote_acked_early(id, now)
UPDATE outbox SET state = 'acked', acked_at = $now, last_status_at = $now
WHERE id = $id AND state = 'sent';

-- Acks a row that a receipt named before it was sent (receipt_note).
-- name: remote_acked_noted(id, now)
UPDATE outbox SET state = 'acked', acked_at = $now, last_status_at = $now
WHERE id = $id AND state = 'sent' AND acked_at IS NOT NULL;

-- Keeps an earlier receipt (acked_at) only if the destination had the message
-- before this attempt ($duplicate is 1), or if the receipt came during this
-- attempt.  Any other receipt may be about a message that the destination has
-- lost since.
-- name: remote_sent(id, now, ack_deadline, duplicate)
UPDATE outbox SET state = 'sent', sent_at = $now, last_status_at = $now,
    last_error = NULL, next_retry_at = NULL, ack_deadline = $ack_deadline,
    acked_at = CASE WHEN $duplicate = 1 OR acked_at >= last_attempt_at
	THEN acked_at END
WHERE id = $id AND state = 'sending';

-- Makes a row pending again.  The destination has refused it for now (new
-- $retry_count and $next_retry_at), or it was put off (both unchanged).
-- name: remote_back(id, now, retry_count, next_retry_at, error)
UPDATE outbox SET state = 'pending', last_status_at = $now,
    retry_count = $retry_count, next_retry_at = $next_retry_at,
    last_error = coalesce($error, last_error)
WHERE id = $id AND state = 'sending';

-- name: remote_rescue(id, now, charge)
UPDATE outbox SET state = 'pending', rescue_count = rescue_count + $charge,
    last_status_at = $now
WHERE id = $id AND state = 'sending';

-- name: outbox_dead(id, state, reason, error, now)
UPDATE outbox SET state = $state, reason = $reason,
    last_error = coalesce($error, last_error), last_status_at = $now,
    next_retry_at = NULL, ack_deadline = NULL
WHERE id = $id AND (state = 'pending'
    OR (state = 'sending' AND $state = 'failed'));

-- Stores the reason of a bounce in the bounce's own outbox row.
-- name: outbox_reason_set(id, reason)
UPDATE outbox SET reason = $reason WHERE id = $id;

-- name: outbox_due_now(id, now)
UPDATE outbox SET next_retry_at = NULL, last_status_at = $now
WHERE id = $id AND state = 'pending';

-- Lists expired rows to other servers.
-- name: outbox_expired(now, limit)
-- columns: as outbox
SELECT o.id, o.event_id, o.kind, o.mid, o.conversation_id, o.conversation_seq,
    o.sender_id, o.lane_id, o.lane_seq, o.dest_id, o.state, o.attempts,
    o.retry_count, o.rescue_count, o.next_retry_at, o.deliver_at, o.expires_at,
    o.event_time, o.created_at, o.ack_deadline, o.reason, o.priority,
    o.requeues
FROM outbox o
WHERE o.dest_kind = 'server' AND o.state = 'pending' AND o.expires_at <= $now
ORDER BY o.expires_at LIMIT $limit;

-- Returns when the next row to another server expires.
-- name: outbox_expiry_next
-- columns: expires_at
SELECT min(expires_at) AS expires_at FROM outbox
WHERE dest_kind = 'server' AND state = 'pending' AND expires_at > 0;

-- Lists expired rows of the local lanes with $after < lane_id <= $upto.
-- name: outbox_expired_local(after, upto, now, limit)
-- columns: as outbox
SELECT o.id, o.event_id, o.kind, o.mid, o.conversation_id, o.conversation_seq,
    o.sender_id, o.lane_id, o.lane_seq, o.dest_id, o.state, o.attempts,
    o.retry_count, o.rescue_count, o.next_retry_at, o.deliver_at, o.expires_at,
    o.event_time, o.created_at, o.ack_deadline, o.reason, o.priority,
    o.requeues
FROM outbox o
WHERE o.state = 'pending' AND o.lane_seq IS NOT NULL AND o.dest_kind = 'user'
  AND o.lane_id > $after AND o.lane_id <= $upto AND o.expires_at <= $now
ORDER BY o.lane_id, o.lane_seq LIMIT $limit;

-- Reads everything that a carrier sends of a message.  sequence: for a message
-- that came from the server of $dest_id, the place up to which that server's
-- lane was accepted when the message was; else NULL.
-- name: remote_message(mid, sender_id, dest_id)
-- columns: message_id, body, content_type, metadata, correlation_id,
--     reply_to, public_id, sender, recipient, sequence
SELECT m.message_id, m.body, m.content_type, m.metadata, m.correlation_id,
    m.reply_to, c.public_id, s.name AS sender, r.name AS recipient,
    coalesce(p.behind, p.sequence) AS sequence
FROM messages m
JOIN conversations c ON c.conversation_id = m.conversation_id
JOIN users s ON s.user_id = $sender_id
JOIN users r ON r.user_id = $dest_id
LEFT JOIN processed_messages p ON p.event_id = m.event_id
  AND p.origin = r.destination_id
WHERE m.mid = $mid;

-- name: attempt_start(outbox_id, attempt, destination_id, owner, now)
INSERT INTO outbox_attempts (outbox_id, attempt, destination_id, owner,
    started_at)
VALUES ($outbox_id, $attempt, $destination_id, $owner, $now);

-- name: attempt_end(outbox_id, attempt, now, outcome, status, error)
UPDATE outbox_attempts SET finished_at = $now, outcome = $outcome,
    status = $status, error = $error
WHERE outbox_id = $outbox_id AND attempt = $attempt AND outcome IS NULL;

-- Counts the messages that wait, by sender and destination.  Reads all rows
-- that wait, which a transaction does only if it does not know the backlog
-- (backlog_begin()).
-- name: outbox_waiting_local
-- columns: as waiting
SELECT o.sender_id, 1 AS destination_id, count(*) AS count FROM outbox o
WHERE o.state = 'pending' AND o.lane_seq IS NOT NULL AND o.dest_kind = 'user'
  AND o.kind = EVENT_MESSAGE
GROUP BY o.sender_id;
