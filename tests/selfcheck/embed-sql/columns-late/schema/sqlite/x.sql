-- name: x
SELECT 1 AS a
-- columns: a
