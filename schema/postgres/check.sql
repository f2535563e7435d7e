-- SPDX-License-Identifier: MIT
-- The checks of fsck (upkeep/check.c).  Each statement returns up to $limit
-- places that violate an invariant.  The statements read whole tables, which is
-- acceptable because fsck runs only on request.

-- Reports damage that PostgreSQL knows about: invalid indexes and pages with
-- wrong checksums.
-- name: check_file(limit)
-- columns: as place
SELECT place FROM (
	SELECT 'index ' || c.relname || ' is not valid' AS place
	FROM pg_index x JOIN pg_class c ON c.oid = x.indexrelid
	WHERE c.relnamespace = current_schema()::regnamespace
	    AND NOT (x.indisvalid AND x.indisready)
	UNION ALL
	SELECT 'pages whose checksum was wrong: ' || d.checksum_failures
	FROM pg_stat_database d
	WHERE d.datname = current_database() AND d.checksum_failures > 0
) AS places LIMIT $limit;

-- Lists the objects of the schema with their definitions, ordered by name.  NOT
-- NULL is part of the definition of its column.  PostgreSQL 18 also has a
-- constraint for it, which is left out, so that all versions return the same
-- rows.
-- name: check_schema
-- columns: as schema_object
SELECT object, definition FROM (
	SELECT CASE c.relkind WHEN 'r' THEN 'table ' WHEN 'S' THEN 'sequence '
	    WHEN 'v' THEN 'view ' WHEN 'm' THEN 'view ' ELSE 'relation ' END ||
	    c.relname AS object,
	    CASE c.relpersistence WHEN 'p' THEN '' ELSE 'not kept' END ||
	    CASE WHEN c.relrowsecurity THEN 'row security' ELSE '' END
	    AS definition
	FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace
	    AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f')
	UNION ALL
	SELECT 'column ' || c.relname || '.' || a.attname,
	    format_type(a.atttypid, a.atttypmod) ||
	    CASE WHEN a.attnotnull THEN ' not null' ELSE '' END ||
	    CASE WHEN l.collname <> 'default' THEN ' collate ' || l.collname
		ELSE '' END ||
	    coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '') ||
	    CASE a.attidentity WHEN '' THEN '' ELSE ' identity' END
	FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
	LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
	LEFT JOIN pg_collation l ON l.oid = a.attcollation
	WHERE c.relnamespace = current_schema()::regnamespace
	    AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
	UNION ALL
	SELECT 'constraint ' || k.conname || ' of ' || c.relname,
	    pg_get_constraintdef(k.oid)
	FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
	WHERE c.relnamespace = current_schema()::regnamespace
	    AND k.contype <> 'n'
	UNION ALL
	SELECT 'index ' || i.relname || ' of ' || c.relname,
	    CASE WHEN x.indisunique THEN 'unique ' ELSE '' END || '(' ||
	    (SELECT string_agg(pg_get_indexdef(x.indexrelid, n, true) ||
		CASE x.indoption[n - 1] & 1 WHEN 1 THEN ' DESC' ELSE '' END,
		', ' ORDER BY n) FROM generate_series(1, x.indnatts) AS n) ||
	    ')' || coalesce(' where ' || pg_get_expr(x.indpred, x.indrelid), '')
	FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid
	JOIN pg_class c ON c.oid = x.indrelid
	WHERE c.relnamespace = current_schema()::regnamespace
	UNION ALL
	SELECT 'trigger ' || t.tgname || ' of ' || c.relname,
	    pg_get_triggerdef(t.oid, true) ||
	    CASE t.tgenabled WHEN 'O' THEN '' ELSE ' (not enabled)' END
	FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
	WHERE c.relnamespace = current_schema()::regnamespace
	    AND NOT t.tgisinternal
	UNION ALL
	SELECT 'rule ' || r.rulename || ' of ' || c.relname, ''
	FROM pg_rewrite r JOIN pg_class c ON c.oid = r.ev_class
	WHERE c.relnamespace = current_schema()::regnamespace
	    AND c.relkind IN ('r', 'p')
	UNION ALL
	SELECT 'function ' || p.proname, md5(p.prosrc) FROM pg_proc p
	WHERE p.pronamespace = current_schema()::regnamespace
	    AND starts_with(p.proname, 'twinbox_')
) AS objects ORDER BY object COLLATE "C", definition COLLATE "C";

