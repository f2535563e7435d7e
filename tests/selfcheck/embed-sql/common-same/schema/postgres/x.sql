-- SPDX-License-Identifier: MIT
-- name: message_count
-- columns: count
SELECT count(*) AS count FROM messages;
