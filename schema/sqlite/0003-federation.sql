-- SPDX-License-Identifier: MIT
-- Other servers: this server's keys, what is known of peers and their keys, and
-- what keeps a request and an event from being taken twice.

-- Keys that sign what this server sends.  One is published from created_at on,
-- signs from signs_at on, so that peers have seen it by then, and is no longer
-- published from retired_at on.  The seed is secret; it is in backups and
-- copies, in no answer and no log.
CREATE TABLE server_keys (
	key_id TEXT NOT NULL PRIMARY KEY CHECK (length(key_id) BETWEEN 1 AND 64),
	public BLOB NOT NULL CHECK (length(public) = 32),
	seed BLOB NOT NULL CHECK (length(seed) = 32),
	created_at INTEGER NOT NULL,
	signs_at INTEGER NOT NULL,
	retires_at INTEGER,
	retired_at INTEGER
) STRICT, WITHOUT ROWID;

-- A server that has been in contact.  Its name is the destination's.
CREATE TABLE peers (
	destination_id INTEGER NOT NULL PRIMARY KEY
	    REFERENCES destinations (destination_id),
	first_seen_at INTEGER NOT NULL,
	last_seen_at INTEGER NOT NULL,
	epoch TEXT CHECK (length(epoch) <= 40),
	blocked_at INTEGER,
	blocked_by TEXT CHECK (length(blocked_by) <= 286)
) STRICT, WITHOUT ROWID;

-- pinned_by: an operator has given this key; the peer's document never replaces
-- it.  NULL: it was believed when it was first seen in the document.
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

-- Requests that were taken, so that a copy of one is not.  A row is kept until
-- its signature is of no use in any case.
CREATE TABLE federation_nonces (
	destination_id INTEGER NOT NULL,
	key_id TEXT NOT NULL CHECK (length(key_id) BETWEEN 1 AND 64),
	nonce TEXT NOT NULL CHECK (length(nonce) BETWEEN 16 AND 64),
	keep_until INTEGER NOT NULL,
	PRIMARY KEY (destination_id, key_id, nonce)
) STRICT, WITHOUT ROWID;
CREATE INDEX federation_nonces_end ON federation_nonces (keep_until);

-- How far a peer has come with what a person there sends to one here (class: 0
-- messages, 1 receipts).  It tells that a peer has gone back, and no more.
CREATE TABLE federation_lanes (
	sender_id INTEGER NOT NULL,
	recipient_id INTEGER NOT NULL,
	class INTEGER NOT NULL CHECK (class = 0 OR class = 1),
	last_sequence INTEGER NOT NULL CHECK (last_sequence >= 1),
	PRIMARY KEY (sender_id, recipient_id, class)
) STRICT, WITHOUT ROWID;
