-- SPDX-License-Identifier: MIT
-- The keys that this server signs with.

-- row: server_key(key_id, public, seed, created_at, signs_at, retires_at)

-- Lists live keys, the newest first: if there were more than $limit, the oldest
-- would be left out.
-- name: server_keys_live(limit)
-- columns: as server_key
SELECT key_id, public, seed, created_at, signs_at, retires_at
FROM server_keys WHERE retired_at IS NULL
ORDER BY signs_at DESC, key_id DESC LIMIT $limit;

-- name: server_key_insert(key_id, public, seed, created_at, signs_at)
INSERT INTO server_keys (key_id, public, seed, created_at, signs_at)
VALUES ($key_id, $public, $seed, $created_at, $signs_at);

-- name: server_key_retires_set(key_id, retires_at)
UPDATE server_keys SET retires_at = $retires_at
WHERE key_id = $key_id AND retired_at IS NULL;

-- name: server_key_retired_set(key_id, now)
UPDATE server_keys SET retired_at = $now
WHERE key_id = $key_id AND retired_at IS NULL;

-- Overwrites the seeds of retired keys with $seed, which is all zeros.
-- name: server_keys_wipe(seed)
UPDATE server_keys SET seed = $seed
WHERE retired_at IS NOT NULL AND seed <> $seed;
