-- name: x
-- columns: b, a
SELECT 2 AS b, 1 AS a;
