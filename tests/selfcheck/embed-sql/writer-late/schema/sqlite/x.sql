-- name: x
SELECT 1
-- writer: FOR UPDATE
