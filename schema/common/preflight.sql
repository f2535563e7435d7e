-- SPDX-License-Identifier: MIT
-- The queries that run before a database is migrated.  They must work on every
-- schema that there ever was (tests/contract/test_migrate.c).

-- name: preflight_content
-- columns: user_id
SELECT user_id FROM users LIMIT 1;

-- name: preflight_epoch
-- columns: value
SELECT value FROM meta WHERE key = 'epoch';

-- name: preflight_last_id
-- columns: last_id
SELECT coalesce(max(id), 0) AS last_id FROM outbox;
