-- SPDX-License-Identifier: MIT
-- Conversations and their members.

-- name: conversation_by_key(direct_key)
-- columns: as conversation
SELECT c.conversation_id, c.public_id, c.kind, m.conversation_seq AS last_seq,
    m.digest AS last_digest
FROM conversations c LEFT JOIN messages m
    ON m.conversation_id = c.conversation_id AND m.conversation_seq = (
        SELECT max(l.conversation_seq) FROM messages l
        WHERE l.conversation_id = c.conversation_id
          AND l.conversation_seq > 0)
WHERE c.direct_key = $direct_key;

-- name: conversation_by_public(public_id)
-- columns: as conversation
SELECT c.conversation_id, c.public_id, c.kind, m.conversation_seq AS last_seq,
    m.digest AS last_digest
FROM conversations c LEFT JOIN messages m
    ON m.conversation_id = c.conversation_id AND m.conversation_seq = (
        SELECT max(l.conversation_seq) FROM messages l
        WHERE l.conversation_id = c.conversation_id
          AND l.conversation_seq > 0)
WHERE c.public_id = $public_id;

-- name: conversation_by_id(conversation_id)
-- columns: as conversation
SELECT c.conversation_id, c.public_id, c.kind, m.conversation_seq AS last_seq,
    m.digest AS last_digest
FROM conversations c LEFT JOIN messages m
    ON m.conversation_id = c.conversation_id AND m.conversation_seq = (
        SELECT max(l.conversation_seq) FROM messages l
        WHERE l.conversation_id = c.conversation_id
          AND l.conversation_seq > 0)
WHERE c.conversation_id = $conversation_id;

-- name: conversation_if_free(conversation_id)
-- columns: as conversation
SELECT c.conversation_id, c.public_id, c.kind, m.conversation_seq AS last_seq,
    m.digest AS last_digest
FROM conversations c LEFT JOIN messages m
    ON m.conversation_id = c.conversation_id AND m.conversation_seq = (
        SELECT max(l.conversation_seq) FROM messages l
        WHERE l.conversation_id = c.conversation_id
          AND l.conversation_seq > 0)
WHERE c.conversation_id = $conversation_id;

-- name: participant_set(conversation_id, user_id, delivered_upto, acked_upto,
--     read_upto, acked_at, read_at, shown_upto, shown_at)
UPDATE participants SET delivered_upto = $delivered_upto,
    acked_upto = $acked_upto, read_upto = $read_upto, acked_at = $acked_at,
    read_at = $read_at, shown_upto = $shown_upto, shown_at = $shown_at
WHERE conversation_id = $conversation_id AND user_id = $user_id;

-- Lists the conversations of a member, the newest first.  unread: messages of
-- others after the read watermark, up to the delivered watermark.  last_at: the
-- time of the last message that the member may see, by the rule of
-- history_before.
-- name: conversation_list(user_id, before, limit)
-- columns: as conversation_item
SELECT c.conversation_id, c.public_id, c.kind, c.created_at, p.joined_seq,
    p.left_seq, p.delivered_upto, p.acked_upto, p.read_upto,
    (SELECT count(*) FROM messages m
     WHERE m.conversation_id = c.conversation_id
       AND m.conversation_seq > p.read_upto
       AND m.conversation_seq <= p.delivered_upto
       AND m.sender_id <> p.user_id)
    - (SELECT count(*) FROM outbox o
     WHERE o.conversation_id = c.conversation_id AND o.dest_id = p.user_id
       AND o.dest_kind = 'user' AND o.kind = EVENT_MESSAGE
       AND (o.state = 'failed' OR o.state = 'expired'
         OR o.state = 'canceled')
       AND o.conversation_seq > p.read_upto
       AND o.conversation_seq <= p.delivered_upto) AS unread,
    (SELECT max(m.conversation_seq) FROM messages m
     WHERE m.conversation_id = c.conversation_id
         AND m.conversation_seq > 0) AS last_seq,
    coalesce((SELECT m.created_at FROM messages m
     WHERE m.conversation_id = p.conversation_id AND m.conversation_seq > 0
       AND (m.sender_id = p.user_id
         OR (m.conversation_seq <= p.delivered_upto
           AND NOT EXISTS (SELECT 1 FROM outbox o
             WHERE o.event_id = m.event_id AND o.mid = m.mid
               AND o.dest_kind = 'user' AND o.dest_id = p.user_id
               AND o.state NOT IN ('sent', 'acked'))))
     ORDER BY m.conversation_seq DESC LIMIT 1), c.created_at) AS last_at
FROM participants p
JOIN conversations c ON c.conversation_id = p.conversation_id
WHERE p.user_id = $user_id AND p.conversation_id < $before
ORDER BY p.conversation_id DESC LIMIT $limit;

