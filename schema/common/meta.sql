-- SPDX-License-Identifier: MIT
-- Facts about the database itself.

-- name: meta_get
SELECT value FROM meta WHERE key = $1;

-- name: meta_set
INSERT INTO meta (key, value) VALUES ($1, $2)
ON CONFLICT (key) DO UPDATE SET value = excluded.value;

-- name: meta_make
INSERT INTO meta (key, value) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING;
