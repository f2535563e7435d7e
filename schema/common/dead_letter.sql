-- SPDX-License-Identifier: MIT
-- Dead letters: messages that have failed or expired.

-- name: dead_letter_insert(outbox_id, mid, sender_id, dest_id,
--     destination_id, state, reason, last_error, attempts, retry_count,
--     event_time, created_at, now)
INSERT INTO dead_letter_queue (outbox_id, mid, sender_id, dest_id,
    destination_id, state, reason, last_error, attempts, retry_count,
    event_time, created_at, dead_at)
VALUES ($outbox_id, $mid, $sender_id, $dest_id, $destination_id, $state,
    $reason, $last_error, $attempts, $retry_count, $event_time, $created_at,
    $now);

-- name: dead_letter_resolve(outbox_id, resolution, now, resolved_by)
UPDATE dead_letter_queue SET resolution = $resolution, resolved_at = $now,
    resolved_by = $resolved_by
WHERE outbox_id = $outbox_id AND resolution IS NULL;

-- The message and the recipient of a dead letter.
-- name: dead_letter_get(dead_id)
-- columns: outbox_id, resolution, message_id, recipient
SELECT q.outbox_id, q.resolution, m.message_id, d.name AS recipient
FROM dead_letter_queue q
JOIN messages m ON m.mid = q.mid
JOIN users d ON d.user_id = q.dest_id
WHERE q.dead_id = $dead_id;
