-- SPDX-License-Identifier: MIT
-- Statements on messages.

-- name: message_find
-- writer: FOR UPDATE
SELECT body FROM message WHERE id = $1;

-- name: message_newest
SELECT mid FROM messages ORDER BY mid DESC LIMIT 1;
