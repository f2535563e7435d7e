-- SPDX-License-Identifier: MIT
-- Conversations and their members.

-- name: conversation_insert(public_id, kind, direct_key, now)
-- columns: conversation_id, public_id
INSERT INTO conversations (public_id, kind, direct_key, created_at)
SELECT * FROM unnest($public_id::uuid[], $kind::text[], $direct_key::text[],
    $now::bigint[])
RETURNING conversation_id, public_id;

-- name: participant_insert(conversation_id, user_id, role)
INSERT INTO participants (conversation_id, user_id, role)
SELECT * FROM unnest($conversation_id::bigint[], $user_id::bigint[],
    $role::text[]);

-- Reads and locks a conversation that is missing in the lock set of the batch
-- (schema/postgres/lock.sql).  The batch has locked other rows by then, so that
-- waiting for this one could be a deadlock.  With NOWAIT the statement fails
-- instead: the transaction starts again and locks the row together with the
-- others.
-- name: conversation_by_key(direct_key)
-- columns: as conversation
-- writer: FOR UPDATE OF c NOWAIT
SELECT c.conversation_id, c.public_id, c.kind, c.last_seq, c.last_digest
FROM conversations c WHERE c.direct_key = $direct_key;

-- name: conversation_by_public(public_id)
-- columns: as conversation
-- writer: FOR UPDATE OF c NOWAIT
SELECT c.conversation_id, c.public_id, c.kind, c.last_seq, c.last_digest
FROM conversations c WHERE c.public_id = $public_id;

-- name: conversation_by_id(conversation_id)
-- columns: as conversation
-- writer: FOR UPDATE OF c NOWAIT
SELECT c.conversation_id, c.public_id, c.kind, c.last_seq, c.last_digest
FROM conversations c WHERE c.conversation_id = $conversation_id;

-- Reads and locks a conversation, unless another transaction has locked it.
-- name: conversation_if_free(conversation_id)
-- columns: as conversation
-- writer: FOR UPDATE OF c SKIP LOCKED
SELECT c.conversation_id, c.public_id, c.kind, c.last_seq, c.last_digest
FROM conversations c WHERE c.conversation_id = $conversation_id;

-- name: participant_set(conversation_id, user_id, delivered_upto, acked_upto,
--     read_upto, acked_at, read_at, shown_upto, shown_at)
UPDATE participants p SET delivered_upto = r.delivered_upto,
    acked_upto = r.acked_upto, read_upto = r.read_upto,
    acked_at = r.acked_at, read_at = r.read_at,
    shown_upto = r.shown_upto, shown_at = r.shown_at
FROM unnest($conversation_id::bigint[], $user_id::bigint[],
    $delivered_upto::bigint[], $acked_upto::bigint[], $read_upto::bigint[],
    $acked_at::bigint[], $read_at::bigint[], $shown_upto::bigint[],
    $shown_at::bigint[])
    AS r (conversation_id, user_id, delivered_upto, acked_upto, read_upto,
        acked_at, read_at, shown_upto, shown_at)
WHERE p.conversation_id = r.conversation_id AND p.user_id = r.user_id;

