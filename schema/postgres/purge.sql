-- SPDX-License-Identifier: MIT
-- Deletes rows that are older than their retention (upkeep/purge.h).  The
-- purger reads a bounded number of rows after a cursor.  The writer deletes
-- them by key, and checks again that each of them may be deleted.

-- Keeps requeued rows: they explain why a message is out of order.
-- name: purge_outbox(id, before)
DELETE FROM outbox o
USING unnest($id::bigint[], $before::bigint[]) AS r (id, before)
WHERE o.id = r.id AND o.last_status_at < r.before AND o.kind <> EVENT_BOUNCE
  AND o.requeues = 0 AND (o.state = 'acked'
    OR (o.state = 'sent' AND o.kind <> EVENT_MESSAGE
        AND o.ack_deadline IS NULL))
  AND o.id < (SELECT max(l.id) FROM outbox l);

-- Deletes the attempts of an outbox row that was just deleted.
-- name: purge_attempts_of(outbox_id)
DELETE FROM outbox_attempts a
USING unnest($outbox_id::bigint[]) AS r (outbox_id)
WHERE a.outbox_id = r.outbox_id
  AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.id = r.outbox_id);

-- Lists attempts, which are purged even if their outbox row stays.  closed: the
-- attempt may be deleted, because its row has no open dead letter and is
-- neither pending nor being sent.  The subqueries count, because the planner
-- may turn NOT EXISTS into a hash table of all such rows.
-- name: purge_attempt_look(after, limit)
-- columns: attempt_id, started_at, closed
SELECT a.attempt_id, a.started_at,
    (SELECT count(*) FROM dead_letter_queue d
      WHERE d.outbox_id = a.outbox_id AND d.resolution IS NULL) = 0
    AND (SELECT count(*) FROM outbox o WHERE o.id = a.outbox_id
      AND (o.state = 'pending' OR o.state = 'sending')) = 0 AS closed
FROM outbox_attempts a
WHERE a.attempt_id > $after ORDER BY a.attempt_id LIMIT $limit;

-- name: purge_attempt(id, before)
DELETE FROM outbox_attempts a
USING unnest($id::bigint[], $before::bigint[]) AS r (attempt_id, before)
WHERE a.attempt_id = r.attempt_id AND a.started_at < r.before
  AND NOT EXISTS (SELECT 1 FROM dead_letter_queue d
    WHERE d.outbox_id = a.outbox_id AND d.resolution IS NULL)
  AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.id = a.outbox_id
    AND (o.state = 'pending' OR o.state = 'sending'));

-- name: purge_processed(event_id, origin, before)
DELETE FROM processed_messages p
USING unnest($event_id::uuid[], $origin::bigint[], $before::bigint[])
    AS r (event_id, origin, before)
WHERE p.event_id = r.event_id AND p.origin = r.origin
  AND p.processed_at < r.before;

-- name: purge_dead(id, before)
DELETE FROM dead_letter_queue q
USING unnest($id::bigint[], $before::bigint[]) AS r (dead_id, before)
WHERE q.dead_id = r.dead_id AND q.resolution IS NOT NULL
  AND q.resolved_at < r.before;

-- name: purge_audit(id, before)
DELETE FROM audit_log a
USING unnest($id::bigint[], $before::bigint[]) AS r (audit_id, before)
WHERE a.audit_id = r.audit_id AND a.at < r.before;

-- Deletes a server: first its keys, then the peer, then the destination.  Each
-- statement does nothing if the one before it has left rows.
-- name: purge_peer_keys(id, before)
DELETE FROM peer_keys k
USING unnest($id::bigint[], $before::bigint[]) AS r (id, before),
    destinations d, peers p
WHERE k.destination_id = r.id AND d.destination_id = r.id
  AND p.destination_id = r.id AND d.destination_id > 1 AND d.updated_at = 0
  AND p.last_seen_at < r.before AND p.blocked_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM peer_keys o
    WHERE o.destination_id = r.id AND o.pinned_by IS NOT NULL)
  AND NOT EXISTS (SELECT 1 FROM federation_nonces n
    WHERE n.destination_id = r.id);

-- name: purge_peer(id, before)
DELETE FROM peers p
USING unnest($id::bigint[], $before::bigint[]) AS r (id, before),
    destinations d
WHERE p.destination_id = r.id AND d.destination_id = r.id
  AND d.destination_id > 1 AND d.updated_at = 0
  AND p.last_seen_at < r.before AND p.blocked_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM peer_keys k WHERE k.destination_id = r.id)
  AND NOT EXISTS (SELECT 1 FROM federation_nonces n
    WHERE n.destination_id = r.id);

-- name: purge_destination(id, before)
DELETE FROM destinations d
USING unnest($id::bigint[], $before::bigint[]) AS r (id, before)
WHERE d.destination_id = r.id AND d.destination_id > 1 AND d.updated_at = 0
  AND d.created_at < r.before
  AND NOT EXISTS (SELECT 1 FROM peers p WHERE p.destination_id = r.id)
  AND NOT EXISTS (SELECT 1 FROM federation_nonces n
    WHERE n.destination_id = r.id);
