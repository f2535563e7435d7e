-- SPDX-License-Identifier: MIT
-- People, their devices and the counters of their inboxes.

-- Reads a user whose password is about to be changed, or was verified before
-- this transaction began.  Needs no lock: this transaction is the only one that
-- writes.
-- name: user_lock(user_id)
-- columns: as user
SELECT user_id, name, display_name, password_hash, admin, disabled_at,
    destination_id, password_once_until
FROM users WHERE user_id = $user_id;

-- name: device_insert(public_id, user_id, name, token_hash, acked_seq, now)
-- columns: device_id
INSERT INTO devices (public_id, user_id, name, token_hash, acked_seq,
    created_at, last_seen_at)
VALUES ($public_id, $user_id, $name, $token_hash, $acked_seq, $now, $now)
RETURNING device_id;

-- name: device_lock(device_id)
-- columns: device_id
SELECT device_id FROM devices WHERE device_id = $device_id
    AND revoked_at IS NULL;

-- name: device_acked_get(device_id)
-- columns: acked_seq
SELECT acked_seq FROM devices WHERE device_id = $device_id;

-- The watermark never goes back: the caller has read it in this transaction.
-- name: device_acked_set(device_id, acked_seq, now)
UPDATE devices SET acked_seq = $acked_seq, last_seen_at = $now
    WHERE device_id = $device_id;

-- name: counter_get(user_id)
-- columns: head, oldest, acked, read_seq
SELECT coalesce((SELECT max(i.seq) FROM inbox i WHERE i.user_id = $user_id),
    b.trimmed) AS head, b.trimmed + 1 AS oldest,
    (SELECT coalesce(max(d.acked_seq), 0) FROM devices d
     WHERE d.user_id = $user_id) AS acked, b.read_seq
FROM inboxes b WHERE b.user_id = $user_id;

-- name: counter_set(user_id, read_seq)
UPDATE inboxes SET read_seq = $read_seq WHERE user_id = $user_id;

-- Returns how far a device has acked, and the hash of its token if the token is
-- not valid any more.
-- name: devices_now(device_id)
-- columns: device_id, user_id, acked_seq, token_hash
SELECT d.device_id, d.user_id, d.acked_seq,
    CASE WHEN d.revoked_at IS NOT NULL OR u.disabled_at IS NOT NULL
    THEN d.token_hash END AS token_hash
FROM devices d JOIN users u ON u.user_id = d.user_id
WHERE d.device_id = $device_id;
