-- SPDX-License-Identifier: MIT
-- Conversations and their members.

-- row: conversation(conversation_id, public_id, kind, last_seq, last_digest)
-- row: conversation_item(conversation_id, public_id, kind, created_at,
--     joined_seq, left_seq, delivered_upto, acked_upto, read_upto, unread,
--     last_seq, last_at)
-- row: participant(user_id, name, role, joined_seq, left_seq, delivered_upto,
--     acked_upto, read_upto, acked_at, read_at, shown_upto, shown_at)

-- name: conversation_insert(public_id, kind, direct_key, now)
-- columns: conversation_id, public_id
INSERT INTO conversations (public_id, kind, direct_key, created_at)
VALUES ($public_id, $kind, $direct_key, $now)
RETURNING conversation_id, public_id;

-- name: participant_insert(conversation_id, user_id, role)
INSERT INTO participants (conversation_id, user_id, role)
VALUES ($conversation_id, $user_id, $role);

-- name: participants_of(conversation_id)
-- columns: as participant
SELECT p.user_id, u.name, p.role, p.joined_seq, p.left_seq, p.delivered_upto,
    p.acked_upto, p.read_upto, p.acked_at, p.read_at, p.shown_upto,
    p.shown_at
FROM participants p JOIN users u ON u.user_id = p.user_id
WHERE p.conversation_id = $conversation_id ORDER BY p.user_id;

-- name: participant_get(conversation_id, user_id)
-- columns: as participant
SELECT p.user_id, u.name, p.role, p.joined_seq, p.left_seq, p.delivered_upto,
    p.acked_upto, p.read_upto, p.acked_at, p.read_at, p.shown_upto,
    p.shown_at
FROM participants p JOIN users u ON u.user_id = p.user_id
WHERE p.conversation_id = $conversation_id AND p.user_id = $user_id;