-- Finds messages without an outbox row.  Such a message is correct only if its
-- row may have been purged: it is not beyond the purge mark, and all members
-- have acked it (upkeep/purge_rows.h).  Messages from other servers never have
-- an outbox row here.
-- name: check_no_outbox(limit)
-- columns: as place
SELECT 'message ' || m.mid AS place FROM messages m
JOIN users u ON u.user_id = m.sender_id
WHERE u.destination_id IS NULL
AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.event_id = m.event_id)
AND (m.conversation_seq IS NULL
    OR m.mid > coalesce((SELECT CAST(t.value AS BIGINT) FROM meta t
	WHERE t.key = 'purge_mark'), 0)
    OR EXISTS (SELECT 1 FROM participants p
	WHERE p.conversation_id = m.conversation_id
	AND p.user_id <> m.sender_id AND p.acked_upto < m.conversation_seq))
LIMIT $limit;

-- name: check_inbox_hole(limit)
-- columns: as place
SELECT place FROM (
	SELECT 'user ' || i.user_id || ': ' || count(*) || ' events from ' ||
	    min(i.seq) || ' to ' || max(i.seq) || ', trimmed up to ' ||
	    min(b.trimmed) AS place
	FROM inbox i JOIN inboxes b ON b.user_id = i.user_id
	GROUP BY i.user_id
	HAVING max(i.seq) <> count(*) + min(b.trimmed)
	    OR min(i.seq) <> min(b.trimmed) + 1
	UNION ALL
	SELECT 'user ' || b.user_id || ': the inbox ends at ' ||
	    coalesce(e.seq, b.trimmed) || ', its counter is ' || b.head
	FROM inboxes b LEFT JOIN (SELECT i.user_id, max(i.seq) AS seq
	    FROM inbox i GROUP BY i.user_id) e ON e.user_id = b.user_id
	WHERE b.head <> coalesce(e.seq, b.trimmed)
) AS places LIMIT $limit;

-- name: check_conversation_hole(limit)
-- columns: as place
SELECT place FROM (
	SELECT 'conversation ' || conversation_id || ': ' || count(*) ||
	    ' messages from ' || min(conversation_seq) || ' to ' ||
	    max(conversation_seq) AS place
	FROM messages WHERE conversation_seq IS NOT NULL
	GROUP BY conversation_id
	HAVING max(conversation_seq) <> count(*) OR min(conversation_seq) <> 1
	UNION ALL
	SELECT 'conversation ' || c.conversation_id ||
	    ': does not end with message ' || c.last_seq || ', its counter'
	FROM conversations c LEFT JOIN messages m
	    ON m.conversation_id = c.conversation_id
	    AND m.conversation_seq = c.last_seq
	WHERE m.digest IS DISTINCT FROM c.last_digest
	    OR EXISTS (SELECT 1 FROM messages n
		WHERE n.conversation_id = c.conversation_id
		AND n.conversation_seq > c.last_seq)
) AS places LIMIT $limit;

-- Compares rows with the cursor of their lane.  In a lane to another server, a
-- row beyond the cursor may be sent or acked, because the destination may
-- accept a row while an earlier one still waits.  A row up to acked_seq was
-- acked by its recipient, so it must not be in state sent.
-- name: check_lane(limit)
-- columns: as place
SELECT 'outbox row ' || o.id || ' (' || o.state || ') has place ' ||
    o.lane_seq || ' in lane ' || o.lane_id || ', which is at ' ||
    l.next_seq || CASE WHEN l.acked_seq > 0
	THEN ' and acked up to ' || l.acked_seq ELSE '' END AS place
FROM outbox o JOIN outbox_lanes l ON l.lane_id = o.lane_id
WHERE o.lane_seq IS NOT NULL AND (
    ((o.state = 'pending' OR o.state = 'sending'
	OR o.ack_deadline IS NOT NULL) AND o.lane_seq < l.next_seq)
    OR (l.state = 'local' AND (o.state = 'sent' OR o.state = 'acked')
	AND o.lane_seq >= l.next_seq)
    OR o.lane_seq > l.tail_seq
    OR (o.state = 'sent' AND o.ack_deadline IS NULL
	AND o.lane_seq <= l.acked_seq))
LIMIT $limit;

