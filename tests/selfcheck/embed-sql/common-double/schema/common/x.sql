-- SPDX-License-Identifier: MIT
-- name: message_count
SELECT 1;
