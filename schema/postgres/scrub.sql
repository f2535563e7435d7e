-- SPDX-License-Identifier: MIT
-- The reads of the scrubber, a piece at a time after a position.  It reads
-- every row of every table, so that it finds damaged pages, and checks what
-- follows from the row before.

-- name: scrub_messages(key, limit)
-- columns: as scrubbed
SELECT mid AS key, 0 AS subkey, deleted_at::text AS value FROM messages
WHERE mid > $key ORDER BY mid LIMIT $limit;

-- name: scrub_outbox(key, limit)
-- columns: as scrubbed
SELECT id AS key, 0 AS subkey, requeues::text AS value FROM outbox
WHERE id > $key ORDER BY id LIMIT $limit;

-- name: scrub_lanes(key, limit)
-- columns: as scrubbed
SELECT lane_id AS key, 0 AS subkey, replay_seq::text AS value FROM outbox_lanes
WHERE lane_id > $key ORDER BY lane_id LIMIT $limit;

-- name: scrub_users(key, limit)
-- columns: as scrubbed
SELECT user_id AS key, 0 AS subkey, destination_id::text AS value FROM users
WHERE user_id > $key ORDER BY user_id LIMIT $limit;

-- name: scrub_devices(key, limit)
-- columns: as scrubbed
SELECT device_id AS key, 0 AS subkey, revoked_at::text AS value FROM devices
WHERE device_id > $key ORDER BY device_id LIMIT $limit;

-- name: scrub_inboxes(key, limit)
-- columns: as scrubbed
SELECT user_id AS key, 0 AS subkey, read_seq::text AS value FROM inboxes
WHERE user_id > $key ORDER BY user_id LIMIT $limit;

-- name: scrub_conversations(key, limit)
-- columns: as scrubbed
SELECT conversation_id AS key, 0 AS subkey, created_at::text AS value
FROM conversations
WHERE conversation_id > $key ORDER BY conversation_id LIMIT $limit;

-- name: scrub_participants(key, subkey, limit)
-- columns: as scrubbed
SELECT conversation_id AS key, user_id AS subkey, shown_at::text AS value
FROM participants
WHERE (conversation_id, user_id) > ($key, $subkey)
ORDER BY conversation_id, user_id LIMIT $limit;

-- name: scrub_destinations(key, limit)
-- columns: as scrubbed
SELECT destination_id AS key, 0 AS subkey, updated_at::text AS value
FROM destinations
WHERE destination_id > $key ORDER BY destination_id LIMIT $limit;

-- name: scrub_totals(key, limit)
-- columns: as scrubbed
SELECT node AS key, 0 AS subkey, fenced_total::text AS value FROM outbox_totals
WHERE node > $key ORDER BY node LIMIT $limit;

-- name: scrub_processed(key, subkey, limit)
-- columns: as scrubbed
SELECT event_id AS key, origin AS subkey, processed_at::text AS value
FROM processed_messages
WHERE (event_id, origin) > ($key, $subkey)
ORDER BY event_id, origin LIMIT $limit;
