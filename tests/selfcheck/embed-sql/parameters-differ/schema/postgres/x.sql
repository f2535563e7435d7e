-- name: x(b, a)
SELECT $b, $a, 1;
