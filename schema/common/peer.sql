-- SPDX-License-Identifier: MIT
-- Other servers and their keys.

-- used: a user of the peer is known here, or an operator has set something for
-- it (destinations.updated_at is not 0).
-- row: peer(destination_id, name, first_seen_at, last_seen_at, epoch,
--     blocked_at, blocked_by, live, pinned, used)

-- name: peer_by_name(name)
-- columns: as peer
SELECT p.destination_id, d.name, p.first_seen_at, p.last_seen_at, p.epoch,
    p.blocked_at, p.blocked_by,
    (SELECT count(*) FROM peer_keys k WHERE k.destination_id = p.destination_id
        AND k.retired_at IS NULL) AS live,
    (SELECT count(*) FROM peer_keys k WHERE k.destination_id = p.destination_id
        AND k.pinned_by IS NOT NULL) AS pinned,
    CASE WHEN d.updated_at = 0 THEN 0 ELSE 1 END AS used
FROM destinations d JOIN peers p ON p.destination_id = d.destination_id
WHERE d.name = $name;

-- name: peers_after(after, limit)
-- columns: as peer
SELECT p.destination_id, d.name, p.first_seen_at, p.last_seen_at, p.epoch,
    p.blocked_at, p.blocked_by,
    (SELECT count(*) FROM peer_keys k WHERE k.destination_id = p.destination_id
        AND k.retired_at IS NULL) AS live,
    (SELECT count(*) FROM peer_keys k WHERE k.destination_id = p.destination_id
        AND k.pinned_by IS NOT NULL) AS pinned,
    CASE WHEN d.updated_at = 0 THEN 0 ELSE 1 END AS used
FROM peers p JOIN destinations d ON d.destination_id = p.destination_id
WHERE p.destination_id > $after ORDER BY p.destination_id LIMIT $limit;

-- Inserts a peer that was never in contact.  If another node has just inserted
-- it, the existing row stays unchanged.
-- name: peer_insert(destination_id)
INSERT INTO peers (destination_id, first_seen_at, last_seen_at)
VALUES ($destination_id, 0, 0)
ON CONFLICT (destination_id) DO NOTHING;

-- name: peer_set(destination_id, first_seen_at, last_seen_at, epoch, blocked_at,
--     blocked_by)
UPDATE peers SET first_seen_at = $first_seen_at, last_seen_at = $last_seen_at,
    epoch = $epoch, blocked_at = $blocked_at, blocked_by = $blocked_by
WHERE destination_id = $destination_id;

-- name: peer_delete(destination_id)
DELETE FROM peers WHERE destination_id = $destination_id;

-- name: peer_keys_of(destination_id, limit)
-- columns: key_id, public, pinned_by, first_seen_at, last_seen_at, retired_at
SELECT key_id, public, pinned_by, first_seen_at, last_seen_at, retired_at
FROM peer_keys WHERE destination_id = $destination_id
ORDER BY key_id LIMIT $limit;

-- Adds a key, or makes it live again.  If the id is known with another public
-- key, it is a new key, seen for the first time.
-- name: peer_key_put(destination_id, key_id, public, pinned_by, now)
INSERT INTO peer_keys (destination_id, key_id, public, pinned_by,
    first_seen_at, last_seen_at)
VALUES ($destination_id, $key_id, $public, $pinned_by, $now, $now)
ON CONFLICT (destination_id, key_id) DO UPDATE SET
    first_seen_at = CASE WHEN peer_keys.public = excluded.public
        THEN peer_keys.first_seen_at ELSE excluded.first_seen_at END,
    public = excluded.public, pinned_by = excluded.pinned_by,
    last_seen_at = excluded.last_seen_at, retired_at = NULL;

-- name: peer_key_retire(destination_id, key_id, now)
UPDATE peer_keys SET retired_at = $now
WHERE destination_id = $destination_id AND key_id = $key_id
  AND pinned_by IS NULL AND retired_at IS NULL;

-- Deletes retired keys, except the $keep keys that were retired last.
-- name: peer_keys_trim(destination_id, keep, limit)
DELETE FROM peer_keys WHERE destination_id = $destination_id AND key_id IN (
    SELECT key_id FROM peer_keys
    WHERE destination_id = $destination_id AND retired_at IS NOT NULL
    ORDER BY retired_at DESC, key_id LIMIT $limit OFFSET $keep);

-- name: peer_keys_delete(destination_id)
DELETE FROM peer_keys WHERE destination_id = $destination_id;
