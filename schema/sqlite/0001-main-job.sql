-- SPDX-License-Identifier: MIT
-- The main tables: accounts, conversations, messages, outbox, lanes, inboxes.
--
-- Times are milliseconds since 1970 from the clock of the server; SQL never
-- reads a clock.  Ids that clients see are uuids; integers are internal.
--
-- Tables that get one row or more for each message have no foreign keys.  The
-- writer has just read the rows that they refer to, fsck verifies the
-- references, and foreign keys would cost 5 to 8 %.  Each index that is written
-- for each message has its reason beside it, because these writes are paid by
-- pages, not by rows.  CHECK constraints and partial indexes of these tables
-- use IN with two values at most: SQLite makes a table of more values, at each
-- run.

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

-- A device has one token, of which only the hash is stored.
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

-- One row for each inbox.  read_seq: how far the person has read.  trimmed: the
-- last seq that retention has removed.
--
-- The head of an inbox is the seq of its last row (or trimmed).  The only
-- writer numbers events from there, so that no counter row is written for each
-- event.  How far the person has acked is the highest acked_seq of the devices,
-- so that an ack does not write this table, either.
CREATE TABLE inboxes (
	user_id INTEGER PRIMARY KEY REFERENCES users (user_id),
	trimmed INTEGER NOT NULL DEFAULT 0 CHECK (trimmed >= 0),
	read_seq INTEGER NOT NULL DEFAULT 0 CHECK (read_seq >= 0)
) STRICT;

-- direct_key: the names of both users in order, with a space between them;
-- unique; NULL in groups.  The last number and the end of the digest chain are
-- those of the last message.
CREATE TABLE conversations (
	conversation_id INTEGER PRIMARY KEY AUTOINCREMENT,
	public_id BLOB NOT NULL UNIQUE CHECK (length(public_id) = 16),
	kind TEXT NOT NULL CHECK (kind IN ('direct', 'group')),
	direct_key TEXT UNIQUE,
	created_at INTEGER NOT NULL,
	CHECK ((kind = 'direct') = (direct_key IS NOT NULL))
) STRICT;

-- delivered_upto: the highest conversation_seq of a message of others that is
-- in this member's inbox.  acked_upto: the highest that one of the member's
-- devices has acked.  read_upto: the highest that the member has read.
-- shown_upto: the highest that the member lets others see as read (a private
-- read does not advance it).  Members see the messages in [joined_seq,
-- left_seq).
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

-- The messages.  Content is never updated: an edit is a new version.  A
-- deletion erases body and salt and leaves the digest chain intact.
-- conversation_seq and digest are NULL while a message is scheduled, and are
-- set when it is released.  mid ascends and is never used twice: purging keeps
-- the newest row (the same holds for outbox.id).
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
-- Makes a repeated send find its message.  With ids of UUIDv7 the index grows
-- at one end.
CREATE UNIQUE INDEX messages_id ON messages (message_id);
-- For the history, and for unread counts that need not read the rows.
CREATE UNIQUE INDEX messages_conversation
    ON messages (conversation_id, conversation_seq, sender_id)
    WHERE conversation_seq IS NOT NULL;
-- For the entries of a sender, the newest first (GET /v1/outbox).
CREATE INDEX messages_sender ON messages (sender_id, mid);

CREATE TRIGGER messages_immutable
BEFORE UPDATE OF mid, message_id, event_id, conversation_id, sender_id,
    content_type, metadata, correlation_id, reply_to, event_time, created_at,
    fingerprint ON messages
BEGIN
	SELECT RAISE (ABORT, 'a message does not change');
END;

-- One cursor for each conversation, destination and class (0: messages, 1:
-- receipts).  next_seq: the next place to be delivered.  The rows that wait
-- after it are in the index outbox_pending, so that a send does not write this
-- table.  due_at: no delivery before this time; 0 if the lane is not put off.
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

-- One row is one event for one destination.  lane_seq is NULL while the event
-- is scheduled.  A row that is acked from the start (a note to oneself) has no
-- lane.
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
-- An event has one row for each destination.  The index grows at one end,
-- because the server makes event ids.
CREATE UNIQUE INDEX outbox_event ON outbox (event_id, dest_kind, dest_id);
-- The pending rows of each lane, and thereby the lanes that have some.  The
-- index is as small as the backlog.
CREATE UNIQUE INDEX outbox_pending ON outbox (lane_id, lane_seq)
    WHERE state = 'pending' AND lane_seq IS NOT NULL;
-- Rows that were never delivered to their recipient.  They are rare, and are
-- not counted as unread.
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

-- A receipt (kinds 2 and 3) is a watermark, which may move until it is
-- delivered.
CREATE TRIGGER outbox_event_time
BEFORE UPDATE OF event_time, mid, event_id ON outbox
WHEN OLD.kind NOT IN (2, 3)
BEGIN
	SELECT RAISE (ABORT, 'event_time does not change');
END;

-- The events that each person has received, numbered without gaps by the
-- transaction that delivers them.  actor_id: the sender; of a receipt, the user
-- who gives it.
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
-- An event is in an inbox once, even if its delivery is repeated.
CREATE UNIQUE INDEX inbox_event ON inbox (event_id, user_id, origin);

-- Events that were accepted from other servers.  These rows are kept longer
-- than those of the inbox.
CREATE TABLE processed_messages (
	origin INTEGER NOT NULL,
	event_id BLOB NOT NULL CHECK (length(event_id) = 16),
	processed_at INTEGER NOT NULL,
	PRIMARY KEY (event_id, origin)
) STRICT, WITHOUT ROWID;
