-- SPDX-License-Identifier: MIT
-- The lifecycle of outbox rows: destinations with their circuit breakers, lanes
-- with leases, attempts, dead letters, totals, and the audit log of operators.
--
-- Rows for other servers have indexes of their own.  So a message to a local
-- user writes no more pages than before, and a local lane is found without a
-- walk along the backlog of a dead destination.

-- Where messages go.  Destination 0 stands for all destinations and 1 for the
-- inboxes here; both can be paused like any other.  This row is written when
-- the state of the breaker changes, not for each attempt.
CREATE TABLE destinations (
	destination_id INTEGER PRIMARY KEY AUTOINCREMENT,
	name TEXT NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 253),
	breaker TEXT NOT NULL DEFAULT 'closed' CHECK (breaker = 'closed'
	    OR breaker = 'open' OR breaker = 'half_open'),
	failures INTEGER NOT NULL DEFAULT 0 CHECK (failures >= 0),
	successes INTEGER NOT NULL DEFAULT 0 CHECK (successes >= 0),
	interval_ms INTEGER NOT NULL DEFAULT 0 CHECK (interval_ms >= 0),
	next_probe_at INTEGER,
	failing_since INTEGER,
	last_success_at INTEGER,
	last_failure_at INTEGER,
	last_error TEXT CHECK (length(last_error) <= 512),
	paused_at INTEGER,
	paused_by TEXT CHECK (length(paused_by) <= 286),
	pause_reason TEXT CHECK (length(CAST(pause_reason AS BLOB)) <= 512),
	per_second INTEGER NOT NULL DEFAULT 0 CHECK (per_second >= 0),
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
) STRICT;
INSERT INTO destinations (destination_id, name, created_at, updated_at)
VALUES (0, '*', 0, 0), (1, 'local', 0, 0);

-- The server of a user on another server; NULL for users of this server.
ALTER TABLE users ADD COLUMN destination_id INTEGER;

-- The row of a lane to another server holds its state and its tail, so that
-- ready lanes are found by destination, independent of the number of rows that
-- wait in them.  A lane to an inbox here is 'local' for ever; its pending rows
-- are in outbox_pending.  replay_seq: places from here on, below next_seq, are
-- sent again.
ALTER TABLE outbox_lanes ADD COLUMN destination_id INTEGER NOT NULL DEFAULT 1;
ALTER TABLE outbox_lanes ADD COLUMN state TEXT NOT NULL DEFAULT 'local'
    CHECK (state = 'local' OR state = 'idle' OR state = 'ready'
    OR state = 'leased');
ALTER TABLE outbox_lanes ADD COLUMN tail_seq INTEGER NOT NULL DEFAULT 0;
ALTER TABLE outbox_lanes ADD COLUMN replay_seq INTEGER;
CREATE INDEX lanes_ready ON outbox_lanes
    (destination_id, priority DESC, due_at, lane_id) WHERE state = 'ready';
CREATE INDEX lanes_leased ON outbox_lanes (lease_until)
    WHERE state = 'leased';

-- ack_deadline: a peer has answered "later" and owes a final answer until this
-- time.  reason: a word for why the row has failed or expired (model/outbox.h).
-- requeues: how many times an operator gave the row a new place after it had
-- failed or expired.
ALTER TABLE outbox ADD COLUMN ack_deadline INTEGER;
ALTER TABLE outbox ADD COLUMN reason TEXT CHECK (length(reason) <= 32);
ALTER TABLE outbox ADD COLUMN requeues INTEGER NOT NULL DEFAULT 0
    CHECK (requeues >= 0);

DROP INDEX outbox_pending;
CREATE UNIQUE INDEX outbox_pending ON outbox (lane_id, lane_seq)
    WHERE state = 'pending' AND lane_seq IS NOT NULL AND dest_kind = 'user';
-- The rows of lanes to other servers, in all states, until they are purged.
CREATE UNIQUE INDEX outbox_remote ON outbox (lane_id, lane_seq)
    WHERE dest_kind = 'server' AND lane_seq IS NOT NULL;
-- Finds the highest priority of the pending rows in a lane to another server in
-- one step, independent of their number.
CREATE INDEX outbox_urgent ON outbox (lane_id, priority)
    WHERE dest_kind = 'server' AND state = 'pending' AND lane_seq IS NOT NULL;
CREATE INDEX outbox_expiry ON outbox (expires_at)
    WHERE dest_kind = 'server' AND state = 'pending';
CREATE INDEX outbox_sending ON outbox (last_status_at)
    WHERE state = 'sending';
CREATE INDEX outbox_later ON outbox (ack_deadline)
    WHERE ack_deadline IS NOT NULL;
-- For the admin routes: rows that have failed, expired or been canceled, and
-- rows that are being retried.  Both are rare, and a message that is delivered
-- without trouble writes neither index.
CREATE INDEX outbox_ended ON outbox (state, id)
    WHERE state = 'failed' OR state = 'expired' OR state = 'canceled';
CREATE INDEX outbox_retrying ON outbox (retry_count)
    WHERE retry_count > 0 AND (state = 'pending' OR state = 'sending');