-- The same, ordered by last_at, the latest first, and by id for equal times.
-- The times of all conversations of the member are computed before sorting,
-- with two look-ups each.  The counts are computed only for the rows of the
-- page.
-- name: conversation_recent(user_id, before_at, before_id, limit)
-- columns: as conversation_item
WITH recent AS MATERIALIZED (
    SELECT p.conversation_id, c.public_id,
        coalesce((SELECT m.created_at FROM messages m
         WHERE m.conversation_id = p.conversation_id AND m.conversation_seq > 0
           AND (m.sender_id = p.user_id
             OR (m.conversation_seq <= p.delivered_upto
               AND NOT EXISTS (SELECT 1 FROM outbox o
                 WHERE o.event_id = m.event_id AND o.mid = m.mid
                   AND o.dest_kind = 'user' AND o.dest_id = p.user_id
                   AND o.state NOT IN ('sent', 'acked'))))
         ORDER BY m.conversation_seq DESC LIMIT 1), c.created_at) AS last_at
    FROM participants p
    JOIN conversations c ON c.conversation_id = p.conversation_id
    WHERE p.user_id = $user_id
), page AS MATERIALIZED (
    SELECT r.conversation_id, r.public_id, r.last_at FROM recent r
    WHERE r.last_at < $before_at
        OR (r.last_at = $before_at AND r.public_id < $before_id)
    ORDER BY r.last_at DESC, r.public_id DESC LIMIT $limit
)
SELECT c.conversation_id, c.public_id, c.kind, c.created_at, p.joined_seq,
    p.left_seq, p.delivered_upto, p.acked_upto, p.read_upto,
    (SELECT count(*) FROM messages m
     WHERE m.conversation_id = c.conversation_id
       AND m.conversation_seq > p.read_upto
       AND m.conversation_seq <= p.delivered_upto
       AND m.sender_id <> p.user_id)
    - (SELECT count(*) FROM outbox o
     WHERE o.conversation_id = c.conversation_id AND o.dest_id = p.user_id
       AND o.dest_kind = 'user' AND o.kind = EVENT_MESSAGE
       AND (o.state = 'failed' OR o.state = 'expired'
         OR o.state = 'canceled')
       AND o.conversation_seq > p.read_upto
       AND o.conversation_seq <= p.delivered_upto) AS unread,
    (SELECT max(m.conversation_seq) FROM messages m
     WHERE m.conversation_id = c.conversation_id
         AND m.conversation_seq > 0) AS last_seq,
    g.last_at
FROM page g
JOIN conversations c ON c.conversation_id = g.conversation_id
JOIN participants p ON p.conversation_id = g.conversation_id
    AND p.user_id = $user_id
ORDER BY g.last_at DESC, g.public_id DESC;

-- name: conversation_one(user_id, public_id)
-- columns: as conversation_item
SELECT c.conversation_id, c.public_id, c.kind, c.created_at, p.joined_seq,
    p.left_seq, p.delivered_upto, p.acked_upto, p.read_upto,
    (SELECT count(*) FROM messages m
     WHERE m.conversation_id = c.conversation_id
       AND m.conversation_seq > p.read_upto
       AND m.conversation_seq <= p.delivered_upto
       AND m.sender_id <> p.user_id)
    - (SELECT count(*) FROM outbox o
     WHERE o.conversation_id = c.conversation_id AND o.dest_id = p.user_id
       AND o.dest_kind = 'user' AND o.kind = EVENT_MESSAGE
       AND (o.state = 'failed' OR o.state = 'expired'
         OR o.state = 'canceled')
       AND o.conversation_seq > p.read_upto
       AND o.conversation_seq <= p.delivered_upto) AS unread,
    (SELECT max(m.conversation_seq) FROM messages m
     WHERE m.conversation_id = c.conversation_id
         AND m.conversation_seq > 0) AS last_seq,
    coalesce((SELECT m.created_at FROM messages m
     WHERE m.conversation_id = p.conversation_id AND m.conversation_seq > 0
       AND (m.sender_id = p.user_id
         OR (m.conversation_seq <= p.delivered_upto
           AND NOT EXISTS (SELECT 1 FROM outbox o
             WHERE o.event_id = m.event_id AND o.mid = m.mid
               AND o.dest_kind = 'user' AND o.dest_id = p.user_id
               AND o.state NOT IN ('sent', 'acked'))))
     ORDER BY m.conversation_seq DESC LIMIT 1), c.created_at) AS last_at
FROM conversations c
JOIN participants p ON p.conversation_id = c.conversation_id
WHERE c.public_id = $public_id AND p.user_id = $user_id;

-- name: unread_list(user_id)
-- columns: public_id, unread, last_seq
SELECT c.public_id, u.n AS unread,
    (SELECT max(m.conversation_seq) FROM messages m
     WHERE m.conversation_id = c.conversation_id
         AND m.conversation_seq > 0) AS last_seq
FROM (
    SELECT p.conversation_id AS cid,
        (SELECT count(*) FROM messages m
     WHERE m.conversation_id = p.conversation_id
       AND m.conversation_seq > p.read_upto
       AND m.conversation_seq <= p.delivered_upto
       AND m.sender_id <> p.user_id)
    - (SELECT count(*) FROM outbox o
     WHERE o.conversation_id = p.conversation_id AND o.dest_id = p.user_id
       AND o.dest_kind = 'user' AND o.kind = EVENT_MESSAGE
       AND (o.state = 'failed' OR o.state = 'expired'
         OR o.state = 'canceled')
       AND o.conversation_seq > p.read_upto
       AND o.conversation_seq <= p.delivered_upto) AS n
    FROM participants p
    WHERE p.user_id = $user_id AND p.delivered_upto > p.read_upto) u
JOIN conversations c ON c.conversation_id = u.cid
WHERE u.n > 0 ORDER BY u.cid;

-- name: unread_total(user_id)
-- columns: unread
SELECT coalesce(sum(
    (SELECT count(*) FROM messages m
     WHERE m.conversation_id = p.conversation_id
       AND m.conversation_seq > p.read_upto
       AND m.conversation_seq <= p.delivered_upto
       AND m.sender_id <> p.user_id)
    - (SELECT count(*) FROM outbox o
     WHERE o.conversation_id = p.conversation_id AND o.dest_id = p.user_id
       AND o.dest_kind = 'user' AND o.kind = EVENT_MESSAGE
       AND (o.state = 'failed' OR o.state = 'expired'
         OR o.state = 'canceled')
       AND o.conversation_seq > p.read_upto
       AND o.conversation_seq <= p.delivered_upto)), 0) AS unread
FROM participants p
WHERE p.user_id = $user_id AND p.delivered_upto > p.read_upto;
