-- SPDX-License-Identifier: MIT
-- Compares what a user sees with all other rows that hold the same facts.  An
-- event, an outbox row and a watermark each repeat facts of the message, of
-- each other and of the transaction that wrote them (upkeep/check.c).
--
-- Two times are compared only if one transaction wrote both, and only for
-- equality: the clock may have been set back between two transactions.  Each
-- statement reads one table once and finds the other rows by primary key or
-- unique index, so that its cost grows with the number of rows and not with its
-- square.

-- Compares an event with its message.
-- name: check_event(limit)
-- columns: as place
SELECT 'event ' || seq || ' of user ' || user_id || ': ' || wrong AS place
FROM (SELECT i.user_id, i.seq, CASE
    WHEN i.kind < EVENT_MESSAGE OR i.kind > EVENT_DELETE OR i.kind = EVENT_EDIT
        THEN 'kind'
    WHEN (i.origin = 0 OR i.kind = EVENT_MESSAGE)
        AND (i.kind = EVENT_MESSAGE) <> (i.event_id = m.event_id)
        THEN 'kind or event id'
    WHEN i.origin <> 0 AND NOT EXISTS (SELECT 1 FROM users u
	WHERE u.user_id = i.actor_id AND u.destination_id = i.origin)
	THEN 'origin'
    WHEN i.conversation_id <> m.conversation_id THEN 'conversation'
    WHEN i.conversation_seq IS NOT m.conversation_seq THEN 'number'
    WHEN (i.kind >= EVENT_DELIVERED AND i.kind <= EVENT_OWN_READ)
	= (i.actor_id = m.sender_id)
	THEN 'sender'
    WHEN i.kind <> EVENT_MESSAGE AND i.kind <> EVENT_OWN_READ
        AND i.user_id <> m.sender_id THEN 'user'
    WHEN i.kind = EVENT_OWN_READ AND i.user_id <> i.actor_id THEN 'sender'
    WHEN (i.own = 1) <> (i.user_id = i.actor_id) THEN 'own'
    WHEN (i.kind = EVENT_MESSAGE AND i.own = 0) OR i.kind = EVENT_DELIVERED
        OR i.kind = EVENT_READ
	THEN CASE WHEN i.outbox_id IS NULL AND i.origin = 0 THEN 'outbox id'
	    WHEN i.kind = EVENT_MESSAGE AND i.event_time <> m.event_time
		THEN 'event time'
	    END
    WHEN i.attempt <> 1 THEN 'attempt'
    WHEN (i.kind = EVENT_OWN_READ OR i.kind = EVENT_BOUNCE)
	<> (i.outbox_id IS NOT NULL)
	THEN 'outbox id'
    WHEN i.event_time <> CASE i.kind WHEN EVENT_MESSAGE THEN m.event_time
	ELSE i.delivered_at END THEN 'event time'
    WHEN i.kind = EVENT_DELETE AND NOT EXISTS (SELECT 1 FROM outbox o
	WHERE o.event_id = m.event_id AND o.state = 'canceled'
	AND o.last_status_at = i.delivered_at) THEN 'kind or time of delivery'
    END AS wrong
    FROM inbox i JOIN messages m ON m.mid = i.mid) AS events
WHERE wrong IS NOT NULL LIMIT $limit;

-- Compares an event with the outbox row that delivered it.  If that row was
-- purged, the outbox id of the event must not exceed the highest id given, and
-- no other event may have it.
-- name: check_event_row(limit)
-- columns: as place
SELECT place FROM (
	SELECT 'event ' || seq || ' of user ' || user_id || ': ' || wrong
	    AS place
	FROM (SELECT i.user_id, i.seq, CASE
	    WHEN o.id IS NULL THEN CASE
		WHEN i.outbox_id < 1 OR i.outbox_id > (SELECT max(n.id)
		    FROM outbox n) THEN 'outbox id'
		WHEN i.attempt <> 1 THEN 'attempt' END
	    WHEN o.event_id <> i.event_id OR o.dest_id <> i.user_id
		THEN 'outbox id'
	    WHEN o.kind <> i.kind THEN 'kind'
	    WHEN o.mid <> i.mid THEN 'message'
	    WHEN o.sender_id <> i.actor_id THEN 'sender'
	    WHEN o.event_time <> i.event_time THEN 'event time'
	    WHEN o.sent_at IS NOT i.delivered_at THEN 'time of delivery'
	    WHEN o.lane_id IS NOT NULL AND o.attempts <> i.attempt
		THEN 'attempt'
	    END AS wrong
	    FROM inbox i LEFT JOIN outbox o ON o.id = i.outbox_id
	    WHERE i.outbox_id IS NOT NULL) AS events
	WHERE wrong IS NOT NULL
	UNION ALL
	SELECT 'outbox row ' || outbox_id || ': ' || count(*) ||
	    ' events came by it'
	FROM inbox WHERE outbox_id IS NOT NULL
	GROUP BY outbox_id HAVING count(*) > 1
) AS places LIMIT $limit;

