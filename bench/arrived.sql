-- SPDX-License-Identifier: MIT
-- Compares the messages of this database to people at :domain with the inboxes
-- of the database "there": missing ones, surplus ones, and their order.  The
-- times, in milliseconds, are those of messages accepted at :since or later.
-- Both servers have stopped.  bench/bench-federation.js runs this with the
-- sqlite3 tool.
CREATE TEMP TABLE sent AS
SELECT o.lane_id, o.lane_seq, o.last_attempt_at, m.message_id, m.created_at,
    u.name AS recipient
FROM outbox o JOIN messages m ON m.mid = o.mid
    JOIN users u ON u.user_id = o.dest_id
WHERE o.kind = 1 AND o.dest_kind = 'server' AND u.name LIKE '%@' || :domain;

CREATE TEMP TABLE arrived AS
SELECT m.message_id, i.seq, i.delivered_at, u.name || '@' || :domain AS recipient
FROM there.inbox i JOIN there.messages m ON m.mid = i.mid
    JOIN there.users u ON u.user_id = i.user_id
WHERE i.kind = 1 AND i.own = 0;

CREATE INDEX temp.arrived_id ON arrived (message_id);

-- One row for each arrival, with the lane_seq of the arrival before it in its
-- lane.
CREATE TEMP TABLE met AS
SELECT s.lane_seq, s.last_attempt_at, s.created_at, a.message_id,
    a.delivered_at,
    lag(s.lane_seq, 1, 0) OVER (PARTITION BY s.lane_id ORDER BY a.seq)
        AS previous_seq
FROM sent s JOIN arrived a
    ON a.message_id = s.message_id AND a.recipient = s.recipient;

CREATE TEMP TABLE timed AS
SELECT created_at, last_attempt_at, delivered_at,
    row_number() OVER (ORDER BY delivered_at) AS place,
    count(*) OVER () AS messages
FROM met WHERE created_at >= :since;

SELECT (SELECT count(*) FROM sent) AS sent,
    (SELECT count(*) FROM sent) -
        (SELECT count(DISTINCT message_id) FROM met) AS missing,
    (SELECT count(*) FROM arrived) -
        (SELECT count(DISTINCT message_id) FROM met) AS surplus,
    (SELECT count(*) FROM met WHERE lane_seq <= previous_seq) AS out_of_order,
    max(messages) AS messages,
    min(created_at) AS sent_ms,
    min(last_attempt_at) FILTER (WHERE place = 1) AS tried_ms,
    min(delivered_at) AS first_ms,
    min(delivered_at) FILTER (WHERE place > messages / 2) AS middle_ms,
    max(delivered_at) AS last_ms
FROM timed;
