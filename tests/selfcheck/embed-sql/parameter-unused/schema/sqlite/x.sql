-- name: x(after, upto)
SELECT $after;
