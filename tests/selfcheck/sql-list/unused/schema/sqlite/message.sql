-- SPDX-License-Identifier: MIT
-- Statements on messages.

-- name: message_find
SELECT body FROM message WHERE id = $1

-- name: message_newest
SELECT 1;
