-- SPDX-License-Identifier: MIT
-- Deletes rows that are older than their retention (upkeep/purge.h).  The
-- purger reads a bounded number of rows after a cursor.  The writer deletes
-- them by key, and checks again that each of them may be deleted.

-- row: archived(json)
-- row: purge_candidate(id, at)

-- Leaves out the last outbox row: on SQLite the next id follows from it, and
-- ids are never used twice.
-- name: purge_outbox_look(after, limit)
-- columns: id, mid, kind, state, last_status_at, created_at, requeues,
--     awaits_answer
SELECT o.id, o.mid, o.kind, o.state, o.last_status_at, o.created_at,
    o.requeues, o.ack_deadline IS NOT NULL AS awaits_answer
FROM outbox o
WHERE o.id > $after AND o.id < (SELECT max(l.id) FROM outbox l)
ORDER BY o.id LIMIT $limit;

-- name: purge_processed_look(event_id, origin, limit)
-- columns: event_id, origin, processed_at
SELECT event_id, origin, processed_at FROM processed_messages
WHERE (event_id, origin) > ($event_id, $origin)
ORDER BY event_id, origin LIMIT $limit;

-- name: purge_dead_look(before, limit)
-- columns: as purge_candidate
SELECT dead_id AS id, resolved_at AS at FROM dead_letter_queue
WHERE resolution IS NOT NULL AND resolved_at < $before
ORDER BY resolved_at LIMIT $limit;

-- name: purge_audit_look(after, limit)
-- columns: as purge_candidate
SELECT audit_id AS id, at FROM audit_log
WHERE audit_id > $after ORDER BY audit_id LIMIT $limit;

-- Lists destinations.  unused: nothing here needs this server.  No user of it
-- is known and no operator has set anything for it (destinations.updated_at is
-- 0), no operator has pinned one of its keys or blocked it, its document was
-- last read before $before, and no nonce of it is stored.
-- name: purge_destination_look(after, before, limit)
-- columns: id, name, at, unused
SELECT d.destination_id AS id, d.name, d.created_at AS at,
    d.destination_id > 1 AND d.updated_at = 0
    AND coalesce(p.last_seen_at, 0) < $before AND p.blocked_at IS NULL
    AND (SELECT count(*) FROM peer_keys k
      WHERE k.destination_id = d.destination_id
        AND k.pinned_by IS NOT NULL) = 0
    AND (SELECT n.nonce FROM federation_nonces n
      WHERE n.destination_id = d.destination_id LIMIT 1) IS NULL AS unused
FROM destinations d LEFT JOIN peers p ON p.destination_id = d.destination_id
WHERE d.destination_id > $after ORDER BY d.destination_id LIMIT $limit;

-- Lists nonces whose signatures are not valid any more.  Requests delete them,
-- too (nonce_expire), but there may be no requests.
-- name: purge_nonce_look(before, limit)
-- columns: as purge_candidate
SELECT destination_id AS id, keep_until AS at FROM federation_nonces
WHERE keep_until < $before ORDER BY keep_until LIMIT $limit;

-- Lists the recipients of a message whose outbox rows are purged: the other
-- members of its conversation, each with the inbox row that the delivery made.
-- A member who is alone in the conversation is the recipient.
-- name: purged_destinations(conversation_id, event_id, sender_id)
-- columns: name, user_id, acked_upto, acked_at, shown_upto, shown_at,
--     delivered_at, attempt
SELECT u.name, p.user_id, p.acked_upto, p.acked_at, p.shown_upto, p.shown_at,
    i.delivered_at, i.attempt
FROM participants p JOIN users u ON u.user_id = p.user_id
LEFT JOIN inbox i ON i.event_id = $event_id AND i.user_id = p.user_id
    AND i.origin = 0
WHERE p.conversation_id = $conversation_id
  AND (p.user_id <> $sender_id OR NOT EXISTS (SELECT 1 FROM participants q
    WHERE q.conversation_id = $conversation_id AND q.user_id <> $sender_id))
ORDER BY p.user_id;