-- Compares an event with the watermark that covers it: that of the inbox's
-- owner or, for a receipt, that of the user who gives it.
-- name: check_event_mark(limit)
-- columns: as place
SELECT 'event ' || seq || ' of user ' || user_id || ': ' || wrong ||
    ' of user ' || marked AS place
FROM (SELECT i.user_id, i.seq,
    CASE WHEN i.kind = EVENT_DELIVERED OR i.kind = EVENT_READ
	THEN i.actor_id ELSE i.user_id END AS marked,
    CASE
    WHEN p.user_id IS NULL THEN 'conversation'
    WHEN i.kind = EVENT_MESSAGE AND i.own = 0
        AND i.conversation_seq > p.delivered_upto
	THEN 'delivered mark'
    WHEN i.kind = EVENT_DELIVERED AND (i.conversation_seq > p.acked_upto
	OR (i.conversation_seq = p.acked_upto
	AND p.acked_at IS NOT i.event_time)) THEN 'acked mark'
    WHEN i.kind = EVENT_READ AND (i.conversation_seq > p.shown_upto
	OR (i.conversation_seq = p.shown_upto
	AND p.shown_at IS NOT i.event_time)) THEN 'shown mark'
    WHEN i.kind = EVENT_OWN_READ AND (i.conversation_seq > p.read_upto
	OR (i.conversation_seq = p.read_upto
	AND p.read_at IS NOT i.event_time)) THEN 'read mark'
    END AS wrong
    FROM inbox i LEFT JOIN participants p
	ON p.conversation_id = i.conversation_id
	AND p.user_id = CASE WHEN i.kind = EVENT_DELIVERED
	    OR i.kind = EVENT_READ THEN i.actor_id
	    ELSE i.user_id END) AS events
WHERE wrong IS NOT NULL LIMIT $limit;

-- Compares an outbox row with its message.  A message lives for whole seconds,
-- at most 366 days (31622400000 ms).
-- name: check_row(limit)
-- columns: as place
SELECT 'outbox row ' || id || ': ' || wrong AS place
FROM (SELECT o.id, CASE
    WHEN o.kind < EVENT_MESSAGE OR o.kind > EVENT_BOUNCE THEN 'kind'
    WHEN (o.kind = EVENT_MESSAGE) <> (o.event_id = m.event_id)
        THEN 'kind or event id'
    WHEN o.conversation_id <> m.conversation_id THEN 'conversation'
    WHEN o.conversation_seq IS NOT m.conversation_seq THEN 'number'
    WHEN (o.kind = EVENT_MESSAGE OR o.kind = EVENT_BOUNCE)
	<> (o.sender_id = m.sender_id)
	THEN 'sender'
    WHEN o.kind <> EVENT_MESSAGE
        AND (o.kind = EVENT_OWN_READ) = (o.dest_id = m.sender_id)
	THEN 'destination'
    WHEN o.kind >= EVENT_OWN_READ AND o.dest_id <> o.sender_id
        THEN 'destination'
    WHEN o.kind <> EVENT_MESSAGE THEN CASE
	WHEN o.priority <> 0 THEN 'priority'
	WHEN o.deliver_at IS NOT NULL THEN 'time to deliver at'
	WHEN o.expires_at IS NOT NULL THEN 'expiry' END
    WHEN o.priority <> m.priority THEN 'priority'
    WHEN o.event_time <> m.event_time THEN 'event time'
    WHEN o.created_at <> m.created_at THEN 'time of creation'
    WHEN o.deliver_at <= o.created_at OR o.deliver_at > 253402300799999
	OR (o.conversation_seq IS NULL AND o.deliver_at IS NULL)
	THEN 'time to deliver at'
    WHEN o.expires_at IS NULL OR (o.requeues = 0
	AND (o.expires_at < coalesce(o.deliver_at, o.created_at)
	OR o.expires_at > coalesce(o.deliver_at, o.created_at) + 31622400000
	OR (o.expires_at - coalesce(o.deliver_at, o.created_at)) % 1000 <> 0))
	THEN 'expiry'
    END AS wrong
    FROM outbox o JOIN messages m ON m.mid = o.mid) AS out
