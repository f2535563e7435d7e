-- SPDX-License-Identifier: MIT
-- Dead letters: messages that were given up.

-- name: dead_letter_insert
INSERT INTO dead_letter_queue (outbox_id, mid, sender_id, dest_id,
    destination_id, state, reason, last_error, attempts, retry_count,
    event_time, created_at, dead_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13);

-- name: dead_letter_resolve
UPDATE dead_letter_queue SET resolution = $2, resolved_at = $3,
    resolved_by = $4
WHERE outbox_id = $1 AND resolution IS NULL;

-- The message and the recipient of a dead letter.
-- name: dead_letter_get
SELECT q.outbox_id, q.resolution, m.message_id, d.name
FROM dead_letter_queue q
JOIN messages m ON m.mid = q.mid
JOIN users d ON d.user_id = q.dest_id
WHERE q.dead_id = $1;
