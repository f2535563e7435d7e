-- SPDX-License-Identifier: MIT
-- Copies a whole database into an empty one, which may be of the other dialect
-- (upkeep/copy.h).  Each table is read with all its columns, in the order of
-- schema/postgres.  PostgreSQL has counter columns for values that SQLite takes
-- from the last row of a table.

-- Deletes the rows that the migrations have inserted.  The copy inserts those
-- of the source.
-- name: copy_clear
DELETE FROM destinations WHERE destination_id IN (0, 1);

-- name: copy_meta_get
-- columns: key, value
SELECT key, value
FROM meta ORDER BY key;

-- name: copy_nodes_get
-- columns: node_id, name, url, started_at, beat_at, left_at
SELECT node_id, name, url, started_at, beat_at, left_at
FROM nodes ORDER BY node_id;

-- name: copy_users_get
-- columns: user_id, name, display_name, password_hash, admin, created_at,
--     disabled_at, destination_id, password_once_until
SELECT user_id, name, display_name, password_hash, admin, created_at,
    disabled_at, destination_id, password_once_until
FROM users ORDER BY user_id;

-- name: copy_devices_get
-- columns: device_id, public_id, user_id, name, token_hash, acked_seq,
--     created_at, last_seen_at, revoked_at
SELECT device_id, public_id, user_id, name, token_hash, acked_seq, created_at,
    last_seen_at, revoked_at
FROM devices ORDER BY device_id;

-- name: copy_participants_get
-- columns: conversation_id, user_id, role, joined_seq, left_seq,
--     delivered_upto, acked_upto, read_upto, shown_upto, acked_at, read_at,
--     shown_at
SELECT conversation_id, user_id, role, joined_seq, left_seq, delivered_upto,
    acked_upto, read_upto, shown_upto, acked_at, read_at, shown_at
FROM participants ORDER BY conversation_id, user_id;

-- name: copy_messages_get
-- columns: mid, message_id, event_id, conversation_id, conversation_seq,
--     sender_id, body, content_type, metadata, correlation_id, reply_to,
--     priority, event_time, created_at, fingerprint, salt, digest, deleted_at
SELECT mid, message_id, event_id, conversation_id, conversation_seq, sender_id,
    body, content_type, metadata, correlation_id, reply_to, priority,
    event_time, created_at, fingerprint, salt, digest, deleted_at
FROM messages ORDER BY mid;

-- name: copy_destinations_get
-- columns: destination_id, name, breaker, failures, successes, interval_ms,
--     next_probe_at, failing_since, last_success_at, last_failure_at,
--     last_error, paused_at, paused_by, pause_reason, per_second, created_at,
--     updated_at
SELECT destination_id, name, breaker, failures, successes, interval_ms,
    next_probe_at, failing_since, last_success_at, last_failure_at, last_error,
    paused_at, paused_by, pause_reason, per_second, created_at, updated_at
FROM destinations ORDER BY destination_id;

-- name: copy_outbox_get
-- columns: id, event_id, kind, mid, conversation_id, conversation_seq,
--     sender_id, lane_id, lane_seq, dest_kind, dest_id, priority, state,
--     attempts, retry_count, rescue_count, next_retry_at, deliver_at,
--     expires_at, event_time, created_at, last_attempt_at, last_status_at,
--     sent_at, acked_at, last_error, ack_deadline, reason, requeues
SELECT id, event_id, kind, mid, conversation_id, conversation_seq, sender_id,
    lane_id, lane_seq, dest_kind, dest_id, priority, state, attempts,
    retry_count, rescue_count, next_retry_at, deliver_at, expires_at,
    event_time, created_at, last_attempt_at, last_status_at, sent_at, acked_at,
    last_error, ack_deadline, reason, requeues
FROM outbox ORDER BY id;

-- name: copy_inbox_get
-- columns: user_id, seq, kind, own, event_id, origin, mid, conversation_id,
--     conversation_seq, actor_id, outbox_id, event_time, delivered_at,
--     attempt
SELECT user_id, seq, kind, own, event_id, origin, mid, conversation_id,
    conversation_seq, actor_id, outbox_id, event_time, delivered_at, attempt
