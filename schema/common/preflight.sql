-- SPDX-License-Identifier: MIT
-- What is asked of a database before its schema is brought up to date: these
-- must run on every schema there has been (tests/contract/test_migrate.c).

-- name: preflight_content
-- columns: user_id
SELECT user_id FROM users LIMIT 1;

-- name: preflight_epoch
-- columns: value
SELECT value FROM meta WHERE key = 'epoch';

-- name: preflight_last_id
-- columns: last_id
SELECT coalesce(max(id), 0) AS last_id FROM outbox;
