-- SPDX-License-Identifier: MIT
-- The main job: accounts, conversations, messages, outbox, lanes, inboxes.
--
-- Times are milliseconds since 1970 from the server's clock, never SQL's.
-- Ids that clients see are the uuids; integers stay inside.  The tables that are
-- written once a message and more have no foreign keys: the writer has just
-- read what they refer to, checking it again costs 5 to 8 %, and fsck proves it.  Each index that
-- is written once a message has its reason beside it, because on this path
-- cost is pages, not rows.  In checks and partial indexes of these tables there
-- is no IN with more than two values: SQLite makes a table of them, in each run.

-- Facts about the database itself: epoch, commit number, boot times.
CREATE TABLE meta (
	key TEXT NOT NULL PRIMARY KEY CHECK (length(key) BETWEEN 1 AND 64),
	value TEXT NOT NULL CHECK (length(value) <= 1024)
) STRICT, WITHOUT ROWID;

-- People, and addresses on other servers (those have no password).  A name is
-- never given twice: rows are disabled, not deleted.
CREATE TABLE users (
	user_id INTEGER PRIMARY KEY AUTOINCREMENT,
	name TEXT NOT NULL UNIQUE CHECK (length(name) BETWEEN 1 AND 286),
	display_name TEXT CHECK (length(CAST(display_name AS BLOB)) <= 128),
	password_hash TEXT CHECK (length(password_hash) <= 128),
	admin INTEGER NOT NULL DEFAULT 0 CHECK (admin IN (0, 1)),
	created_at INTEGER NOT NULL,
	disabled_at INTEGER
) STRICT;

-- A device is a token: only its hash is kept.
CREATE TABLE devices (
	device_id INTEGER PRIMARY KEY AUTOINCREMENT,
	public_id BLOB NOT NULL CHECK (length(public_id) = 16),
	user_id INTEGER NOT NULL REFERENCES users (user_id),
	name TEXT NOT NULL CHECK (length(CAST(name AS BLOB)) BETWEEN 1 AND 64),
	token_hash BLOB NOT NULL UNIQUE CHECK (length(token_hash) = 32),
	acked_seq INTEGER NOT NULL DEFAULT 0 CHECK (acked_seq >= 0),
	created_at INTEGER NOT NULL,
	last_seen_at INTEGER NOT NULL,
	revoked_at INTEGER
) STRICT;
CREATE INDEX devices_user ON devices (user_id, device_id);

-- One row an inbox: what the person has read, and the last seq that retention
-- removed.  The head is the last row's seq (or trimmed): the only writer numbers
-- from there, so that no counter row is written for each event.  What the
-- person has is the highest that any device acked, so that an ack writes here
-- neither.
CREATE TABLE inboxes (
	user_id INTEGER PRIMARY KEY REFERENCES users (user_id),
	trimmed INTEGER NOT NULL DEFAULT 0 CHECK (trimmed >= 0),
	read_seq INTEGER NOT NULL DEFAULT 0 CHECK (read_seq >= 0)
) STRICT;

-- direct_key: both names in order with a space between, unique; NULL in
-- groups.  The last number and the end of the chain are the last message's.
CREATE TABLE conversations (
	conversation_id INTEGER PRIMARY KEY AUTOINCREMENT,
	public_id BLOB NOT NULL UNIQUE CHECK (length(public_id) = 16),
	kind TEXT NOT NULL CHECK (kind IN ('direct', 'group')),
	direct_key TEXT UNIQUE,
	created_at INTEGER NOT NULL,
	CHECK ((kind = 'direct') = (direct_key IS NOT NULL))
) STRICT;

