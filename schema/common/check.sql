-- SPDX-License-Identifier: MIT
-- The checks of fsck (upkeep/check.c).  Each statement returns up to $limit
-- places that violate an invariant.  The statements read whole tables, which is
-- acceptable because fsck runs only on request.

-- row: link(conversation_id, conversation_seq, message_id, sender, salt,
--     body, digest)
-- row: place(place)
-- row: schema_object(object, definition)

-- name: check_reference(limit)
-- columns: as place
SELECT place FROM (
	SELECT 'message ' || m.mid || ' of no user' AS place FROM messages m
	WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.user_id = m.sender_id)
	UNION ALL
	SELECT 'message ' || m.mid || ' of no conversation' FROM messages m
	WHERE NOT EXISTS (SELECT 1 FROM conversations c
	    WHERE c.conversation_id = m.conversation_id)
	UNION ALL
	SELECT 'message ' || m.mid || ' of somebody who is not in its conversation'
	FROM messages m
	WHERE NOT EXISTS (SELECT 1 FROM participants p
	    WHERE p.conversation_id = m.conversation_id
	    AND p.user_id = m.sender_id)
	UNION ALL
	SELECT 'outbox row ' || o.id || ' about no message' FROM outbox o
	WHERE NOT EXISTS (SELECT 1 FROM messages m WHERE m.mid = o.mid)
	UNION ALL
	SELECT 'outbox row ' || o.id || ' to no user' FROM outbox o
	WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.user_id = o.dest_id)
	UNION ALL
	SELECT 'outbox row ' || o.id || ' in no lane' FROM outbox o
	WHERE o.lane_id IS NOT NULL AND NOT EXISTS (
	    SELECT 1 FROM outbox_lanes l WHERE l.lane_id = o.lane_id)
	UNION ALL
	SELECT 'event ' || i.seq || ' of user ' || i.user_id || ' about no message'
	FROM inbox i
	WHERE NOT EXISTS (SELECT 1 FROM messages m WHERE m.mid = i.mid)
	UNION ALL
	SELECT 'event ' || i.seq || ' of no user ' || i.user_id FROM inbox i
	WHERE NOT EXISTS (
	    SELECT 1 FROM inboxes b WHERE b.user_id = i.user_id)
) AS places LIMIT $limit;

-- A message must have a copy in the inbox of its sender.  Senders on other
-- servers are left out: they have no inbox here.
-- name: check_no_own_copy(limit)
-- columns: as place
SELECT 'message ' || m.mid || ' of user ' || m.sender_id AS place
FROM messages m JOIN users u ON u.user_id = m.sender_id
WHERE u.destination_id IS NULL
AND m.conversation_seq IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM inbox i WHERE i.event_id = m.event_id
    AND i.user_id = m.sender_id AND i.origin = 0
    AND i.kind = EVENT_MESSAGE AND i.own = 1)
LIMIT $limit;

-- name: check_not_delivered(limit)
-- columns: as place
SELECT 'outbox row ' || o.id || ' to user ' || o.dest_id AS place FROM outbox o
WHERE (o.state = 'sent' OR o.state = 'acked') AND o.dest_kind = 'user'
AND NOT EXISTS (SELECT 1 FROM inbox i
    WHERE i.event_id = o.event_id AND i.user_id = o.dest_id
    AND i.origin = 0 AND i.kind = o.kind)
LIMIT $limit;

-- name: check_still_owed(limit)
-- columns: as place
SELECT 'outbox row ' || o.id || ' to user ' || o.dest_id AS place
FROM outbox o JOIN inbox i ON i.event_id = o.event_id
    AND i.user_id = o.dest_id AND i.origin = 0
WHERE o.state = 'pending' AND o.dest_kind = 'user' AND o.lane_id IS NOT NULL
LIMIT $limit;

-- name: check_twice(limit)
-- columns: as place
SELECT 'message ' || mid || ' to user ' || user_id AS place FROM inbox
WHERE kind = EVENT_MESSAGE
GROUP BY user_id, mid HAVING count(*) > 1
LIMIT $limit;

-- name: check_order(limit)
-- columns: as place
SELECT 'event ' || seq || ' of user ' || user_id || ': message ' ||
    conversation_seq || ' of conversation ' || conversation_id || ' after ' ||
    before AS place
