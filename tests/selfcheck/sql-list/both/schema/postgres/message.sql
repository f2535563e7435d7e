-- SPDX-License-Identifier: MIT
-- Statements on messages.

-- name: message_insert
INSERT INTO message (id, body)
VALUES ($1, $2);

-- name: message_find
-- writer: FOR UPDATE
SELECT body FROM message WHERE id = $1;

-- name: message_newest
SELECT mid FROM messages ORDER BY mid DESC LIMIT 1;

-- name: message_both(id)
SELECT 1
FROM messages WHERE id = $id;
