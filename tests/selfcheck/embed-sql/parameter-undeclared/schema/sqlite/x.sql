-- name: x(after)
SELECT $after, $upto;
