-- SPDX-License-Identifier: MIT
-- The transaction that pgbench runs for bench-postgres.js.  It writes a message
-- and its outbox row, as a simple client without twinbox would.  Each client has
-- its own conversation; ids ascend, as those of UUIDv7 do.  The caller sets the
-- variables n, body, bytes16 and bytes32.
\set n :n + 1
\set id :n * 1000 + :client_id
\set who :client_id + 1
BEGIN;
INSERT INTO messages (mid, message_id, event_id, conversation_id, conversation_seq, sender_id, body, content_type, priority, event_time, created_at, fingerprint, salt, digest) VALUES (:id, CAST(lpad(to_hex(CAST(:id AS bigint)), 32, '0') AS uuid), CAST(lpad(to_hex(CAST(:id AS bigint)), 32, '0') AS uuid), :who, :n, :who, :body, 'text/plain', 0, :id, :id, :bytes16, :bytes16, :bytes32);
INSERT INTO outbox (id, event_id, kind, mid, conversation_id, conversation_seq, sender_id, lane_id, lane_seq, dest_kind, dest_id, priority, state, expires_at, event_time, created_at, last_status_at) VALUES (:id, CAST(lpad(to_hex(CAST(:id AS bigint)), 32, '0') AS uuid), 1, :id, :who, :n, :who, :who, :n, 'user', :who, 0, 'pending', :id, :id, :id, :id);
COMMIT;