FROM inbox ORDER BY user_id, seq;

-- name: copy_processed_messages_get
-- columns: origin, event_id, processed_at, sequence, behind
SELECT origin, event_id, processed_at, sequence, behind
FROM processed_messages ORDER BY event_id, origin;

-- name: copy_outbox_attempts_get
-- columns: attempt_id, outbox_id, attempt, destination_id, owner, started_at,
--     finished_at, outcome, status, error
SELECT attempt_id, outbox_id, attempt, destination_id, owner, started_at,
    finished_at, outcome, status, error
FROM outbox_attempts ORDER BY attempt_id;

-- name: copy_dead_letter_queue_get
-- columns: dead_id, outbox_id, mid, sender_id, dest_id, destination_id,
--     state, reason, last_error, attempts, retry_count, event_time,
--     created_at, dead_at, resolution, resolved_at, resolved_by
SELECT dead_id, outbox_id, mid, sender_id, dest_id, destination_id, state,
    reason, last_error, attempts, retry_count, event_time, created_at, dead_at,
    resolution, resolved_at, resolved_by
FROM dead_letter_queue ORDER BY dead_id;

-- name: copy_audit_log_get
-- columns: audit_id, at, actor, action, object, detail
SELECT audit_id, at, actor, action, object, detail
FROM audit_log ORDER BY audit_id;

-- Reclaims the rows that were being sent, as a restart does (delivery/reclaim.c
-- with `all`).  The three statements run in this order.  All leases end,
-- because their owners do not serve this database.  No message is charged a
-- rescue.
-- name: copy_rescue_attempts(now)
UPDATE outbox_attempts SET finished_at = $now, outcome = 'restart'
WHERE outcome IS NULL
  AND outbox_id IN (SELECT o.id FROM outbox o WHERE o.state = 'sending');

-- name: copy_rescue_rows(now)
UPDATE outbox SET state = 'pending', last_status_at = $now
WHERE state = 'sending';

-- name: copy_rescue_lanes(now)
UPDATE outbox_lanes SET state = 'ready', lease_token = lease_token + 1,
    lease_until = NULL, lease_owner = NULL, due_at = 0, updated_at = $now,
    priority = coalesce((SELECT max(o.priority) FROM outbox o
        WHERE o.lane_id = outbox_lanes.lane_id AND o.dest_kind = 'server'
          AND o.state = 'pending' AND o.lane_seq IS NOT NULL), priority)
WHERE state = 'leased';

-- name: copy_server_keys_get
-- columns: key_id, public, seed, created_at, signs_at, retires_at, retired_at
SELECT key_id, public, seed, created_at, signs_at, retires_at, retired_at
FROM server_keys ORDER BY key_id;

-- name: copy_peers_get
-- columns: destination_id, first_seen_at, last_seen_at, epoch, blocked_at,
--     blocked_by
SELECT destination_id, first_seen_at, last_seen_at, epoch, blocked_at,
    blocked_by
FROM peers ORDER BY destination_id;

-- name: copy_peer_keys_get
-- columns: destination_id, key_id, public, pinned_by, first_seen_at,
--     last_seen_at, retired_at
SELECT destination_id, key_id, public, pinned_by, first_seen_at, last_seen_at,
    retired_at
FROM peer_keys ORDER BY destination_id, key_id;

-- name: copy_federation_nonces_get
-- columns: destination_id, key_id, nonce, keep_until
SELECT destination_id, key_id, nonce, keep_until
FROM federation_nonces ORDER BY destination_id, key_id, nonce;

-- name: copy_federation_lanes_get
-- columns: sender_id, recipient_id, class, last_sequence, highest, highest_at
SELECT sender_id, recipient_id, class, last_sequence, highest, highest_at
FROM federation_lanes ORDER BY sender_id, recipient_id, class;
