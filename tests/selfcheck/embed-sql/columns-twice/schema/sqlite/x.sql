-- name: x
-- columns: a, a
SELECT 1 AS a;