-- Attempts over a network.  The row is written before the attempt is made;
-- outcome is NULL until it ends.  A local delivery needs no row here:
-- outbox.attempts and outbox.sent_at record it.
CREATE TABLE outbox_attempts (
	attempt_id INTEGER PRIMARY KEY AUTOINCREMENT,
	outbox_id INTEGER NOT NULL,
	attempt INTEGER NOT NULL CHECK (attempt >= 1),
	destination_id INTEGER NOT NULL,
	owner TEXT NOT NULL,
	started_at INTEGER NOT NULL,
	finished_at INTEGER,
	outcome TEXT CHECK (length(outcome) <= 32),
	status INTEGER,
	error TEXT CHECK (length(error) <= 512)
) STRICT;
CREATE UNIQUE INDEX outbox_attempts_row ON outbox_attempts (outbox_id, attempt);

-- Messages that have failed or expired, until an operator resolves them.  The
-- outbox row keeps its state, because the sender sees it.
CREATE TABLE dead_letter_queue (
	dead_id INTEGER PRIMARY KEY AUTOINCREMENT,
	outbox_id INTEGER NOT NULL,
	mid INTEGER NOT NULL,
	sender_id INTEGER NOT NULL,
	dest_id INTEGER NOT NULL,
	destination_id INTEGER NOT NULL,
	state TEXT NOT NULL CHECK (state = 'failed' OR state = 'expired'),
	reason TEXT NOT NULL CHECK (length(reason) <= 32),
	last_error TEXT CHECK (length(last_error) <= 512),
	attempts INTEGER NOT NULL,
	retry_count INTEGER NOT NULL,
	event_time INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	dead_at INTEGER NOT NULL,
	resolution TEXT CHECK (resolution = 'requeued'
	    OR resolution = 'discarded'),
	resolved_at INTEGER,
	resolved_by TEXT CHECK (length(resolved_by) <= 286),
	CHECK ((resolution IS NULL) = (resolved_at IS NULL))
) STRICT;
CREATE UNIQUE INDEX dead_open ON dead_letter_queue (outbox_id)
    WHERE resolution IS NULL;
CREATE INDEX dead_waiting ON dead_letter_queue (dead_id)
    WHERE resolution IS NULL;
CREATE INDEX dead_of_row ON dead_letter_queue (outbox_id);
CREATE INDEX dead_resolved ON dead_letter_queue (resolved_at)
    WHERE resolution IS NOT NULL;

-- How many messages (not receipts) are in each state, and counters of what has
-- ever happened to them: one row, written once in each transaction.  Purging
-- changes none of these values.
CREATE TABLE outbox_totals (
	one INTEGER PRIMARY KEY CHECK (one = 1),
	pending INTEGER NOT NULL DEFAULT 0,
	sending INTEGER NOT NULL DEFAULT 0,
	sent INTEGER NOT NULL DEFAULT 0,
	failed INTEGER NOT NULL DEFAULT 0,
	expired INTEGER NOT NULL DEFAULT 0,
	canceled INTEGER NOT NULL DEFAULT 0,
	scheduled INTEGER NOT NULL DEFAULT 0,
	accepted_total INTEGER NOT NULL DEFAULT 0,
	sent_total INTEGER NOT NULL DEFAULT 0,
	acked_total INTEGER NOT NULL DEFAULT 0,
	retries_total INTEGER NOT NULL DEFAULT 0,
	failed_total INTEGER NOT NULL DEFAULT 0,
	expired_total INTEGER NOT NULL DEFAULT 0,
	canceled_total INTEGER NOT NULL DEFAULT 0,
	requeued_total INTEGER NOT NULL DEFAULT 0,
	rescues_total INTEGER NOT NULL DEFAULT 0,
	fenced_total INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO outbox_totals (one, pending, scheduled, sent, canceled,
    accepted_total, sent_total, acked_total, canceled_total)
SELECT 1,
    count(*) FILTER (WHERE state = 'pending' AND lane_seq IS NOT NULL),
    count(*) FILTER (WHERE state = 'pending' AND lane_seq IS NULL),
    count(*) FILTER (WHERE state = 'sent'),
    count(*) FILTER (WHERE state = 'canceled'),
    count(*),
    count(*) FILTER (WHERE state = 'sent' OR state = 'acked'),
    count(*) FILTER (WHERE state = 'acked'),
    count(*) FILTER (WHERE state = 'canceled')
FROM outbox WHERE kind = 1;

-- The nodes that serve this database.
CREATE TABLE nodes (
	node_id INTEGER PRIMARY KEY AUTOINCREMENT,
	name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 253),
	url TEXT CHECK (length(url) <= 1024),
	started_at INTEGER NOT NULL,
	beat_at INTEGER NOT NULL,
	left_at INTEGER
) STRICT;

-- The actions of operators.  The oldest entries are purged.
CREATE TABLE audit_log (
	audit_id INTEGER PRIMARY KEY AUTOINCREMENT,
	at INTEGER NOT NULL,
	actor TEXT NOT NULL CHECK (length(actor) <= 286),
	action TEXT NOT NULL CHECK (length(action) <= 64),
	object TEXT NOT NULL CHECK (length(object) <= 286),
	detail TEXT CHECK (length(CAST(detail AS BLOB)) <= 1024)
) STRICT;
