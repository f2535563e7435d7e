-- name: x
-- columns: a, b
SELECT 1 AS a, 2 AS b;
