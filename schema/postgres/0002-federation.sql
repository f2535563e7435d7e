-- SPDX-License-Identifier: MIT
-- Makes what the SQLite migration 3 makes.  The reasons are written there.

CREATE TABLE server_keys (
	key_id TEXT COLLATE "C" NOT NULL PRIMARY KEY
	    CHECK (length(key_id) BETWEEN 1 AND 64),
	public BYTEA NOT NULL CHECK (octet_length(public) = 32),
	seed BYTEA NOT NULL CHECK (octet_length(seed) = 32),
	created_at BIGINT NOT NULL,
	signs_at BIGINT NOT NULL,
	retires_at BIGINT,
	retired_at BIGINT
);

CREATE TABLE peers (
	destination_id BIGINT NOT NULL PRIMARY KEY
	    REFERENCES destinations (destination_id),
	first_seen_at BIGINT NOT NULL,
	last_seen_at BIGINT NOT NULL,
	epoch TEXT COLLATE "C" CHECK (length(epoch) <= 40),
	blocked_at BIGINT,
	blocked_by TEXT COLLATE "C" CHECK (length(blocked_by) <= 286)
);

CREATE TABLE peer_keys (
	destination_id BIGINT NOT NULL REFERENCES peers (destination_id),
	key_id TEXT COLLATE "C" NOT NULL
	    CHECK (length(key_id) BETWEEN 1 AND 64),
	public BYTEA NOT NULL CHECK (octet_length(public) = 32),
	pinned_by TEXT COLLATE "C" CHECK (length(pinned_by) <= 286),
	first_seen_at BIGINT NOT NULL,
	last_seen_at BIGINT NOT NULL,
	retired_at BIGINT,
	PRIMARY KEY (destination_id, key_id)
);

CREATE TABLE federation_nonces (
	destination_id BIGINT NOT NULL,
	key_id TEXT COLLATE "C" NOT NULL
	    CHECK (length(key_id) BETWEEN 1 AND 64),
	nonce TEXT COLLATE "C" NOT NULL CHECK (length(nonce) BETWEEN 16 AND 64),
	keep_until BIGINT NOT NULL,
	PRIMARY KEY (destination_id, key_id, nonce)
);
CREATE INDEX federation_nonces_end ON federation_nonces (keep_until);

CREATE TABLE federation_lanes (
	sender_id BIGINT NOT NULL,
	recipient_id BIGINT NOT NULL,
	class SMALLINT NOT NULL CHECK (class = 0 OR class = 1),
	last_sequence BIGINT NOT NULL CHECK (last_sequence >= 1),
	PRIMARY KEY (sender_id, recipient_id, class)
);
