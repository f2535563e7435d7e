-- SPDX-License-Identifier: MIT
-- What must not be (upkeep/check.c).  Each statement names up to $1 places where
-- it is.  They read whole tables: fsck runs when somebody asks for it.

-- name: check_file
SELECT integrity_check FROM pragma_integrity_check
WHERE integrity_check <> 'ok' LIMIT $1;

-- The schema: every object with what makes it, by name.  ANALYZE, which harms
-- nothing, makes tables of its own.
-- name: check_schema
SELECT type || ' ' || name || CASE WHEN type = 'index' OR type = 'trigger'
    THEN ' of ' || tbl_name ELSE '' END, coalesce(sql, '')
FROM sqlite_schema WHERE substr(name, 1, 11) <> 'sqlite_stat'
ORDER BY 1;

-- The same of a fresh database (db_fresh).
-- name: check_schema_fresh
SELECT type || ' ' || name || CASE WHEN type = 'index' OR type = 'trigger'
    THEN ' of ' || tbl_name ELSE '' END, coalesce(sql, '')
FROM sqlite_schema WHERE substr(name, 1, 11) <> 'sqlite_stat'
ORDER BY 1;

-- name: check_reference
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
) AS places LIMIT $1;

-- Rows of what all its people have are purged, up to the mark and no further
-- (upkeep/purge_rows.h).  What came from another server has none.
-- name: check_no_outbox
SELECT 'message ' || m.mid FROM messages m
JOIN users u ON u.user_id = m.sender_id
WHERE u.destination_id IS NULL
AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.event_id = m.event_id)
AND (m.conversation_seq IS NULL
    OR m.mid > coalesce((SELECT CAST(t.value AS INTEGER) FROM meta t
	WHERE t.key = 'purge_mark'), 0)
    OR EXISTS (SELECT 1 FROM participants p
	WHERE p.conversation_id = m.conversation_id
	AND p.user_id <> m.sender_id AND p.acked_upto < m.conversation_seq))
LIMIT $1;

-- name: check_no_own_copy
SELECT 'message ' || m.mid || ' of user ' || m.sender_id FROM messages m
WHERE m.conversation_seq IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM inbox i WHERE i.event_id = m.event_id
    AND i.user_id = m.sender_id AND i.origin = 0 AND i.kind = 1 AND i.own = 1)
LIMIT $1;

-- name: check_not_delivered
SELECT 'outbox row ' || o.id || ' to user ' || o.dest_id FROM outbox o
WHERE (o.state = 'sent' OR o.state = 'acked') AND o.dest_kind = 'user'
AND NOT EXISTS (SELECT 1 FROM inbox i
    WHERE i.event_id = o.event_id AND i.user_id = o.dest_id
    AND i.origin = 0 AND i.kind = o.kind)
LIMIT $1;

-- name: check_still_owed
SELECT 'outbox row ' || o.id || ' to user ' || o.dest_id
FROM outbox o JOIN inbox i ON i.event_id = o.event_id
    AND i.user_id = o.dest_id AND i.origin = 0
WHERE o.state = 'pending' AND o.dest_kind = 'user' AND o.lane_id IS NOT NULL
LIMIT $1;

-- name: check_twice
SELECT 'message ' || mid || ' to user ' || user_id FROM inbox WHERE kind = 1
GROUP BY user_id, mid HAVING count(*) > 1
LIMIT $1;

-- name: check_inbox_hole
SELECT 'user ' || i.user_id || ': ' || count(*) || ' events from ' ||
    min(i.seq) || ' to ' || max(i.seq) || ', trimmed up to ' || min(b.trimmed)
FROM inbox i JOIN inboxes b ON b.user_id = i.user_id
GROUP BY i.user_id
HAVING max(i.seq) <> count(*) + min(b.trimmed)
    OR min(i.seq) <> min(b.trimmed) + 1
LIMIT $1;

-- name: check_conversation_hole
SELECT 'conversation ' || conversation_id || ': ' || count(*) ||
    ' messages from ' || min(conversation_seq) || ' to ' ||
    max(conversation_seq)
FROM messages WHERE conversation_seq IS NOT NULL
GROUP BY conversation_id
HAVING max(conversation_seq) <> count(*) OR min(conversation_seq) <> 1
LIMIT $1;

-- name: check_order
SELECT 'event ' || seq || ' of user ' || user_id || ': message ' ||
    conversation_seq || ' of conversation ' || conversation_id || ' after ' ||
    before
FROM (SELECT i.user_id, i.seq, i.conversation_id, i.conversation_seq,
	lag(i.conversation_seq) OVER (
	    PARTITION BY i.user_id, i.conversation_id, i.actor_id ORDER BY i.seq
	) AS before
    FROM inbox i LEFT JOIN outbox o ON o.id = i.outbox_id
    WHERE i.kind = 1 AND coalesce(o.requeues, 0) = 0) AS pairs
