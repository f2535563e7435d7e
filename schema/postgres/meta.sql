-- SPDX-License-Identifier: MIT
-- Facts about the database itself.

-- The same; nobody else changes it until this transaction has ended.
-- name: meta_lock(key)
-- columns: as meta
SELECT value FROM meta WHERE key = $key FOR UPDATE;
