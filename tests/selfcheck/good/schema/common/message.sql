-- SPDX-License-Identifier: MIT
-- row: message(body,
--     kind)

-- name: message_count
-- columns: count
SELECT count(*) AS count FROM messages;

-- name: message_newest
-- columns: mid
SELECT max(mid) AS mid FROM messages;

-- name: message_insert(id,
--     body, kind)
-- why it is so
INSERT INTO message (kind, id, body)
VALUES ($kind, $id, $body);

-- name: message_read(body)
-- columns: as message, mid
SELECT body, kind, mid FROM message
WHERE kind = EVENT_READ AND body = $body;