WHERE conversation_seq <= before
LIMIT $1;

-- A remote lane may have rows beyond its cursor that its destination took
-- although one before them waits.
-- name: check_lane
SELECT 'outbox row ' || o.id || ' (' || o.state || ') has place ' ||
    o.lane_seq || ' in lane ' || o.lane_id || ', which is at ' || l.next_seq
FROM outbox o JOIN outbox_lanes l ON l.lane_id = o.lane_id
WHERE o.lane_seq IS NOT NULL AND (
    ((o.state = 'pending' OR o.state = 'sending'
	OR o.ack_deadline IS NOT NULL) AND o.lane_seq < l.next_seq)
    OR (l.state = 'local' AND (o.state = 'sent' OR o.state = 'acked')
	AND o.lane_seq >= l.next_seq)
    OR (l.state <> 'local' AND o.lane_seq > l.tail_seq))
LIMIT $1;

-- What nobody would ever look for: a row that waits in a lane that is idle, or
-- is on its way without a lease.
-- name: check_forgotten
SELECT 'outbox row ' || o.id || ' is ' || o.state || ', its lane ' ||
    o.lane_id || ' is ' || l.state
FROM outbox o JOIN outbox_lanes l ON l.lane_id = o.lane_id
WHERE o.lane_seq IS NOT NULL AND o.dest_kind = 'server' AND (
    (o.state = 'pending' AND l.state = 'idle')
    OR (o.state = 'sending' AND l.state <> 'leased'))
LIMIT $1;

-- A lane to another server is as urgent as the most urgent of what waits in it
-- (one that is leased is weighed when its lease ends).
-- name: check_urgency
SELECT 'lane ' || w.lane_id || ' has priority ' || w.priority ||
    ', the highest in it is ' || w.highest
FROM (SELECT l.lane_id, l.priority, coalesce((SELECT max(o.priority)
	FROM outbox o WHERE o.lane_id = l.lane_id AND o.dest_kind = 'server'
	AND o.state = 'pending' AND o.lane_seq IS NOT NULL), -1) AS highest
    FROM outbox_lanes l WHERE l.state = 'ready') AS w
WHERE w.priority <> w.highest
LIMIT $1;

-- A row of ours is attempted once, when it is delivered.  The time of the last
-- state is that of the last step.  A peer that answers later moves it on.
-- name: check_state
SELECT 'outbox row ' || id || ' is ' || state || ', sent at ' ||
    coalesce(CAST(sent_at AS TEXT), 'no time') || ', acked at ' ||
    coalesce(CAST(acked_at AS TEXT), 'no time') || ', because of ' ||
    coalesce(reason, 'nothing')
FROM outbox
WHERE (state = 'sent' AND (sent_at IS NULL OR acked_at IS NOT NULL))
    OR (state = 'acked' AND (acked_at IS NULL OR sent_at IS NULL
	OR last_status_at <> acked_at))
    OR (state <> 'sent' AND state <> 'acked'
	AND (sent_at IS NOT NULL OR acked_at IS NOT NULL))
    OR (reason IS NOT NULL) <> (state = 'failed' OR state = 'expired'
	OR kind = 5)
    OR (kind <> 5 AND (reason = 'expired') <> (state = 'expired'))
    OR (state = 'expired' AND (expires_at IS NULL
	OR expires_at > last_status_at))
    OR (state = 'sending' AND (attempts = 0 OR dest_kind = 'user'))
    OR (attempts = 0) <> (last_attempt_at IS NULL)
    OR retry_count < 0 OR retry_count > attempts
    OR rescue_count < 0 OR rescue_count > attempts
    OR (next_retry_at IS NOT NULL AND state <> 'pending' AND state <> 'sending'
	AND state <> 'canceled')
    OR (ack_deadline IS NOT NULL AND state <> 'sent')
    OR (last_error IS NOT NULL AND (state = 'sent' OR state = 'acked'))
    OR (dest_kind = 'user' AND (next_retry_at IS NOT NULL
	OR retry_count <> 0 OR rescue_count <> 0 OR ack_deadline IS NOT NULL
	OR attempts <> CASE WHEN sent_at IS NULL OR lane_id IS NULL
	    THEN 0 ELSE 1 END
	OR (lane_id IS NOT NULL AND last_attempt_at IS NOT sent_at)
	OR (state = 'sent' AND last_status_at <> sent_at)))
    OR (last_error IS NOT NULL AND attempts = 0 AND requeues = 0
	AND (state = 'pending' OR state = 'canceled'))
    OR (ack_deadline IS NOT NULL AND last_status_at <> sent_at)
    OR (lane_id IS NULL AND (sent_at <> created_at OR acked_at <> created_at
	OR event_time <> created_at))
