-- row: pair(a, b)
-- name: x
SELECT 1;
