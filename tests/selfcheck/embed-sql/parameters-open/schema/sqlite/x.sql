-- name: x(after
SELECT $after;
