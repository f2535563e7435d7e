-- SPDX-License-Identifier: MIT
-- Facts about the database itself.

-- The same; nobody else changes it until this transaction has ended.
-- name: meta_lock
SELECT value FROM meta WHERE key = $1 FOR UPDATE;
