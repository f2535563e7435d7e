-- name: x(a, b)
SELECT $a, $b;
