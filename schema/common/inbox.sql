-- SPDX-License-Identifier: MIT
-- Inbox events.  An event id is unique only within its origin.  Therefore a
-- join by event id compares the message (mid), too.

-- Reads the events after a cursor, with everything that clients see of them.
-- name: inbox_page(user_id, after, upto, limit)
-- columns: seq, kind, own, event_id, public_id, conversation_seq, actor,
--     event_time, delivered_at, attempt, message_id, body, content_type,
--     metadata, correlation_id, reply_to, direct_key, read_upto, read_at,
--     reason
SELECT i.seq, i.kind, i.own, i.event_id, c.public_id, i.conversation_seq,
    a.name AS actor, i.event_time, i.delivered_at, i.attempt, m.message_id,
    m.body, m.content_type, m.metadata, m.correlation_id, m.reply_to,
    c.direct_key, p.read_upto, p.read_at,
    CASE WHEN i.kind = EVENT_BOUNCE THEN
      (SELECT b.reason FROM outbox b WHERE b.id = i.outbox_id) END AS reason
FROM inbox i
JOIN conversations c ON c.conversation_id = i.conversation_id
JOIN users a ON a.user_id = i.actor_id
JOIN messages m ON m.mid = i.mid
LEFT JOIN participants p ON p.conversation_id = i.conversation_id
    AND p.user_id = i.user_id
WHERE i.user_id = $user_id AND i.seq > $after AND i.seq <= $upto
ORDER BY i.seq LIMIT $limit;

-- Reads the messages of other senders in a range of an inbox, for acks and
-- reads.
-- name: inbox_range(user_id, after, upto)
-- columns: seq, mid, conversation_id, conversation_seq, actor_id, outbox_id
SELECT seq, mid, conversation_id, conversation_seq, actor_id, outbox_id
FROM inbox
WHERE user_id = $user_id AND seq > $after AND seq <= $upto
  AND kind = EVENT_MESSAGE AND own = 0
ORDER BY seq;

-- Finds the event of a message in an inbox.  Here and in the next statement the
-- unary plus keeps SQLite from searching by user, which would walk along the
-- whole inbox.  It searches by event id instead, which finds only a few events.
-- name: inbox_message(message_id, user_id)
-- columns: seq, mid, conversation_id, conversation_seq, actor_id, own
SELECT i.seq, i.mid, i.conversation_id, i.conversation_seq, i.actor_id, i.own
FROM messages m JOIN inbox i ON i.event_id = m.event_id AND i.mid = m.mid
    AND i.kind = EVENT_MESSAGE
WHERE m.message_id = $message_id AND +i.user_id = $user_id;

-- Finds the last message of another sender in a conversation, after number
-- $after and up to number $upto, that $user_id has received.
-- name: message_last_of_others(conversation_id, upto, user_id, after)
-- columns: mid, conversation_seq, sender_id
SELECT m.mid, m.conversation_seq, m.sender_id FROM messages m
WHERE m.conversation_id = $conversation_id AND m.conversation_seq <= $upto
  AND m.sender_id <> $user_id AND m.conversation_seq > $after
  AND EXISTS (SELECT 1 FROM inbox i
      WHERE i.event_id = m.event_id AND +i.user_id = $user_id
        AND i.mid = m.mid AND i.kind = EVENT_MESSAGE)
ORDER BY m.conversation_seq DESC LIMIT 1;