WHERE wrong IS NOT NULL LIMIT $limit;

-- Compares an outbox row with the event in the recipient's inbox, and with the
-- copy in the sender's inbox.
-- name: check_row_event(limit)
-- columns: as place
SELECT place FROM (
	SELECT 'outbox row ' || o.id || ': outbox id of event ' || i.seq ||
	    ' of user ' || i.user_id AS place
	FROM outbox o JOIN inbox i ON i.event_id = o.event_id
	    AND i.user_id = o.dest_id AND i.origin = 0
	WHERE o.dest_kind = 'user' AND i.outbox_id IS NOT CASE
	    WHEN o.kind = EVENT_MESSAGE AND o.sender_id = o.dest_id THEN NULL
		ELSE o.id END
	UNION ALL
	SELECT 'outbox row ' || o.id || ': time of delivery of event ' ||
	    i.seq || ' of user ' || i.user_id
	FROM outbox o JOIN inbox i ON i.event_id = o.event_id
	    AND i.user_id = o.sender_id AND i.origin = 0
	WHERE o.kind = EVENT_MESSAGE AND ((o.deliver_at IS NULL
	    AND i.delivered_at <> o.created_at)
	    OR i.delivered_at < o.deliver_at
	    OR (o.sender_id = o.dest_id AND i.delivered_at <> o.sent_at))
) AS places LIMIT $limit;

-- Compares a message's outbox row with the watermarks of the recipient, and a
-- receipt's row with those of the user who gives it.  A row below the shown
-- watermark need not be acked: a private read acks no rows, and a later public
-- read acks only the rows after it.  acked_at of a row to another server is not
-- compared: it is the time at which this server learned of the ack, while the
-- watermark has the time that the other server names.
-- name: check_row_mark(limit)
-- columns: as place
SELECT 'outbox row ' || id || ': ' || wrong || ' of user ' || marked AS place
FROM (SELECT o.id, p.user_id AS marked, CASE
    WHEN o.kind = EVENT_MESSAGE AND (o.state = 'sent' OR o.state = 'acked')
	AND o.ack_deadline IS NULL AND o.conversation_seq > p.delivered_upto
	THEN 'delivered mark'
    WHEN o.kind = EVENT_MESSAGE AND o.state = 'acked' AND o.requeues = 0
	AND o.dest_kind = 'user' AND o.conversation_seq = p.acked_upto
	AND o.acked_at <> p.acked_at THEN 'acked mark'
    WHEN o.kind = EVENT_MESSAGE AND o.state = 'sent' AND o.dest_kind = 'user'
	AND (SELECT i.seq FROM inbox i WHERE i.event_id = o.event_id
	    AND i.user_id = o.dest_id AND i.origin = 0)
	<= (SELECT max(d.acked_seq) FROM devices d WHERE d.user_id = o.dest_id)
	THEN 'acked inbox'
    WHEN o.kind = EVENT_DELIVERED AND (o.conversation_seq > p.acked_upto
	OR (o.conversation_seq = p.acked_upto
	AND p.acked_at IS NOT o.event_time)) THEN 'acked mark'
    WHEN o.kind = EVENT_READ AND (o.conversation_seq > p.shown_upto
	OR (o.conversation_seq = p.shown_upto
	AND p.shown_at IS NOT o.event_time)) THEN 'shown mark'
    END AS wrong
    FROM outbox o JOIN participants p ON p.conversation_id = o.conversation_id
	AND p.user_id = CASE o.kind WHEN EVENT_MESSAGE THEN o.dest_id
	    ELSE o.sender_id END
    WHERE o.kind <= EVENT_READ AND (o.kind > EVENT_MESSAGE
        OR o.dest_id <> o.sender_id)) AS out
