-- name: x
SELECT 1 FROM inbox WHERE kind = 3;
