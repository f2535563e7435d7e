-- SPDX-License-Identifier: MIT
-- Other servers: the keys of this server, what is known of peers and their
-- keys, and what prevents that a request or an event is accepted twice.

-- The keys with which this server signs what it sends.  A key is published from
-- created_at on.  It signs from signs_at on, when peers have had time to read
-- it, and is not published any more from retired_at on.  The seed is secret: it
-- is in backups and copies, but in no answer and no log.
CREATE TABLE server_keys (
	key_id TEXT NOT NULL PRIMARY KEY CHECK (length(key_id) BETWEEN 1 AND 64),
	public BLOB NOT NULL CHECK (length(public) = 32),
	seed BLOB NOT NULL CHECK (length(seed) = 32),
	created_at INTEGER NOT NULL,
	signs_at INTEGER NOT NULL,
	retires_at INTEGER,
	retired_at INTEGER
) STRICT, WITHOUT ROWID;

-- A server that was in contact with this one.  Its name is that of the
-- destination.
CREATE TABLE peers (
	destination_id INTEGER NOT NULL PRIMARY KEY
	    REFERENCES destinations (destination_id),
	first_seen_at INTEGER NOT NULL,
	last_seen_at INTEGER NOT NULL,
	epoch TEXT CHECK (length(epoch) <= 40),
	blocked_at INTEGER,
	blocked_by TEXT CHECK (length(blocked_by) <= 286)
) STRICT, WITHOUT ROWID;

-- pinned_by: the operator who has given this key; the peer's document never
-- replaces it.  NULL: the key was trusted when the document first showed it.
CREATE TABLE peer_keys (
	destination_id INTEGER NOT NULL REFERENCES peers (destination_id),
	key_id TEXT NOT NULL CHECK (length(key_id) BETWEEN 1 AND 64),
	public BLOB NOT NULL CHECK (length(public) = 32),
	pinned_by TEXT CHECK (length(pinned_by) <= 286),
	first_seen_at INTEGER NOT NULL,
	last_seen_at INTEGER NOT NULL,
	retired_at INTEGER,
	PRIMARY KEY (destination_id, key_id)
) STRICT, WITHOUT ROWID;

-- Requests that were accepted, so that a copy of one is refused.  A row is kept
-- until its signature cannot be valid any more.
CREATE TABLE federation_nonces (
	destination_id INTEGER NOT NULL,
	key_id TEXT NOT NULL CHECK (length(key_id) BETWEEN 1 AND 64),
	nonce TEXT NOT NULL CHECK (length(nonce) BETWEEN 16 AND 64),
	keep_until INTEGER NOT NULL,
	PRIMARY KEY (destination_id, key_id, nonce)
) STRICT, WITHOUT ROWID;
CREATE INDEX federation_nonces_end ON federation_nonces (keep_until);

-- How far the sequence from a user of a peer to a user of this server has come
-- (class 0: messages, 1: receipts).  It only shows that a peer has gone back,
-- after a restore for example.
CREATE TABLE federation_lanes (
	sender_id INTEGER NOT NULL,
	recipient_id INTEGER NOT NULL,
	class INTEGER NOT NULL CHECK (class = 0 OR class = 1),
	last_sequence INTEGER NOT NULL CHECK (last_sequence >= 1),
	PRIMARY KEY (sender_id, recipient_id, class)
) STRICT, WITHOUT ROWID;
