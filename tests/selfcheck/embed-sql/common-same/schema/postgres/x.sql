-- SPDX-License-Identifier: MIT
-- name: message_count
SELECT count(*) FROM messages;
