-- SPDX-License-Identifier: MIT
-- The audit log: what operators did.

-- name: audit_insert
INSERT INTO audit_log (at, actor, action, object, detail)
VALUES ($1, $2, $3, $4, $5);
