-- SPDX-License-Identifier: MIT
-- Deletes rows that are older than their retention (upkeep/purge.h).  The
-- purger reads a bounded number of rows after a cursor.  The writer deletes
-- them by key, and checks again that each of them may be deleted.

-- Keeps requeued rows: they explain why a message is out of order.
-- name: purge_outbox(id, before)
DELETE FROM outbox
WHERE id = $id AND last_status_at < $before AND kind <> EVENT_BOUNCE
  AND requeues = 0
  AND (state = 'acked'
    OR (state = 'sent' AND kind <> EVENT_MESSAGE AND ack_deadline IS NULL))
  AND id < (SELECT max(l.id) FROM outbox l);

-- Deletes the attempts of an outbox row that was just deleted.
-- name: purge_attempts_of(outbox_id)
DELETE FROM outbox_attempts
WHERE outbox_id = $outbox_id AND NOT EXISTS (SELECT 1 FROM outbox o
    WHERE o.id = $outbox_id);

-- Lists attempts, which are purged even if their outbox row stays.  closed: the
-- attempt may be deleted, because its row has no open dead letter and is
-- neither pending nor being sent.
-- name: purge_attempt_look(after, limit)
-- columns: attempt_id, started_at, closed
SELECT a.attempt_id, a.started_at,
    NOT EXISTS (SELECT 1 FROM dead_letter_queue d
      WHERE d.outbox_id = a.outbox_id AND d.resolution IS NULL)
    AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.id = a.outbox_id
      AND (o.state = 'pending' OR o.state = 'sending')) AS closed
FROM outbox_attempts a
WHERE a.attempt_id > $after ORDER BY a.attempt_id LIMIT $limit;

-- name: purge_attempt(id, before)
DELETE FROM outbox_attempts
WHERE attempt_id = $id AND started_at < $before
  AND NOT EXISTS (SELECT 1 FROM dead_letter_queue d
    WHERE d.outbox_id = outbox_attempts.outbox_id AND d.resolution IS NULL)
  AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.id = outbox_attempts.outbox_id
    AND (o.state = 'pending' OR o.state = 'sending'));

-- name: purge_processed(event_id, origin, before)
DELETE FROM processed_messages
WHERE event_id = $event_id AND origin = $origin AND processed_at < $before;

-- name: purge_dead(id, before)
DELETE FROM dead_letter_queue
WHERE dead_id = $id AND resolution IS NOT NULL AND resolved_at < $before;

-- name: purge_audit(id, before)
DELETE FROM audit_log WHERE audit_id = $id AND at < $before;

-- Deletes a server: first its keys, then the peer, then the destination.  Each
-- statement does nothing if the one before it has left rows.
-- name: purge_peer_keys(id, before)
DELETE FROM peer_keys WHERE destination_id = $id AND EXISTS (
    SELECT 1 FROM destinations d JOIN peers p
        ON p.destination_id = d.destination_id
    WHERE d.destination_id = $id AND d.destination_id > 1
      AND d.updated_at = 0 AND p.last_seen_at < $before
      AND p.blocked_at IS NULL)
  AND NOT EXISTS (SELECT 1 FROM peer_keys k
    WHERE k.destination_id = $id AND k.pinned_by IS NOT NULL)
  AND NOT EXISTS (SELECT 1 FROM federation_nonces n
    WHERE n.destination_id = $id);

-- name: purge_peer(id, before)
DELETE FROM peers WHERE destination_id = $id AND last_seen_at < $before
  AND blocked_at IS NULL
  AND EXISTS (SELECT 1 FROM destinations d WHERE d.destination_id = $id
    AND d.destination_id > 1 AND d.updated_at = 0)
  AND NOT EXISTS (SELECT 1 FROM peer_keys k WHERE k.destination_id = $id)
  AND NOT EXISTS (SELECT 1 FROM federation_nonces n
    WHERE n.destination_id = $id);

-- name: purge_destination(id, before)
DELETE FROM destinations
WHERE destination_id = $id AND destination_id > 1 AND updated_at = 0
  AND created_at < $before
  AND NOT EXISTS (SELECT 1 FROM peers p WHERE p.destination_id = $id)
  AND NOT EXISTS (SELECT 1 FROM federation_nonces n
    WHERE n.destination_id = $id);