FROM (SELECT i.user_id, i.seq, i.conversation_id, i.conversation_seq,
	lag(i.conversation_seq) OVER (
	    PARTITION BY i.user_id, i.conversation_id, i.actor_id ORDER BY i.seq
	) AS before
    FROM inbox i LEFT JOIN outbox o ON o.id = i.outbox_id
    WHERE i.kind = EVENT_MESSAGE AND coalesce(o.requeues, 0) = 0) AS pairs
WHERE conversation_seq <= before
LIMIT $limit;

-- Finds rows that no relay would find: a pending row in an idle lane, or a row
-- that is being sent although its lane is not leased.
-- name: check_forgotten(limit)
-- columns: as place
SELECT 'outbox row ' || o.id || ' is ' || o.state || ', its lane ' ||
    o.lane_id || ' is ' || l.state AS place
FROM outbox o JOIN outbox_lanes l ON l.lane_id = o.lane_id
WHERE o.lane_seq IS NOT NULL AND o.dest_kind = 'server' AND (
    (o.state = 'pending' AND l.state = 'idle')
    OR (o.state = 'sending' AND l.state <> 'leased'))
LIMIT $limit;

-- A ready lane has the priority of the most urgent pending row in it.  Leased
-- lanes are left out: their priority is computed again when the lease ends.
-- name: check_lane_priority(limit)
-- columns: as place
SELECT 'lane ' || w.lane_id || ' has priority ' || w.priority ||
    ', the highest in it is ' || w.highest AS place
FROM (SELECT l.lane_id, l.priority, coalesce((SELECT max(o.priority)
	FROM outbox o WHERE o.lane_id = l.lane_id AND o.dest_kind = 'server'
	AND o.state = 'pending' AND o.lane_seq IS NOT NULL), -1) AS highest
    FROM outbox_lanes l WHERE l.state = 'ready') AS w
WHERE w.priority <> w.highest
LIMIT $limit;

-- An open dead letter has an outbox row in the same state.  Each dead letter,
-- and each outbox row of a message that has failed or expired, has a bounce for
-- its sender, unless old events of the sender's inbox were purged.  (A resolved
-- dead letter may be purged; the outbox row of its message stays.)
-- name: check_dead(limit)
-- columns: as place
WITH bounced (user_id, mid) AS MATERIALIZED (
	SELECT DISTINCT i.user_id, i.mid FROM inbox i
	    WHERE i.kind = EVENT_BOUNCE)
SELECT place FROM (
	SELECT 'dead letter ' || d.dead_id || ' is open, its outbox row ' ||
	    d.outbox_id || ' is ' || coalesce(o.state, 'gone') AS place
	FROM dead_letter_queue d LEFT JOIN outbox o ON o.id = d.outbox_id
	WHERE d.resolution IS NULL
	    AND (o.state IS NULL OR o.state <> d.state)
	UNION ALL
	SELECT 'dead letter ' || d.dead_id || ' without a bounce to user ' ||
	    d.sender_id
	FROM dead_letter_queue d
	LEFT JOIN bounced b ON b.user_id = d.sender_id AND b.mid = d.mid
	WHERE b.mid IS NULL
	AND NOT EXISTS (SELECT 1 FROM inboxes b WHERE b.user_id = d.sender_id
	    AND b.trimmed > 0)
	UNION ALL
	SELECT 'outbox row ' || o.id || ' is ' || o.state ||
	    ' without a bounce to user ' || o.sender_id
	FROM outbox o
	LEFT JOIN bounced b ON b.user_id = o.sender_id AND b.mid = o.mid
	WHERE (o.state = 'failed' OR o.state = 'expired')
	AND o.kind = EVENT_MESSAGE AND b.mid IS NULL
	AND NOT EXISTS (SELECT 1 FROM inboxes b WHERE b.user_id = o.sender_id
	    AND b.trimmed > 0)
) AS places LIMIT $limit;

-- name: check_chain
-- columns: as link
SELECT m.conversation_id, m.conversation_seq, m.message_id, u.name AS sender,
    m.salt, m.body, m.digest
FROM messages m JOIN users u ON u.user_id = m.sender_id
WHERE m.conversation_seq IS NOT NULL
ORDER BY m.conversation_id, m.conversation_seq;

-- name: check_census
-- columns: users, messages, outbox_rows, events
SELECT (SELECT count(*) FROM users) AS users,
    (SELECT count(*) FROM messages) AS messages,
    (SELECT count(*) FROM outbox) AS outbox_rows,
    (SELECT count(*) FROM inbox) AS events;
