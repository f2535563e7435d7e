-- SPDX-License-Identifier: MIT
-- Conversations and who takes part.

-- name: conversation_by_key
SELECT c.conversation_id, c.public_id, c.kind, m.conversation_seq, m.digest
FROM conversations c LEFT JOIN messages m
    ON m.conversation_id = c.conversation_id AND m.conversation_seq = (
        SELECT max(l.conversation_seq) FROM messages l
        WHERE l.conversation_id = c.conversation_id
          AND l.conversation_seq > 0)
WHERE c.direct_key = $1;

-- name: conversation_by_public
SELECT c.conversation_id, c.public_id, c.kind, m.conversation_seq, m.digest
FROM conversations c LEFT JOIN messages m
    ON m.conversation_id = c.conversation_id AND m.conversation_seq = (
        SELECT max(l.conversation_seq) FROM messages l
        WHERE l.conversation_id = c.conversation_id
          AND l.conversation_seq > 0)
WHERE c.public_id = $1;

-- name: conversation_by_id
SELECT c.conversation_id, c.public_id, c.kind, m.conversation_seq, m.digest
FROM conversations c LEFT JOIN messages m
    ON m.conversation_id = c.conversation_id AND m.conversation_seq = (
        SELECT max(l.conversation_seq) FROM messages l
        WHERE l.conversation_id = c.conversation_id
          AND l.conversation_seq > 0)
WHERE c.conversation_id = $1;

-- name: conversation_if_free
SELECT c.conversation_id, c.public_id, c.kind, m.conversation_seq, m.digest
FROM conversations c LEFT JOIN messages m
    ON m.conversation_id = c.conversation_id AND m.conversation_seq = (
        SELECT max(l.conversation_seq) FROM messages l
        WHERE l.conversation_id = c.conversation_id
          AND l.conversation_seq > 0)
WHERE c.conversation_id = $1;

-- name: participant_set
UPDATE participants SET delivered_upto = $3, acked_upto = $4, read_upto = $5,
    acked_at = $6, read_at = $7, shown_upto = $8, shown_at = $9
WHERE conversation_id = $1 AND user_id = $2;

-- A member's conversations, newest first, with what he has not read: others'
-- messages beyond his read mark, up to what has been delivered to him.
-- name: conversation_list
SELECT c.conversation_id, c.public_id, c.kind, c.created_at, p.joined_seq,
    p.left_seq, p.delivered_upto, p.acked_upto, p.read_upto,
    (SELECT count(*) FROM messages m
     WHERE m.conversation_id = c.conversation_id
       AND m.conversation_seq > p.read_upto
       AND m.conversation_seq <= p.delivered_upto
       AND m.sender_id <> p.user_id)
    - (SELECT count(*) FROM outbox o
     WHERE o.conversation_id = c.conversation_id AND o.dest_id = p.user_id
       AND o.dest_kind = 'user' AND o.kind = 1
       AND (o.state = 'failed' OR o.state = 'expired'
         OR o.state = 'canceled')
       AND o.conversation_seq > p.read_upto
       AND o.conversation_seq <= p.delivered_upto),
    (SELECT max(m.conversation_seq) FROM messages m
     WHERE m.conversation_id = c.conversation_id AND m.conversation_seq > 0)
FROM participants p
JOIN conversations c ON c.conversation_id = p.conversation_id
WHERE p.user_id = $1 AND p.conversation_id < $2
ORDER BY p.conversation_id DESC LIMIT $3;

-- name: conversation_one
SELECT c.conversation_id, c.public_id, c.kind, c.created_at, p.joined_seq,
    p.left_seq, p.delivered_upto, p.acked_upto, p.read_upto,
    (SELECT count(*) FROM messages m
     WHERE m.conversation_id = c.conversation_id
       AND m.conversation_seq > p.read_upto
       AND m.conversation_seq <= p.delivered_upto
       AND m.sender_id <> p.user_id)
    - (SELECT count(*) FROM outbox o
     WHERE o.conversation_id = c.conversation_id AND o.dest_id = p.user_id
       AND o.dest_kind = 'user' AND o.kind = 1
       AND (o.state = 'failed' OR o.state = 'expired'
         OR o.state = 'canceled')
       AND o.conversation_seq > p.read_upto
       AND o.conversation_seq <= p.delivered_upto),
    (SELECT max(m.conversation_seq) FROM messages m
     WHERE m.conversation_id = c.conversation_id AND m.conversation_seq > 0)
FROM conversations c
JOIN participants p ON p.conversation_id = c.conversation_id
WHERE c.public_id = $2 AND p.user_id = $1;

-- name: unread_list
SELECT c.public_id, u.n,
    (SELECT max(m.conversation_seq) FROM messages m
     WHERE m.conversation_id = c.conversation_id AND m.conversation_seq > 0)
FROM (
    SELECT p.conversation_id AS cid,
        (SELECT count(*) FROM messages m
     WHERE m.conversation_id = p.conversation_id
       AND m.conversation_seq > p.read_upto
       AND m.conversation_seq <= p.delivered_upto
       AND m.sender_id <> p.user_id)
    - (SELECT count(*) FROM outbox o
     WHERE o.conversation_id = p.conversation_id AND o.dest_id = p.user_id
       AND o.dest_kind = 'user' AND o.kind = 1
       AND (o.state = 'failed' OR o.state = 'expired'
         OR o.state = 'canceled')
       AND o.conversation_seq > p.read_upto
       AND o.conversation_seq <= p.delivered_upto) AS n
    FROM participants p
    WHERE p.user_id = $1 AND p.delivered_upto > p.read_upto) u
JOIN conversations c ON c.conversation_id = u.cid
WHERE u.n > 0 ORDER BY u.cid;

-- name: unread_total
SELECT coalesce(sum(
    (SELECT count(*) FROM messages m
     WHERE m.conversation_id = p.conversation_id
       AND m.conversation_seq > p.read_upto
       AND m.conversation_seq <= p.delivered_upto
       AND m.sender_id <> p.user_id)
    - (SELECT count(*) FROM outbox o
     WHERE o.conversation_id = p.conversation_id AND o.dest_id = p.user_id
       AND o.dest_kind = 'user' AND o.kind = 1
       AND (o.state = 'failed' OR o.state = 'expired'
         OR o.state = 'canceled')
       AND o.conversation_seq > p.read_upto
       AND o.conversation_seq <= p.delivered_upto)), 0)
FROM participants p
WHERE p.user_id = $1 AND p.delivered_upto > p.read_upto;
