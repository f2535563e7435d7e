-- name: x(after, after)
SELECT $after;
