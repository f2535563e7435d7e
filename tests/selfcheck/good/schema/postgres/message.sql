-- SPDX-License-Identifier: MIT
-- Statements on messages.

-- name: message_find(id)
-- columns: as message
-- writer: FOR UPDATE
SELECT body, kind FROM message WHERE id = $id;

-- name: message_newest
-- columns: mid
SELECT mid FROM messages ORDER BY mid DESC LIMIT 1;
