-- SPDX-License-Identifier: MIT
-- Statements for requests of other servers that need row locks on PostgreSQL.

-- Rows that another node is about to delete are left to it.
-- name: nonce_expire(now, limit)
DELETE FROM federation_nonces WHERE (destination_id, key_id, nonce) IN (
    SELECT destination_id, key_id, nonce FROM federation_nonces
    WHERE keep_until < $now ORDER BY keep_until LIMIT $limit
    FOR UPDATE SKIP LOCKED);
