-- SPDX-License-Identifier: MIT
-- The statements with which fsck compares the databases of two servers that
-- deliver to each other (upkeep/pair.c).  fsck reads one database in pages,
-- each along an index, and finds the counterpart of each row in the other
-- database by a key.

-- Lists the direct conversations with users of another server, after a cursor.
-- far: the name of the user there; near: the name of the user here.
-- acked_upto: how far the user there has acked, as this database knows it.
-- name: pair_conversations(destination_id, user_id, conversation_id, limit)
-- columns: user_id, conversation_id, acked_upto, far, near
SELECT p.user_id, p.conversation_id, p.acked_upto,
    (SELECT f.name FROM users f WHERE f.user_id = p.user_id) AS far,
    n.name AS near
FROM participants p
JOIN conversations c ON c.conversation_id = p.conversation_id
JOIN participants q ON q.conversation_id = p.conversation_id
    AND q.user_id <> p.user_id
JOIN users n ON n.user_id = q.user_id
WHERE (p.user_id, p.conversation_id) > ($user_id, $conversation_id)
  AND (SELECT f.destination_id FROM users f WHERE f.user_id = p.user_id)
    = $destination_id
  AND c.kind = 'direct' AND n.destination_id IS NULL
ORDER BY p.user_id, p.conversation_id LIMIT $limit;

-- Lists the messages of a conversation with the state of their delivery to
-- $user_id, a user of another server.  state: NULL if there is no outbox row.
-- again: an operator has rewound the lane, and the row was not sent again yet.
-- name: pair_messages(conversation_id, user_id, after, limit)
-- columns: message_id, conversation_seq, body, origin, state, requeues,
--     awaits_answer, again
SELECT m.message_id, m.conversation_seq, m.body, s.destination_id AS origin,
    o.state, o.requeues, o.ack_deadline IS NOT NULL AS awaits_answer,
    l.replay_seq IS NOT NULL AND o.lane_seq >= l.replay_seq
      AND o.lane_seq < l.next_seq AS again
FROM messages m JOIN users s ON s.user_id = m.sender_id
LEFT JOIN outbox o ON o.event_id = m.event_id AND o.dest_kind = 'server'
    AND o.dest_id = $user_id
LEFT JOIN outbox_lanes l ON l.lane_id = o.lane_id
WHERE m.conversation_id = $conversation_id AND m.conversation_seq > $after
ORDER BY m.conversation_seq LIMIT $limit;

-- Reads a message with what belongs to the user called $name: the watermarks
-- (NULL if the user is not a member of its conversation), the number of its
-- events in the user's inbox, and whether a receipt for it is still on its way
-- to the sender.  The unary plus makes SQLite search by event id instead of
-- walking along the inbox.
-- name: pair_message(message_id, name)
-- columns: conversation_id, conversation_seq, body, sender, origin, acked_upto,
--     shown_upto, trimmed, events, receipt
SELECT m.conversation_id, m.conversation_seq, m.body, s.name AS sender,
    s.destination_id AS origin, p.acked_upto, p.shown_upto, b.trimmed,
    (SELECT count(*) FROM inbox i
      WHERE i.event_id = m.event_id AND i.mid = m.mid
        AND i.kind = EVENT_MESSAGE AND +i.user_id = u.user_id) AS events,
    EXISTS (SELECT 1 FROM outbox o
      WHERE o.lane_id = l.lane_id AND o.dest_kind = 'server'
        AND o.lane_seq >= coalesce(l.replay_seq, l.next_seq)
        AND o.conversation_seq >= m.conversation_seq
        AND o.sender_id = u.user_id
        AND (o.state = 'pending' OR o.state = 'sending'
          OR o.ack_deadline IS NOT NULL
          OR (o.lane_seq < l.next_seq
            AND (o.state = 'sent' OR o.state = 'acked')))) AS receipt
FROM messages m JOIN users s ON s.user_id = m.sender_id
LEFT JOIN users u ON u.name = $name
LEFT JOIN participants p ON p.conversation_id = m.conversation_id
    AND p.user_id = u.user_id
LEFT JOIN inboxes b ON b.user_id = u.user_id
LEFT JOIN outbox_lanes l ON l.conversation_id = m.conversation_id
    AND l.dest_kind = 'server' AND l.dest_id = m.sender_id AND l.class = 1
WHERE m.message_id = $message_id;

-- Lists the events that were accepted from a server, after a cursor, each with
-- the event that it has put into an inbox (kind is NULL: none).
-- name: pair_events(event_id, origin, limit)
-- columns: event_id, kind, actor, actor_origin, person, message_id,
--     message_event_id
SELECT p.event_id, i.kind, a.name AS actor, a.destination_id AS actor_origin,
    u.name AS person, m.message_id, m.event_id AS message_event_id
FROM processed_messages p
LEFT JOIN inbox i ON i.event_id = p.event_id AND i.origin = p.origin
LEFT JOIN users a ON a.user_id = i.actor_id
LEFT JOIN users u ON u.user_id = i.user_id
LEFT JOIN messages m ON m.mid = i.mid
WHERE p.event_id > $event_id AND p.origin = $origin
ORDER BY p.event_id LIMIT $limit;

-- Returns whether an event was made here, and the outbox rows that were made
-- just before and just after it.
-- name: pair_event(event_id)
-- columns: made, before_id, after_id
SELECT EXISTS (SELECT 1 FROM outbox o WHERE o.event_id = $event_id) AS made,
    (SELECT o.id FROM outbox o WHERE o.event_id < $event_id
      ORDER BY o.event_id DESC LIMIT 1) AS before_id,
    (SELECT o.id FROM outbox o WHERE o.event_id > $event_id
      ORDER BY o.event_id LIMIT 1) AS after_id;