WHERE wrong IS NOT NULL LIMIT $limit;

-- Compares an outbox row with its attempts, and with the last dead letter that
-- was made from it.
-- name: check_row_story(limit)
-- columns: as place
SELECT place FROM (
	SELECT 'outbox row ' || o.id || ': attempt ' || a.attempt AS place
	FROM outbox_attempts a JOIN outbox o ON o.id = a.outbox_id
	WHERE a.attempt = o.attempts
	    AND (a.started_at IS NOT o.last_attempt_at
	    OR (o.sent_at IS NOT NULL AND a.finished_at IS NOT o.sent_at)
	    OR (o.state = 'sent' AND a.outcome <> 'later'
	    AND o.last_status_at <> o.sent_at)
	    OR (o.state = 'pending' AND a.error <> coalesce(o.last_error, '')))
	UNION ALL
	SELECT 'outbox row ' || o.id || ': attempts ' || o.attempts
	FROM outbox o JOIN (SELECT outbox_id, max(attempt) AS last
	    FROM outbox_attempts GROUP BY outbox_id) AS a ON a.outbox_id = o.id
	WHERE a.last <> o.attempts
	UNION ALL
	SELECT 'outbox row ' || o.id || ': attempts ' || o.attempts
	FROM outbox o WHERE o.dest_kind = 'server' AND o.attempts > 0
	    AND (o.state = 'pending' OR o.state = 'sending')
	    AND NOT EXISTS (SELECT 1 FROM outbox_attempts a
		WHERE a.outbox_id = o.id)
	UNION ALL
	SELECT 'outbox row ' || o.id || ': dead letter ' || d.dead_id
	FROM dead_letter_queue d JOIN outbox o ON o.id = d.outbox_id
	WHERE (d.resolution IS NULL OR d.resolution = 'discarded')
	    AND d.state = o.state AND d.dead_id = (SELECT max(n.dead_id)
		FROM dead_letter_queue n WHERE n.outbox_id = d.outbox_id)
	    AND (d.reason IS NOT o.reason OR d.attempts <> o.attempts
	    OR d.retry_count <> o.retry_count OR d.dead_at <> o.last_status_at
	    OR d.last_error <> coalesce(o.last_error, '')
	    OR (o.requeues = 0 AND o.attempts = 0
	    AND d.last_error IS NOT o.last_error))
	UNION ALL
	SELECT 'outbox row ' || b.id || ': reason ' || b.reason
	FROM outbox b JOIN dead_letter_queue d ON d.mid = b.mid
	    AND d.sender_id = b.sender_id AND d.dead_at = b.created_at
	WHERE b.kind = EVENT_BOUNCE
	GROUP BY b.id, b.reason
	HAVING sum(CASE WHEN d.reason = b.reason THEN 1 ELSE 0 END) = 0
) AS places LIMIT $limit;

-- Compares the watermarks of a member with the member's inbox and with the
-- receipts that the member gave.  A public read advances the acked watermark,
-- too.
-- name: check_member(limit)
-- columns: as place
WITH had (user_id, acked) AS MATERIALIZED (
	SELECT user_id, max(acked_seq) FROM devices GROUP BY user_id
), got (user_id, conversation_id, delivered, acked, seen, passed, said)
AS MATERIALIZED (
	SELECT i.user_id, i.conversation_id,
	    max(CASE WHEN i.kind = EVENT_MESSAGE THEN i.conversation_seq END),
	    max(CASE WHEN i.kind = EVENT_MESSAGE AND i.seq <= h.acked
		THEN i.conversation_seq END),
	    max(CASE WHEN i.kind = EVENT_MESSAGE AND i.seq <= b.read_seq
		THEN i.conversation_seq END),
	    max(CASE WHEN i.kind = EVENT_MESSAGE
		AND i.conversation_seq <= p.read_upto
		AND coalesce(o.requeues, 0) = 0 THEN i.conversation_seq END),
	    max(CASE WHEN i.kind = EVENT_OWN_READ THEN i.conversation_seq END)
	FROM inbox i JOIN inboxes b ON b.user_id = i.user_id
	JOIN participants p ON p.conversation_id = i.conversation_id
	    AND p.user_id = i.user_id
	LEFT JOIN had h ON h.user_id = i.user_id
	LEFT JOIN outbox o ON o.id = i.outbox_id
	WHERE (i.kind = EVENT_MESSAGE AND i.own = 0) OR i.kind = EVENT_OWN_READ
	GROUP BY i.user_id, i.conversation_id
), gave (user_id, conversation_id, delivered, shown) AS MATERIALIZED (
	SELECT user_id, conversation_id,
	    max(CASE WHEN kind = EVENT_DELIVERED THEN conversation_seq END),
	    max(CASE WHEN kind = EVENT_READ THEN conversation_seq END)
	FROM (SELECT actor_id AS user_id, conversation_id, kind,
		conversation_seq FROM inbox
	    WHERE kind = EVENT_DELIVERED OR kind = EVENT_READ
	    UNION ALL
	    SELECT sender_id, conversation_id, kind, conversation_seq
	    FROM outbox
	    WHERE kind = EVENT_DELIVERED OR kind = EVENT_READ) AS receipts
	GROUP BY user_id, conversation_id)
