-- SPDX-License-Identifier: MIT
-- Statements on messages.

-- name: message_find(id)
-- columns: as message
SELECT body, kind FROM message WHERE id = $id
