-- SPDX-License-Identifier: MIT
-- The audit log: what operators did.

-- name: audit_insert(now, actor, action, object, detail)
INSERT INTO audit_log (at, actor, action, object, detail)
VALUES ($now, $actor, $action, $object, $detail);
