-- SPDX-License-Identifier: MIT
-- People, their devices and the counters of their inboxes.

-- row: user(user_id, name, display_name, password_hash, admin, disabled_at,
--     destination_id, password_once_until)
-- row: revoked_device(device_id, token_hash)
-- row: counters(user_id, head, oldest, acked, read_seq)
-- row: acked_device(device_id, acked_seq)

-- name: user_insert(name, display_name, password_hash, admin, now)
-- columns: user_id
INSERT INTO users (name, display_name, password_hash, admin, created_at)
VALUES ($name, $display_name, $password_hash, $admin, $now)
ON CONFLICT (name) DO NOTHING
RETURNING user_id;

-- name: user_by_name(name)
-- columns: as user
SELECT user_id, name, display_name, password_hash, admin, disabled_at,
    destination_id, password_once_until
FROM users WHERE name = $name;

-- name: user_by_id(user_id)
-- columns: as user
SELECT user_id, name, display_name, password_hash, admin, disabled_at,
    destination_id, password_once_until
FROM users WHERE user_id = $user_id;

-- Inserts a user of another server.
-- name: user_remote_insert(name, now, destination_id)
-- columns: user_id, name
INSERT INTO users (name, admin, created_at, destination_id)
VALUES ($name, 0, $now, $destination_id)
RETURNING user_id, name;

-- name: user_any
-- columns: user_id
SELECT user_id FROM users WHERE destination_id IS NULL LIMIT 1;

-- name: user_password_set(user_id, password_hash, password_once_until)
UPDATE users SET password_hash = $password_hash,
    password_once_until = $password_once_until
WHERE user_id = $user_id;

-- name: user_password_spend(user_id)
UPDATE users SET password_once_until = 0
WHERE user_id = $user_id AND password_once_until > 0;

-- name: user_disable(user_id, now)
UPDATE users SET disabled_at = $now
WHERE user_id = $user_id AND disabled_at IS NULL;

-- name: user_enable(user_id)
UPDATE users SET disabled_at = NULL
WHERE user_id = $user_id AND disabled_at IS NOT NULL;

-- name: user_admin_set(user_id, admin)
UPDATE users SET admin = $admin
WHERE user_id = $user_id AND admin <> $admin AND destination_id IS NULL;

-- Finds an administrator other than $user_id who can log in.  If there is none,
-- the statement reads all users; this is rare, and only commands of operators
-- run it.
-- name: admin_other(user_id)
-- columns: user_id
SELECT user_id FROM users
WHERE admin = 1 AND disabled_at IS NULL AND destination_id IS NULL
    AND user_id <> $user_id
ORDER BY user_id LIMIT 1;

-- name: device_by_token(token_hash)
-- columns: device_id, public_id, user_id, user_name, admin, name
SELECT d.device_id, d.public_id, d.user_id, u.name AS user_name, u.admin, d.name
FROM devices d JOIN users u ON u.user_id = d.user_id
WHERE d.token_hash = $token_hash AND d.revoked_at IS NULL
  AND u.disabled_at IS NULL;

-- name: device_list(user_id)
-- columns: public_id, name, acked_seq, created_at, last_seen_at, device_id
SELECT public_id, name, acked_seq, created_at, last_seen_at, device_id
FROM devices WHERE user_id = $user_id AND revoked_at IS NULL ORDER BY device_id;

-- name: device_count(user_id)
-- columns: count
SELECT count(*) AS count FROM devices
WHERE user_id = $user_id AND revoked_at IS NULL;

-- name: device_revoke(user_id, public_id, now)
-- columns: as revoked_device
UPDATE devices SET revoked_at = $now
WHERE user_id = $user_id AND public_id = $public_id AND revoked_at IS NULL
RETURNING device_id, token_hash;

-- name: device_revoke_others(user_id, keep, now)
-- columns: as revoked_device
UPDATE devices SET revoked_at = $now
WHERE user_id = $user_id AND device_id <> $keep AND revoked_at IS NULL
RETURNING device_id, token_hash;

-- Lists the devices of a user whose tokens are not revoked.
-- name: device_tokens(user_id)
-- columns: as revoked_device
SELECT device_id, token_hash FROM devices
WHERE user_id = $user_id AND revoked_at IS NULL;

-- name: device_rename(user_id, public_id, name)
-- columns: device_id
UPDATE devices SET name = $name
WHERE user_id = $user_id AND public_id = $public_id AND revoked_at IS NULL
RETURNING device_id;

-- name: counter_insert(user_id)
INSERT INTO inboxes (user_id) VALUES ($user_id);
