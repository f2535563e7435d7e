-- name: message_find
SELECT 1;
