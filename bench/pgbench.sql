-- SPDX-License-Identifier: MIT
-- What pgbench does for bench-postgres.js: a message and its outbox row, as a
-- client that knows nothing of twinbox would write them in one transaction.
-- Each client has a conversation of its own; ids grow at one end, as those of
-- UUIDv7 do.  The variables n, body, bytes16 and bytes32 are given.
\set n :n + 1
\set id :n * 1000 + :client_id
\set who :client_id + 1
BEGIN;
INSERT INTO messages (mid, message_id, event_id, conversation_id, conversation_seq, sender_id, body, content_type, priority, event_time, created_at, fingerprint, salt, digest) VALUES (:id, CAST(lpad(to_hex(CAST(:id AS bigint)), 32, '0') AS uuid), CAST(lpad(to_hex(CAST(:id AS bigint)), 32, '0') AS uuid), :who, :n, :who, :body, 'text/plain', 0, :id, :id, :bytes16, :bytes16, :bytes32);
INSERT INTO outbox (id, event_id, kind, mid, conversation_id, conversation_seq, sender_id, lane_id, lane_seq, dest_kind, dest_id, priority, state, expires_at, event_time, created_at, last_status_at) VALUES (:id, CAST(lpad(to_hex(CAST(:id AS bigint)), 32, '0') AS uuid), 1, :id, :who, :n, :who, :who, :n, 'user', :who, 0, 'pending', :id, :id, :id, :id);
COMMIT;
