-- SPDX-License-Identifier: MIT
-- Statements on messages.

-- name: message_find
SELECT body FROM message WHERE id = $1
