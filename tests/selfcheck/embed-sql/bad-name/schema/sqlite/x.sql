-- name: Message-Insert
SELECT 1;
