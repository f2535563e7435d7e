-- SPDX-License-Identifier: MIT
-- People, their devices and the counters of their inboxes.

-- name: user_remote_insert(name, now, destination_id)
-- columns: user_id, name
INSERT INTO users (name, admin, created_at, destination_id)
SELECT r.name, 0, r.at, r.destination_id
FROM unnest($name::text[], $now::bigint[], $destination_id::bigint[])
    AS r (name, at, destination_id)
RETURNING user_id, name;

-- Reads and locks a user whose password is about to be changed, or was verified
-- before this transaction began.
-- name: user_lock(user_id)
-- columns: as user
SELECT user_id, name, display_name, password_hash, admin, disabled_at,
    destination_id, password_once_until
FROM users WHERE user_id = $user_id FOR NO KEY UPDATE;

-- name: device_insert(public_id, user_id, name, token_hash, acked_seq, now)
-- columns: device_id
WITH marked AS (
    UPDATE inboxes SET acked = $acked_seq::bigint
    WHERE user_id = $user_id AND acked < $acked_seq::bigint)
INSERT INTO devices (public_id, user_id, name, token_hash, acked_seq,
    created_at, last_seen_at)
VALUES ($public_id, $user_id, $name, $token_hash, $acked_seq, $now, $now)
RETURNING device_id;

-- name: device_lock(device_id)
-- columns: device_id
SELECT device_id FROM devices WHERE device_id = $device_id
    AND revoked_at IS NULL FOR UPDATE;

-- name: device_acked_get(device_id)
-- columns: acked_seq
-- writer: FOR UPDATE
SELECT acked_seq FROM devices WHERE device_id = $device_id;

-- The watermark never goes back: the caller has read it in this transaction.
-- name: device_acked_set(device_id, acked_seq, now)
WITH marks AS (
    SELECT * FROM unnest($device_id::bigint[], $acked_seq::bigint[],
        $now::bigint[])
        AS r (device_id, acked_seq, at)),
highest AS (
    UPDATE inboxes b SET acked = h.acked_seq
    FROM (SELECT d.user_id, max(r.acked_seq) AS acked_seq
          FROM marks r JOIN devices d ON d.device_id = r.device_id
          GROUP BY d.user_id) h
    WHERE b.user_id = h.user_id AND b.acked < h.acked_seq)
UPDATE devices d SET acked_seq = r.acked_seq, last_seen_at = r.at
FROM marks r WHERE d.device_id = r.device_id;

-- name: counter_get(user_id)
-- columns: head, oldest, acked, read_seq
SELECT b.head, b.trimmed + 1 AS oldest, b.acked, b.read_seq
FROM inboxes b WHERE b.user_id = $user_id;

-- name: counter_set(user_id, read_seq)
UPDATE inboxes b SET read_seq = greatest(b.read_seq, r.read_seq)
FROM unnest($user_id::bigint[], $read_seq::bigint[]) AS r (user_id, read_seq)
WHERE b.user_id = r.user_id;

-- Returns how far devices have acked, and the hashes of tokens that are not
-- valid any more.
-- name: devices_now(device_id)
-- columns: device_id, user_id, acked_seq, token_hash
SELECT d.device_id, d.user_id, d.acked_seq,
    CASE WHEN d.revoked_at IS NOT NULL OR u.disabled_at IS NOT NULL
    THEN d.token_hash END AS token_hash
FROM devices d JOIN users u ON u.user_id = d.user_id
WHERE d.device_id = ANY ($device_id::bigint[]);