-- Checks that the columns of a row agree with its state.  A row to an inbox
-- here has one attempt: its delivery.  last_status_at is the time of the last
-- step.  For a peer that has answered "later" this is the time of its final
-- answer, which is after sent_at.  A row to another server may have an acked_at
-- before it is sent here, because the receipt may arrive first.
-- name: check_state(limit)
-- columns: as place
SELECT 'outbox row ' || id || ' is ' || state || ', sent at ' ||
    coalesce(CAST(sent_at AS TEXT), 'no time') || ', acked at ' ||
    coalesce(CAST(acked_at AS TEXT), 'no time') || ', because of ' ||
    coalesce(reason, 'nothing') AS place
FROM outbox
WHERE (state = 'sent' AND (sent_at IS NULL OR (acked_at IS NOT NULL
	AND ack_deadline IS NULL)))
    OR (state = 'acked' AND (acked_at IS NULL OR sent_at IS NULL
	OR last_status_at <> acked_at))
    OR (state <> 'sent' AND state <> 'acked'
	AND (sent_at IS NOT NULL OR (acked_at IS NOT NULL
	    AND dest_kind <> 'server')))
    OR (reason IS NOT NULL) <> (state = 'failed' OR state = 'expired'
	OR kind = EVENT_BOUNCE)
    OR (kind <> EVENT_BOUNCE AND (reason = 'expired') <> (state = 'expired'))
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
	OR (lane_id IS NOT NULL AND last_attempt_at IS DISTINCT FROM sent_at)
	OR (state = 'sent' AND last_status_at <> sent_at)))
    OR (last_error IS NOT NULL AND attempts = 0 AND requeues = 0
	AND (state = 'pending' OR state = 'canceled'))
    OR (ack_deadline IS NOT NULL AND last_status_at <> sent_at)
    OR (lane_id IS NULL AND (sent_at <> created_at OR acked_at <> created_at
	OR event_time <> created_at))
LIMIT $limit;

-- name: check_totals(limit)
-- columns: as place
SELECT 'messages that are ' || counted.state || ': ' || counted.n ||
    ', but the totals say ' || counted.said AS place
FROM (
	SELECT 'pending' AS state, (SELECT count(*) FROM outbox
	    WHERE kind = EVENT_MESSAGE
	    AND state = 'pending' AND lane_seq IS NOT NULL) AS n,
	    coalesce(sum(pending), 0) AS said FROM outbox_totals
	UNION ALL
	SELECT 'scheduled', (SELECT count(*) FROM outbox
	    WHERE kind = EVENT_MESSAGE
	    AND state = 'pending' AND lane_seq IS NULL),
	    coalesce(sum(scheduled), 0) FROM outbox_totals
	UNION ALL
	SELECT 'sending', (SELECT count(*) FROM outbox
	    WHERE kind = EVENT_MESSAGE
	    AND state = 'sending'), coalesce(sum(sending), 0)
	FROM outbox_totals
	UNION ALL
	SELECT 'sent', (SELECT count(*) FROM outbox WHERE kind = EVENT_MESSAGE
	    AND state = 'sent'), coalesce(sum(sent), 0) FROM outbox_totals
	UNION ALL
	SELECT 'failed', (SELECT count(*) FROM outbox WHERE kind = EVENT_MESSAGE
	    AND state = 'failed'), coalesce(sum(failed), 0)
	FROM outbox_totals
	UNION ALL
	SELECT 'expired', (SELECT count(*) FROM outbox
	    WHERE kind = EVENT_MESSAGE
	    AND state = 'expired'), coalesce(sum(expired), 0)
	FROM outbox_totals
	UNION ALL
	SELECT 'canceled', (SELECT count(*) FROM outbox
	    WHERE kind = EVENT_MESSAGE
	    AND state = 'canceled'), coalesce(sum(canceled), 0)
	FROM outbox_totals
) AS counted
WHERE counted.n <> counted.said
LIMIT $limit;

-- name: check_mark(limit)
-- columns: as place
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
	SELECT 'user ' || b.user_id || ' has acked ' || h.acked ||
	    ', his counter is ' || b.acked
	FROM inboxes b CROSS JOIN LATERAL (
	    SELECT coalesce(max(d.acked_seq), 0) AS acked FROM devices d
	    WHERE d.user_id = b.user_id) h
	WHERE b.acked <> h.acked
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
	WHERE o.state = 'acked' AND o.kind = EVENT_MESSAGE
	    AND o.lane_id IS NOT NULL
	AND o.dest_id <> o.sender_id
	AND (o.dest_kind = 'user' OR o.requeues = 0)
	AND o.conversation_seq > p.acked_upto
) AS places LIMIT $limit;
