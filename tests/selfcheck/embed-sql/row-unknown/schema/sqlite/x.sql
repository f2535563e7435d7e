-- name: x
-- columns: as pair
SELECT 1 AS a, 2 AS b;
