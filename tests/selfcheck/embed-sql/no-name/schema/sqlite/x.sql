-- a remark
SELECT 1;
