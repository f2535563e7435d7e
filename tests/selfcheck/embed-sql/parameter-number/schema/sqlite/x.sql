-- name: x(after)
SELECT $after, $1;
