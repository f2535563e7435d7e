-- SPDX-License-Identifier: MIT
-- Facts about the database itself.

-- Reads a value and locks its row until the transaction ends, so that no other
-- transaction changes it.
-- name: meta_lock(key)
-- columns: as meta
SELECT value FROM meta WHERE key = $key FOR UPDATE;