SELECT 'user ' || user_id || ' in conversation ' || conversation_id || ': ' ||
    wrong AS place
FROM (SELECT p.user_id, p.conversation_id, CASE
    WHEN p.read_upto > p.delivered_upto OR p.read_upto < 0
	OR (p.read_upto = 0) <> (p.read_at IS NULL) THEN 'read mark'
    WHEN p.shown_upto > p.read_upto OR p.shown_upto < 0
	OR (p.shown_upto = 0) <> (p.shown_at IS NULL)
	OR (p.shown_upto = p.read_upto AND p.shown_at IS NOT p.read_at)
	THEN 'shown mark'
    WHEN p.acked_upto > p.delivered_upto OR p.acked_upto < p.shown_upto
	OR (p.acked_upto = 0) <> (p.acked_at IS NULL) THEN 'acked mark'
    WHEN c.kind = 'direct' AND (p.role <> 'member' OR p.joined_seq <> 1
	OR p.left_seq IS NOT NULL) THEN 'membership'
    WHEN b.trimmed = 0 AND p.delivered_upto <> coalesce(t.delivered, 0)
	THEN 'delivered mark'
    WHEN b.trimmed = 0 AND p.acked_upto <>
	max(coalesce(t.acked, 0), p.shown_upto) THEN 'acked mark'
    WHEN b.trimmed = 0 AND (coalesce(t.said, 0) > p.read_upto
	OR coalesce(t.passed, 0) > coalesce(t.said, 0)
	OR coalesce(t.seen, 0) > p.read_upto) THEN 'read mark'
    WHEN e.trimmed = 0 AND (p.acked_upto <>
	max(coalesce(g.delivered, 0), p.shown_upto)
	OR (p.acked_upto = p.shown_upto AND p.acked_at IS NOT p.shown_at
	AND coalesce(g.delivered, 0) < p.acked_upto)) THEN 'acked mark'
    WHEN e.trimmed = 0 AND coalesce(g.shown, 0) > p.shown_upto
	THEN 'shown mark'
    END AS wrong
    FROM participants p
    JOIN conversations c ON c.conversation_id = p.conversation_id
    LEFT JOIN inboxes b ON b.user_id = p.user_id
    LEFT JOIN participants q ON q.conversation_id = p.conversation_id
	AND q.user_id <> p.user_id
    LEFT JOIN inboxes e ON e.user_id = q.user_id
    LEFT JOIN got t ON t.user_id = p.user_id
	AND t.conversation_id = p.conversation_id
    LEFT JOIN gave g ON g.user_id = p.user_id
	AND g.conversation_id = p.conversation_id) AS marks
WHERE wrong IS NOT NULL
UNION ALL
SELECT 'conversation ' || conversation_id || ': members'
FROM (SELECT c.conversation_id, c.direct_key, min(u.name) || ' ' || max(u.name)
	AS names, count(*) AS n
    FROM conversations c
    JOIN participants p ON p.conversation_id = c.conversation_id
    JOIN users u ON u.user_id = p.user_id
    WHERE c.kind = 'direct' GROUP BY c.conversation_id, c.direct_key) AS direct
WHERE names <> direct_key OR n > 2
LIMIT $limit;