-- delivered_upto: the highest conversation_seq put into this member's inbox by
-- others; acked_upto: that one of his devices has; read_upto: that he has seen;
-- shown_upto: that he let others know he has seen (a private read does not).
-- Members see [joined_seq, left_seq).
CREATE TABLE participants (
	conversation_id INTEGER NOT NULL
	    REFERENCES conversations (conversation_id),
	user_id INTEGER NOT NULL REFERENCES users (user_id),
	role TEXT NOT NULL DEFAULT 'member'
	    CHECK (role IN ('member', 'admin', 'owner')),
	joined_seq INTEGER NOT NULL DEFAULT 1 CHECK (joined_seq >= 1),
	left_seq INTEGER,
	delivered_upto INTEGER NOT NULL DEFAULT 0,
	acked_upto INTEGER NOT NULL DEFAULT 0,
	read_upto INTEGER NOT NULL DEFAULT 0,
	shown_upto INTEGER NOT NULL DEFAULT 0,
	acked_at INTEGER,
	read_at INTEGER,
	shown_at INTEGER,
	PRIMARY KEY (conversation_id, user_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX participants_user ON participants (user_id, conversation_id);

-- The business row.  Content is never updated: an edit is a new version; a
-- deletion erases body and salt and leaves the chain whole.  conversation_seq
-- and digest are given at release (NULL while scheduled).  mid ascends and is
-- never used twice: purging keeps the newest row (the same holds for outbox.id).
CREATE TABLE messages (
	mid INTEGER PRIMARY KEY,
	message_id BLOB NOT NULL CHECK (length(message_id) = 16),
	event_id BLOB NOT NULL CHECK (length(event_id) = 16),
	conversation_id INTEGER NOT NULL,
	conversation_seq INTEGER,
	sender_id INTEGER NOT NULL,
	body TEXT CHECK (length(CAST(body AS BLOB)) BETWEEN 1 AND 16384),
	content_type TEXT CHECK (length(content_type) <= 127),
	metadata TEXT CHECK (length(CAST(metadata AS BLOB)) <= 4096),
	correlation_id TEXT CHECK (length(CAST(correlation_id AS BLOB)) <= 128),
	reply_to BLOB CHECK (length(reply_to) = 16),
	priority INTEGER NOT NULL DEFAULT 0 CHECK (priority BETWEEN -1 AND 1),
	event_time INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	fingerprint BLOB NOT NULL CHECK (length(fingerprint) = 16),
	salt BLOB CHECK (length(salt) = 16),
	digest BLOB CHECK (length(digest) = 32),
	deleted_at INTEGER
) STRICT;
-- Idempotency: the key is the message id (grows at one end with UUIDv7).
CREATE UNIQUE INDEX messages_id ON messages (message_id);
-- History, and unread counts without touching the rows.
CREATE UNIQUE INDEX messages_conversation
    ON messages (conversation_id, conversation_seq, sender_id)
    WHERE conversation_seq IS NOT NULL;
-- A sender's own entries, newest first (GET /v1/outbox).
CREATE INDEX messages_sender ON messages (sender_id, mid);

CREATE TRIGGER messages_immutable
BEFORE UPDATE OF mid, message_id, event_id, conversation_id, sender_id,
    content_type, metadata, correlation_id, reply_to, event_time, created_at,
    fingerprint ON messages
BEGIN
	SELECT RAISE (ABORT, 'a message does not change');
END;

-- One cursor for each conversation and destination (and class: 0 messages, 1
-- receipts): the next place to be delivered.  What waits behind it is in
-- outbox_pending, so that a send does not write here.  due_at: not before; 0
-- when nothing is put off.
CREATE TABLE outbox_lanes (
	lane_id INTEGER PRIMARY KEY AUTOINCREMENT,
	conversation_id INTEGER NOT NULL,
	dest_kind TEXT NOT NULL CHECK (dest_kind = 'user'
	    OR dest_kind = 'group' OR dest_kind = 'server'
	    OR dest_kind = 'push'),
	dest_id INTEGER NOT NULL,
	class INTEGER NOT NULL DEFAULT 0 CHECK (class IN (0, 1)),
	priority INTEGER NOT NULL DEFAULT 0,
	next_seq INTEGER NOT NULL DEFAULT 1,
	last_published_seq INTEGER NOT NULL DEFAULT 0,
	due_at INTEGER NOT NULL DEFAULT 0,
	lease_owner TEXT,
	lease_token INTEGER NOT NULL DEFAULT 0,
	lease_until INTEGER,
	updated_at INTEGER NOT NULL,
	UNIQUE (conversation_id, dest_kind, dest_id, class)
) STRICT;
CREATE INDEX outbox_lanes_put_off ON outbox_lanes (due_at) WHERE due_at > 0;

-- One row is one event for one destination.  lane_seq is NULL while scheduled;
-- a row that is born acked (a note to oneself) has no lane.
CREATE TABLE outbox (
	id INTEGER PRIMARY KEY,
	event_id BLOB NOT NULL CHECK (length(event_id) = 16),
	kind INTEGER NOT NULL,
	mid INTEGER NOT NULL,
	conversation_id INTEGER NOT NULL,
	conversation_seq INTEGER,
	sender_id INTEGER NOT NULL,
	lane_id INTEGER,
	lane_seq INTEGER,
	dest_kind TEXT NOT NULL CHECK (dest_kind = 'user'
	    OR dest_kind = 'group' OR dest_kind = 'server'
	    OR dest_kind = 'push'),
	dest_id INTEGER NOT NULL,
	priority INTEGER NOT NULL DEFAULT 0,
	state TEXT NOT NULL DEFAULT 'pending' CHECK (state = 'pending'
	    OR state = 'sent' OR state = 'acked' OR state = 'sending'
	    OR state = 'failed' OR state = 'expired' OR state = 'canceled'),
	attempts INTEGER NOT NULL DEFAULT 0,
	retry_count INTEGER NOT NULL DEFAULT 0,
	rescue_count INTEGER NOT NULL DEFAULT 0,
	next_retry_at INTEGER,
	deliver_at INTEGER,
	expires_at INTEGER,
	event_time INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	last_attempt_at INTEGER,
	last_status_at INTEGER NOT NULL,
	sent_at INTEGER,
	acked_at INTEGER,
	last_error TEXT CHECK (length(last_error) <= 512)
) STRICT;
-- Once for each destination; grows at one end, the server makes event ids.
CREATE UNIQUE INDEX outbox_event ON outbox (event_id, dest_kind, dest_id);
-- What a lane still owes, and which lanes owe: as small as what waits.
CREATE UNIQUE INDEX outbox_pending ON outbox (lane_id, lane_seq)
    WHERE state = 'pending' AND lane_seq IS NOT NULL;
-- What a person was owed and never got: rare, not counted as unread.
CREATE INDEX outbox_owed ON outbox (dest_id, conversation_id, conversation_seq)
    WHERE state = 'failed' OR state = 'expired' OR state = 'canceled';
CREATE INDEX outbox_scheduled ON outbox (deliver_at)
    WHERE state = 'pending' AND lane_seq IS NULL;
CREATE INDEX outbox_scheduled_by ON outbox (sender_id)
    WHERE state = 'pending' AND lane_seq IS NULL;

CREATE TRIGGER outbox_immutable
BEFORE UPDATE OF id, dest_kind, dest_id, created_at ON outbox
BEGIN
	SELECT RAISE (ABORT, 'an outbox row does not change its origin');
END;

-- A receipt (kinds 2, 3) is a watermark that may move while undelivered.
CREATE TRIGGER outbox_event_time
BEFORE UPDATE OF event_time, mid, event_id ON outbox
WHEN OLD.kind NOT IN (2, 3)
BEGIN
	SELECT RAISE (ABORT, 'event_time does not change');
END;

-- What each person has been given, numbered without holes in the delivering
-- transaction.  actor_id: the sender; of receipts, who gives it.
CREATE TABLE inbox (
	user_id INTEGER NOT NULL,
	seq INTEGER NOT NULL CHECK (seq >= 1),
	kind INTEGER NOT NULL,
	own INTEGER NOT NULL CHECK (own IN (0, 1)),
	event_id BLOB NOT NULL CHECK (length(event_id) = 16),
	origin INTEGER NOT NULL DEFAULT 0,
	mid INTEGER NOT NULL,
	conversation_id INTEGER NOT NULL,
	conversation_seq INTEGER NOT NULL,
	actor_id INTEGER NOT NULL,
	outbox_id INTEGER,
	event_time INTEGER NOT NULL,
	delivered_at INTEGER NOT NULL,
	attempt INTEGER NOT NULL DEFAULT 1,
	PRIMARY KEY (user_id, seq)
) STRICT, WITHOUT ROWID;
-- Exactly once: however often anything is retried.
CREATE UNIQUE INDEX inbox_event ON inbox (event_id, user_id, origin);

-- What came from other servers, remembered beyond the inbox rows.
CREATE TABLE processed_messages (
	origin INTEGER NOT NULL,
	event_id BLOB NOT NULL CHECK (length(event_id) = 16),
	processed_at INTEGER NOT NULL,
	PRIMARY KEY (event_id, origin)
) STRICT, WITHOUT ROWID;
