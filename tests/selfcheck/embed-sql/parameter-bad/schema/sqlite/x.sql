-- name: x(After)
SELECT $After;
