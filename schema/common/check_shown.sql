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

-- The numbers of the receipts of one kind that a member gives in a conversation
-- only increase.  The transaction of a public read also adds an event
-- (EVENT_OWN_READ) to the reader's own inbox.
-- name: check_receipt(limit)
-- columns: as place
WITH reads (user_id, conversation_id, number, at) AS MATERIALIZED (
	SELECT user_id, conversation_id, conversation_seq, event_time
	FROM inbox WHERE kind = EVENT_OWN_READ)
SELECT place FROM (
	SELECT 'event ' || seq || ' of user ' || user_id || ': number ' ||
	    conversation_seq || ' after ' || before AS place
	FROM (SELECT user_id, seq, conversation_seq,
		lag(conversation_seq) OVER (PARTITION BY user_id, actor_id,
		    conversation_id, kind ORDER BY seq) AS before
	    FROM inbox
	    WHERE kind = EVENT_DELIVERED OR kind = EVENT_READ) AS receipts
	WHERE conversation_seq <= before
	UNION ALL
	SELECT 'event ' || i.seq || ' of user ' || i.user_id ||
	    ': not in the inbox of user ' || i.actor_id
	FROM inbox i JOIN inboxes b ON b.user_id = i.actor_id AND b.trimmed = 0
	LEFT JOIN reads r ON r.user_id = i.actor_id
	    AND r.conversation_id = i.conversation_id
	    AND r.number = i.conversation_seq AND r.at = i.event_time
	WHERE i.kind = EVENT_READ AND r.user_id IS NULL
) AS places LIMIT $limit;

-- Compares an outbox row with its lane and with the neighbouring rows of that
-- lane.  Rows that ended without being sent are left out of the second part,
-- because their places may be given again after a restart.
-- name: check_row_lane(limit)
-- columns: as place
SELECT place FROM (
	SELECT 'outbox row ' || id || ': ' || wrong AS place
	FROM (SELECT o.id, CASE
	    WHEN (o.dest_kind = 'user') <> (u.destination_id IS NULL)
		THEN 'kind of destination'
	    WHEN o.lane_id IS NULL THEN CASE
		WHEN o.kind = EVENT_DELIVERED OR o.kind = EVENT_READ THEN 'lane'
		WHEN o.state <> 'acked' THEN 'state'
		WHEN o.sender_id <> o.dest_id THEN 'destination' END
	    WHEN o.kind = EVENT_OWN_READ OR o.kind = EVENT_BOUNCE
		OR (o.sender_id = o.dest_id AND o.deliver_at IS NULL)
		THEN 'lane'
	    WHEN l.conversation_id <> o.conversation_id
		OR l.dest_kind <> o.dest_kind OR l.dest_id <> o.dest_id
		OR (l.class = 1)
		<> (o.kind = EVENT_DELIVERED OR o.kind = EVENT_READ) THEN 'lane'
	    WHEN (o.lane_seq IS NULL) <> (o.conversation_seq IS NULL)
		THEN 'place'
	    END AS wrong
	    FROM outbox o JOIN users u ON u.user_id = o.dest_id
	    LEFT JOIN outbox_lanes l ON l.lane_id = o.lane_id) AS out
	WHERE wrong IS NOT NULL
	UNION ALL
	SELECT 'outbox row ' || id || ': place ' || lane_seq || ' in lane ' ||
	    lane_id || ' after ' || before
	FROM (SELECT id, lane_id, lane_seq, conversation_seq, kind,
		lag(lane_seq) OVER lane AS before,
		lag(conversation_seq) OVER lane AS number
	    FROM outbox WHERE lane_seq IS NOT NULL AND requeues = 0
		AND (state = 'pending' OR state = 'sending' OR state = 'sent'
		OR state = 'acked')
	    WINDOW lane AS (PARTITION BY lane_id ORDER BY lane_seq, id)) AS out
	WHERE lane_seq = before
	    OR (kind = EVENT_MESSAGE AND conversation_seq <= number)
) AS places LIMIT $limit;
