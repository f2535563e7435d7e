-- SPDX-License-Identifier: MIT
-- name: message_count
SELECT count(*) FROM messages;

-- name: message_newest
SELECT max(mid) FROM messages;

-- name: message_insert
-- why it is so
INSERT INTO message (id, body)
VALUES ($1, $2);
