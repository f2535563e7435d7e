-- name: x
-- name: y
SELECT 1;