LIMIT $1;

-- What has ended badly is told to its sender, and is on the operator's table
-- until somebody deals with it.
-- name: check_dead
WITH bounced (user_id, mid) AS MATERIALIZED (
	SELECT DISTINCT i.user_id, i.mid FROM inbox i WHERE i.kind = 5)
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
) AS places LIMIT $1;

-- name: check_totals
SELECT 'messages that are ' || counted.state || ': ' || counted.n ||
    ', but the totals say ' || counted.said
FROM (
	SELECT 'pending' AS state, (SELECT count(*) FROM outbox WHERE kind = 1
	    AND state = 'pending' AND lane_seq IS NOT NULL) AS n,
	    pending AS said FROM outbox_totals
	UNION ALL
	SELECT 'scheduled', (SELECT count(*) FROM outbox WHERE kind = 1
	    AND state = 'pending' AND lane_seq IS NULL), scheduled
	FROM outbox_totals
	UNION ALL
	SELECT 'sending', (SELECT count(*) FROM outbox WHERE kind = 1
	    AND state = 'sending'), sending FROM outbox_totals
	UNION ALL
	SELECT 'sent', (SELECT count(*) FROM outbox WHERE kind = 1
	    AND state = 'sent'), sent FROM outbox_totals
	UNION ALL
	SELECT 'failed', (SELECT count(*) FROM outbox WHERE kind = 1
	    AND state = 'failed'), failed FROM outbox_totals
	UNION ALL
	SELECT 'expired', (SELECT count(*) FROM outbox WHERE kind = 1
	    AND state = 'expired'), expired FROM outbox_totals
	UNION ALL
	SELECT 'canceled', (SELECT count(*) FROM outbox WHERE kind = 1
	    AND state = 'canceled'), canceled FROM outbox_totals
) AS counted
WHERE counted.n <> counted.said
LIMIT $1;

-- name: check_mark
SELECT place FROM (
	SELECT 'device ' || d.device_id || ' has acked ' || d.acked_seq ||
	    ', the inbox of user ' || d.user_id || ' ends before' AS place
	FROM devices d JOIN inboxes b ON b.user_id = d.user_id
	WHERE d.acked_seq > coalesce((SELECT max(i.seq) FROM inbox i
	    WHERE i.user_id = d.user_id), b.trimmed)
	UNION ALL
	SELECT 'user ' || b.user_id || ' has read ' || b.read_seq ||
	    ', his inbox ends before'
	FROM inboxes b
	WHERE b.read_seq > coalesce((SELECT max(i.seq) FROM inbox i
	    WHERE i.user_id = b.user_id), b.trimmed)
	UNION ALL
	SELECT 'user ' || b.user_id || ' has read ' || b.read_seq ||
	    ', none of the devices has acked it'
	FROM inboxes b
	WHERE b.read_seq > coalesce((SELECT max(d.acked_seq) FROM devices d
	    WHERE d.user_id = b.user_id), 0)
	UNION ALL
	SELECT 'user ' || p.user_id || ' has marks beyond the end of conversation '
	    || p.conversation_id
	FROM participants p
	WHERE (p.delivered_upto > 0 OR p.acked_upto > 0 OR p.read_upto > 0)
	AND NOT EXISTS (SELECT 1 FROM messages m
	    WHERE m.conversation_id = p.conversation_id
	    AND m.conversation_seq >= p.delivered_upto
	    AND m.conversation_seq >= p.acked_upto
	    AND m.conversation_seq >= p.read_upto)
	UNION ALL
	SELECT 'outbox row ' || o.id || ' is acked, user ' || o.dest_id ||
	    ' is at ' || p.acked_upto || ' of conversation ' || o.conversation_id
	FROM outbox o JOIN participants p
	    ON p.conversation_id = o.conversation_id AND p.user_id = o.dest_id
	WHERE o.state = 'acked' AND o.kind = 1 AND o.lane_id IS NOT NULL
	AND o.dest_id <> o.sender_id
	AND o.conversation_seq > p.acked_upto
) AS places LIMIT $1;

-- name: check_chain
SELECT m.conversation_id, m.conversation_seq, m.message_id, u.name, m.salt,
    m.body, m.digest
FROM messages m JOIN users u ON u.user_id = m.sender_id
WHERE m.conversation_seq IS NOT NULL
ORDER BY m.conversation_id, m.conversation_seq;

-- name: check_census
SELECT (SELECT count(*) FROM users), (SELECT count(*) FROM messages),
    (SELECT count(*) FROM outbox), (SELECT count(*) FROM inbox);
