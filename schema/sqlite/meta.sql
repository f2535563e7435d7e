-- SPDX-License-Identifier: MIT
-- Facts about the database itself.

-- name: meta_lock(key)
-- columns: as meta
SELECT value FROM meta WHERE key = $key;
