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

-- Whose password is about to be changed, or was looked at before.
-- name: user_hold
SELECT user_id, name, display_name, password_hash, admin, disabled_at,
    destination_id
FROM users WHERE user_id = $1 FOR NO KEY UPDATE;

-- name: user_password_set
UPDATE users SET password_hash = $2 WHERE user_id = $1;

-- name: user_disable
UPDATE users SET disabled_at = $2 WHERE user_id = $1 AND disabled_at IS NULL;

-- name: device_insert
WITH marked AS (
    UPDATE inboxes SET acked = $5::bigint
    WHERE user_id = $2 AND acked < $5::bigint)
INSERT INTO devices (public_id, user_id, name, token_hash, acked_seq,
    created_at, last_seen_at)
VALUES ($1, $2, $3, $4, $5, $6, $6)
RETURNING device_id;

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

-- name: device_hold
SELECT device_id FROM devices WHERE device_id = $1 AND revoked_at IS NULL FOR UPDATE;

-- name: device_acked_get
-- writer: FOR UPDATE
SELECT acked_seq FROM devices WHERE device_id = $1;

-- The mark never goes back: who writes it has read it.
-- name: device_acked_set
WITH marks AS (
    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[])
        AS r (device_id, acked_seq, at)),
highest AS (
    UPDATE inboxes b SET acked = h.acked_seq
    FROM (SELECT d.user_id, max(r.acked_seq) AS acked_seq
          FROM marks r JOIN devices d ON d.device_id = r.device_id
          GROUP BY d.user_id) h
    WHERE b.user_id = h.user_id AND b.acked < h.acked_seq)
UPDATE devices d SET acked_seq = r.acked_seq, last_seen_at = r.at
FROM marks r WHERE d.device_id = r.device_id;

-- name: counter_insert
INSERT INTO inboxes (user_id) VALUES ($1);

-- name: counter_get
SELECT b.head, b.trimmed + 1, b.acked, b.read_seq
FROM inboxes b WHERE b.user_id = $1;

-- name: counter_set
UPDATE inboxes b SET read_seq = greatest(b.read_seq, r.read_seq)
FROM unnest($1::bigint[], $2::bigint[]) AS r (user_id, read_seq)
WHERE b.user_id = r.user_id;

-- How far these devices have acked, and the hash of a token that is worth
-- nothing any more.
-- name: devices_now
SELECT d.device_id, d.user_id, d.acked_seq,
    CASE WHEN d.revoked_at IS NOT NULL OR u.disabled_at IS NOT NULL
    THEN d.token_hash END
FROM devices d JOIN users u ON u.user_id = d.user_id
WHERE d.device_id = ANY ($1::bigint[]);
