-- SPDX-License-Identifier: MIT
-- What is old enough to go (upkeep/purge.h).  The purger looks, a piece at a
-- time behind a cursor; the writer deletes by key, and looks again whether it
-- still may.

-- The last outbox row stays: ids are never used twice.
-- name: purge_outbox_look
SELECT o.id, o.mid, o.kind, o.state, o.last_status_at, o.created_at,
    o.requeues, o.ack_deadline IS NOT NULL
FROM outbox o
WHERE o.id > $1 AND o.id < (SELECT max(l.id) FROM outbox l)
ORDER BY o.id LIMIT $2;

-- name: purge_processed_look
SELECT event_id, origin, processed_at FROM processed_messages
WHERE (event_id, origin) > ($1, $2)
ORDER BY event_id, origin LIMIT $3;

-- name: purge_dead_look
SELECT dead_id, resolved_at FROM dead_letter_queue
WHERE resolution IS NOT NULL AND resolved_at < $1
ORDER BY resolved_at LIMIT $2;

-- name: purge_audit_look
SELECT audit_id, at FROM audit_log
WHERE audit_id > $1 ORDER BY audit_id LIMIT $2;

-- The people to whom a message went whose outbox rows are gone: the members of
-- its conversation, with the inbox row that the delivery made.
-- name: purged_destinations
SELECT u.name, p.user_id, p.acked_upto, p.acked_at, p.shown_upto, p.shown_at,
    i.delivered_at, i.attempt
FROM participants p JOIN users u ON u.user_id = p.user_id
LEFT JOIN inbox i ON i.event_id = $2 AND i.user_id = p.user_id
    AND i.origin = 0
WHERE p.conversation_id = $1
  AND (p.user_id <> $3 OR NOT EXISTS (SELECT 1 FROM participants q
    WHERE q.conversation_id = $1 AND q.user_id <> $3))
ORDER BY p.user_id;
