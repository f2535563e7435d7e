-- SPDX-License-Identifier: MIT
-- People, their devices and the counters of their inboxes.

-- name: user_insert
INSERT INTO users (name, display_name, password_hash, admin, created_at)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (name) DO NOTHING
RETURNING user_id;

-- name: user_by_name
SELECT user_id, name, display_name, password_hash, admin, disabled_at,
    destination_id
FROM users WHERE name = $1;

-- name: user_by_id
SELECT user_id, name, display_name, password_hash, admin, disabled_at,
    destination_id
FROM users WHERE user_id = $1;

-- A person on another server; one that another node has just made is found.
-- name: user_remote_insert
INSERT INTO users (name, admin, created_at, destination_id)
VALUES ($1, 0, $2, $3)
ON CONFLICT (name) DO UPDATE SET name = excluded.name
RETURNING user_id;

-- name: user_any
SELECT user_id FROM users WHERE destination_id IS NULL LIMIT 1;

-- name: user_password_set
UPDATE users SET password_hash = $2 WHERE user_id = $1;

-- name: user_disable
UPDATE users SET disabled_at = $2 WHERE user_id = $1 AND disabled_at IS NULL;

-- name: device_by_token
SELECT d.device_id, d.public_id, d.user_id, u.name, u.admin, d.name
FROM devices d JOIN users u ON u.user_id = d.user_id
WHERE d.token_hash = $1 AND d.revoked_at IS NULL AND u.disabled_at IS NULL;

-- name: device_list
SELECT public_id, name, acked_seq, created_at, last_seen_at, device_id
FROM devices WHERE user_id = $1 AND revoked_at IS NULL ORDER BY device_id;

-- name: device_count
SELECT count(*) FROM devices WHERE user_id = $1 AND revoked_at IS NULL;

-- name: device_revoke
UPDATE devices SET revoked_at = $3
WHERE user_id = $1 AND public_id = $2 AND revoked_at IS NULL
RETURNING device_id, token_hash;

-- name: device_revoke_others
UPDATE devices SET revoked_at = $3
WHERE user_id = $1 AND device_id <> $2 AND revoked_at IS NULL
RETURNING device_id, token_hash;

-- name: device_rename
UPDATE devices SET name = $3
WHERE user_id = $1 AND public_id = $2 AND revoked_at IS NULL
RETURNING device_id;

-- name: counter_insert
INSERT INTO inboxes (user_id) VALUES ($1);
