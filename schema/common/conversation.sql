-- SPDX-License-Identifier: MIT
-- Conversations and who takes part.

-- name: conversation_insert
INSERT INTO conversations (public_id, kind, direct_key, created_at)
VALUES ($1, $2, $3, $4)
RETURNING conversation_id;

-- name: participant_insert
INSERT INTO participants (conversation_id, user_id, role)
VALUES ($1, $2, $3);

-- name: participants_of
SELECT p.user_id, u.name, p.role, p.joined_seq, p.left_seq, p.delivered_upto,
    p.acked_upto, p.read_upto, p.acked_at, p.read_at, p.shown_upto,
    p.shown_at
FROM participants p JOIN users u ON u.user_id = p.user_id
WHERE p.conversation_id = $1 ORDER BY p.user_id;

-- name: participant_get
SELECT p.user_id, u.name, p.role, p.joined_seq, p.left_seq, p.delivered_upto,
    p.acked_upto, p.read_upto, p.acked_at, p.read_at, p.shown_upto,
    p.shown_at
FROM participants p JOIN users u ON u.user_id = p.user_id
WHERE p.conversation_id = $1 AND p.user_id = $2;
