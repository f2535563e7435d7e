-- SPDX-License-Identifier: MIT
-- People, their devices and the counters of their inboxes.

-- Whose password is about to be changed, or was looked at before.
-- name: user_hold
SELECT user_id, name, display_name, password_hash, admin, disabled_at,
    destination_id
FROM users WHERE user_id = $1;

-- name: device_insert
INSERT INTO devices (public_id, user_id, name, token_hash, acked_seq,
    created_at, last_seen_at)
VALUES ($1, $2, $3, $4, $5, $6, $6)
RETURNING device_id;

-- name: device_hold
SELECT device_id FROM devices WHERE device_id = $1 AND revoked_at IS NULL;

-- name: device_acked_get
SELECT acked_seq FROM devices WHERE device_id = $1;

-- The mark never goes back: who writes it has read it.
-- name: device_acked_set
UPDATE devices SET acked_seq = $2, last_seen_at = $3 WHERE device_id = $1;

-- name: counter_get
SELECT coalesce((SELECT max(i.seq) FROM inbox i WHERE i.user_id = $1),
    b.trimmed), b.trimmed + 1,
    (SELECT coalesce(max(d.acked_seq), 0) FROM devices d
     WHERE d.user_id = $1), b.read_seq
FROM inboxes b WHERE b.user_id = $1;

-- name: counter_set
UPDATE inboxes SET read_seq = $2 WHERE user_id = $1;

-- How far a device has acked, and the hash of its token if that is worth
-- nothing any more.
-- name: devices_now
SELECT d.device_id, d.user_id, d.acked_seq,
    CASE WHEN d.revoked_at IS NOT NULL OR u.disabled_at IS NOT NULL
    THEN d.token_hash END
FROM devices d JOIN users u ON u.user_id = d.user_id
WHERE d.device_id = $1;
