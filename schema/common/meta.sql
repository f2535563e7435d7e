-- SPDX-License-Identifier: MIT
-- Facts about the database itself.

-- row: meta(value)

-- name: meta_get(key)
-- columns: as meta
SELECT value FROM meta WHERE key = $key;

-- name: meta_set(key, value)
INSERT INTO meta (key, value) VALUES ($key, $value)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- name: meta_make(key, value)
INSERT INTO meta (key, value) VALUES ($key, $value)
ON CONFLICT (key) DO NOTHING;
