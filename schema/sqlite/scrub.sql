-- SPDX-License-Identifier: MIT
-- What the scrubber reads, a piece at a time behind a position: every row of
-- every table, so that a damaged page is met, and what must follow from the row
-- before.

-- name: scrub_messages
SELECT mid, 0, deleted_at FROM messages WHERE mid > $1 ORDER BY mid LIMIT $2;

-- name: scrub_outbox
SELECT id, 0, requeues FROM outbox WHERE id > $1 ORDER BY id LIMIT $2;

-- name: scrub_lanes
SELECT lane_id, 0, replay_seq FROM outbox_lanes
WHERE lane_id > $1 ORDER BY lane_id LIMIT $2;

-- name: scrub_users
SELECT user_id, 0, destination_id FROM users
WHERE user_id > $1 ORDER BY user_id LIMIT $2;

-- name: scrub_devices
SELECT device_id, 0, revoked_at FROM devices
WHERE device_id > $1 ORDER BY device_id LIMIT $2;

-- name: scrub_inboxes
SELECT user_id, 0, read_seq FROM inboxes
WHERE user_id > $1 ORDER BY user_id LIMIT $2;

-- name: scrub_conversations
SELECT conversation_id, 0, created_at FROM conversations
WHERE conversation_id > $1 ORDER BY conversation_id LIMIT $2;

-- name: scrub_participants
SELECT conversation_id, user_id, shown_at FROM participants
WHERE (conversation_id, user_id) > ($1, $2)
ORDER BY conversation_id, user_id LIMIT $3;

-- name: scrub_destinations
SELECT destination_id, 0, updated_at FROM destinations
WHERE destination_id > $1 ORDER BY destination_id LIMIT $2;

-- name: scrub_totals
SELECT one, 0, fenced_total FROM outbox_totals
WHERE one > $1 ORDER BY one LIMIT $2;

-- name: scrub_processed
SELECT event_id, origin, processed_at FROM processed_messages
WHERE (event_id, origin) > ($1, $2)
ORDER BY event_id, origin LIMIT $3;
