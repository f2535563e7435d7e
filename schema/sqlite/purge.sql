-- SPDX-License-Identifier: MIT
-- What is old enough to go (upkeep/purge.h).  The purger looks, a piece at a
-- time behind a cursor; the writer deletes by key, and looks again whether it
-- still may.

-- A requeued one stays: it says why its message is out of order.
-- name: purge_outbox
DELETE FROM outbox
WHERE id = $1 AND last_status_at < $2 AND kind <> 5 AND requeues = 0
  AND (state = 'acked'
    OR (state = 'sent' AND kind <> 1 AND ack_deadline IS NULL))
  AND id < (SELECT max(l.id) FROM outbox l);

-- The attempts of a row that has just gone.
-- name: purge_attempts_of
DELETE FROM outbox_attempts
WHERE outbox_id = $1 AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.id = $1);

-- Attempts of rows that stay: those of open dead letters and of what is still
-- being tried are not for going.
-- name: purge_attempt_look
SELECT a.attempt_id, a.started_at,
    NOT EXISTS (SELECT 1 FROM dead_letter_queue d
      WHERE d.outbox_id = a.outbox_id AND d.resolution IS NULL)
    AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.id = a.outbox_id
      AND (o.state = 'pending' OR o.state = 'sending'))
FROM outbox_attempts a
WHERE a.attempt_id > $1 ORDER BY a.attempt_id LIMIT $2;

-- name: purge_attempt
DELETE FROM outbox_attempts
WHERE attempt_id = $1 AND started_at < $2
  AND NOT EXISTS (SELECT 1 FROM dead_letter_queue d
    WHERE d.outbox_id = outbox_attempts.outbox_id AND d.resolution IS NULL)
  AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.id = outbox_attempts.outbox_id
    AND (o.state = 'pending' OR o.state = 'sending'));

-- name: purge_processed
DELETE FROM processed_messages
WHERE event_id = $1 AND origin = $2 AND processed_at < $3;

-- name: purge_dead
DELETE FROM dead_letter_queue
WHERE dead_id = $1 AND resolution IS NOT NULL AND resolved_at < $2;

-- name: purge_audit
DELETE FROM audit_log WHERE audit_id = $1 AND at < $2;
