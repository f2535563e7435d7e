-- name: x
-- writer: FOR SHARE
SELECT 1;
