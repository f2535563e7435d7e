-- SPDX-License-Identifier: MIT
-- Facts about the database itself.

-- name: meta_lock
SELECT value FROM meta WHERE key = $1;