-- Lists the conversations of a member, the newest first.  unread: messages of
-- others after the read watermark, up to the delivered watermark.  last_at: the
-- time of the last message that the member may see, by the rule of
-- history_before.
--
-- OFFSET 0 keeps the planner from building a hash table of all outbox rows of
-- the member for each conversation.  The subqueries on failed, expired and
-- canceled rows, here and below, are ordered like the index outbox_owed.
-- Without that order and with statistics that show no such rows, the planner
-- would choose any index of them; if there are many after all, it would then
-- read the whole index for each conversation.
-- name: conversation_list(user_id, before, limit)
-- columns: as conversation_item
SELECT c.conversation_id, c.public_id, c.kind, c.created_at, p.joined_seq,
    p.left_seq, p.delivered_upto, p.acked_upto, p.read_upto,
    (SELECT count(*) FROM messages m
     WHERE m.conversation_id = c.conversation_id
       AND m.conversation_seq > p.read_upto
       AND m.conversation_seq <= p.delivered_upto
       AND m.sender_id <> p.user_id)
    - (SELECT count(*) FROM (SELECT 1 FROM outbox o
     WHERE o.conversation_id = c.conversation_id AND o.dest_id = p.user_id
       AND o.dest_kind = 'user' AND o.kind = EVENT_MESSAGE
       AND (o.state = 'failed' OR o.state = 'expired'
         OR o.state = 'canceled')
       AND o.conversation_seq > p.read_upto
       AND o.conversation_seq <= p.delivered_upto
     ORDER BY o.conversation_seq) owed) AS unread,
    c.last_seq,
    coalesce((SELECT m.created_at FROM messages m
     WHERE m.conversation_id = p.conversation_id AND m.conversation_seq > 0
       AND (m.sender_id = p.user_id
         OR (m.conversation_seq <= p.delivered_upto
           AND NOT EXISTS (SELECT 1 FROM outbox o
             WHERE o.event_id = m.event_id AND o.mid = m.mid
               AND o.dest_kind = 'user' AND o.dest_id = p.user_id
               AND o.state NOT IN ('sent', 'acked') OFFSET 0)))
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
                   AND o.state NOT IN ('sent', 'acked') OFFSET 0)))
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
    - (SELECT count(*) FROM (SELECT 1 FROM outbox o
     WHERE o.conversation_id = c.conversation_id AND o.dest_id = p.user_id
       AND o.dest_kind = 'user' AND o.kind = EVENT_MESSAGE
       AND (o.state = 'failed' OR o.state = 'expired'
         OR o.state = 'canceled')
       AND o.conversation_seq > p.read_upto
       AND o.conversation_seq <= p.delivered_upto
     ORDER BY o.conversation_seq) owed) AS unread,
    c.last_seq,
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
    - (SELECT count(*) FROM (SELECT 1 FROM outbox o
     WHERE o.conversation_id = c.conversation_id AND o.dest_id = p.user_id
       AND o.dest_kind = 'user' AND o.kind = EVENT_MESSAGE
       AND (o.state = 'failed' OR o.state = 'expired'
         OR o.state = 'canceled')
       AND o.conversation_seq > p.read_upto
       AND o.conversation_seq <= p.delivered_upto
     ORDER BY o.conversation_seq) owed) AS unread,
    c.last_seq,
    coalesce((SELECT m.created_at FROM messages m
     WHERE m.conversation_id = p.conversation_id AND m.conversation_seq > 0
       AND (m.sender_id = p.user_id
         OR (m.conversation_seq <= p.delivered_upto
           AND NOT EXISTS (SELECT 1 FROM outbox o
             WHERE o.event_id = m.event_id AND o.mid = m.mid
               AND o.dest_kind = 'user' AND o.dest_id = p.user_id
               AND o.state NOT IN ('sent', 'acked') OFFSET 0)))
     ORDER BY m.conversation_seq DESC LIMIT 1), c.created_at) AS last_at
FROM conversations c
JOIN participants p ON p.conversation_id = c.conversation_id
WHERE c.public_id = $public_id AND p.user_id = $user_id;

-- name: unread_list(user_id)
-- columns: public_id, unread, last_seq
SELECT c.public_id, u.n AS unread,
    c.last_seq
FROM (
    SELECT p.conversation_id AS cid,
        (SELECT count(*) FROM messages m
     WHERE m.conversation_id = p.conversation_id
       AND m.conversation_seq > p.read_upto
       AND m.conversation_seq <= p.delivered_upto
       AND m.sender_id <> p.user_id)
    - (SELECT count(*) FROM (SELECT 1 FROM outbox o
     WHERE o.conversation_id = p.conversation_id AND o.dest_id = p.user_id
       AND o.dest_kind = 'user' AND o.kind = EVENT_MESSAGE
       AND (o.state = 'failed' OR o.state = 'expired'
         OR o.state = 'canceled')
       AND o.conversation_seq > p.read_upto
       AND o.conversation_seq <= p.delivered_upto
     ORDER BY o.conversation_seq) owed) AS n
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
    - (SELECT count(*) FROM (SELECT 1 FROM outbox o
     WHERE o.conversation_id = p.conversation_id AND o.dest_id = p.user_id
       AND o.dest_kind = 'user' AND o.kind = EVENT_MESSAGE
       AND (o.state = 'failed' OR o.state = 'expired'
         OR o.state = 'canceled')
       AND o.conversation_seq > p.read_upto
       AND o.conversation_seq <= p.delivered_upto
     ORDER BY o.conversation_seq) owed)), 0)::bigint AS unread
FROM participants p
WHERE p.user_id = $user_id AND p.delivered_upto > p.read_upto;
