-- SPDX-License-Identifier: MIT
-- Statements on messages.

-- name: message_insert
-- why it is so
INSERT INTO message (id, body)
VALUES ($1, $2);

-- name: message_find
SELECT body FROM message WHERE id = $1

-- name: message_both(id)
SELECT 1
FROM messages WHERE id = $id;
