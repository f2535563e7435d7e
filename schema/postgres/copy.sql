-- SPDX-License-Identifier: MIT
-- A whole database into an empty one, perhaps of the other kind (upkeep/copy.h):
-- of each table all columns.

-- Who copies into it is alone: a server that starts meanwhile waits, and gives
-- up, before it writes its first row (its epoch).
-- name: copy_alone
LOCK TABLE meta IN EXCLUSIVE MODE;

-- How many rows each table has, by its number in upkeep/copy.h; of the totals,
-- whether there are any.
-- name: copy_counts
SELECT 0, count(*) FROM meta
UNION ALL
SELECT 1, count(*) FROM nodes
UNION ALL
SELECT 2, count(*) FROM users
UNION ALL
SELECT 3, count(*) FROM devices
UNION ALL
SELECT 4, count(*) FROM inboxes
UNION ALL
SELECT 5, count(*) FROM conversations
UNION ALL
SELECT 6, count(*) FROM participants
UNION ALL
SELECT 7, count(*) FROM messages
UNION ALL
SELECT 8, count(*) FROM destinations
UNION ALL
SELECT 9, count(*) FROM outbox_lanes
UNION ALL
SELECT 10, count(*) FROM outbox
UNION ALL
SELECT 11, count(*) FROM inbox
UNION ALL
SELECT 12, count(*) FROM processed_messages
UNION ALL
SELECT 13, count(*) FROM outbox_attempts
UNION ALL
SELECT 14, count(*) FROM dead_letter_queue
UNION ALL
SELECT 15, (coalesce(sum(accepted_total), 0) > 0)::int::bigint
FROM outbox_totals
UNION ALL
SELECT 16, count(*) FROM audit_log;

-- The last number that each sequence has given.
-- name: copy_numbers_get
SELECT sequencename::text, coalesce(last_value, 0) FROM pg_sequences
WHERE schemaname = current_schema() ORDER BY sequencename;

-- name: copy_numbers_put
SELECT setval(format('%I.%I', s.schemaname, s.sequencename)::regclass,
    greatest($2, s.start_value), $2 >= s.start_value)
FROM pg_sequences s
WHERE s.schemaname = current_schema() AND s.sequencename = $1::text;

-- name: copy_meta_put
INSERT INTO meta (key, value)
SELECT * FROM unnest($1::text[], $2::text[]);

-- name: copy_nodes_put
INSERT INTO nodes (node_id, name, url, started_at, beat_at, left_at)
SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[],
    $5::bigint[], $6::bigint[]);

-- name: copy_users_put
INSERT INTO users (user_id, name, display_name, password_hash, admin,
    created_at, disabled_at, destination_id)
SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[],
    $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[]);

-- name: copy_devices_put
INSERT INTO devices (device_id, public_id, user_id, name, token_hash,
    acked_seq, created_at, last_seen_at, revoked_at)
SELECT * FROM unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::text[],
    $5::bytea[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[]);

-- name: copy_inboxes_get
SELECT user_id, trimmed, read_seq, head, acked
FROM inboxes ORDER BY user_id;

-- name: copy_inboxes_put
INSERT INTO inboxes (user_id, trimmed, read_seq, head, acked)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[],
    $5::bigint[]);

-- name: copy_conversations_get
SELECT conversation_id, public_id, kind, direct_key, created_at, last_seq,
    last_digest
FROM conversations ORDER BY conversation_id;

-- name: copy_conversations_put
INSERT INTO conversations (conversation_id, public_id, kind, direct_key,
    created_at, last_seq, last_digest)
SELECT * FROM unnest($1::bigint[], $2::uuid[], $3::text[], $4::text[],
    $5::bigint[], $6::bigint[], $7::bytea[]);

-- name: copy_participants_put
INSERT INTO participants (conversation_id, user_id, role, joined_seq, left_seq,
    delivered_upto, acked_upto, read_upto, shown_upto, acked_at, read_at,
    shown_at)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[],
    $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[],
    $10::bigint[], $11::bigint[], $12::bigint[]);

-- name: copy_messages_put
INSERT INTO messages (mid, message_id, event_id, conversation_id,
    conversation_seq, sender_id, body, content_type, metadata, correlation_id,
    reply_to, priority, event_time, created_at, fingerprint, salt, digest,
    deleted_at)
SELECT * FROM unnest($1::bigint[], $2::uuid[], $3::uuid[], $4::bigint[],
    $5::bigint[], $6::bigint[], $7::text[], $8::text[], $9::text[],
    $10::text[], $11::uuid[], $12::bigint[], $13::bigint[], $14::bigint[],
    $15::bytea[], $16::bytea[], $17::bytea[], $18::bigint[]);

-- name: copy_destinations_put
INSERT INTO destinations (destination_id, name, breaker, failures, successes,
    interval_ms, next_probe_at, failing_since, last_success_at,
    last_failure_at, last_error, paused_at, paused_by, pause_reason,
    per_second, created_at, updated_at)
SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[],
    $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[],
    $10::bigint[], $11::text[], $12::bigint[], $13::text[], $14::text[],
    $15::bigint[], $16::bigint[], $17::bigint[]);

-- name: copy_outbox_lanes_get
SELECT lane_id, conversation_id, dest_kind, dest_id, class, priority, next_seq,
    last_published_seq, due_at, lease_owner, lease_token, lease_until,
    updated_at, destination_id, state, tail_seq, replay_seq
FROM outbox_lanes ORDER BY lane_id;

-- name: copy_outbox_lanes_put
INSERT INTO outbox_lanes (lane_id, conversation_id, dest_kind, dest_id, class,
    priority, next_seq, last_published_seq, due_at, lease_owner, lease_token,
    lease_until, updated_at, destination_id, state, tail_seq, replay_seq)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::bigint[],
    $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[],
    $10::text[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[],
    $15::text[], $16::bigint[], $17::bigint[]);

-- name: copy_outbox_put
INSERT INTO outbox (id, event_id, kind, mid, conversation_id, conversation_seq,
    sender_id, lane_id, lane_seq, dest_kind, dest_id, priority, state,
    attempts, retry_count, rescue_count, next_retry_at, deliver_at, expires_at,
    event_time, created_at, last_attempt_at, last_status_at, sent_at, acked_at,
    last_error, ack_deadline, reason, requeues)
SELECT * FROM unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::bigint[],
    $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[],
    $10::text[], $11::bigint[], $12::bigint[], $13::text[], $14::bigint[],
    $15::bigint[], $16::bigint[], $17::bigint[], $18::bigint[], $19::bigint[],
    $20::bigint[], $21::bigint[], $22::bigint[], $23::bigint[], $24::bigint[],
    $25::bigint[], $26::text[], $27::bigint[], $28::text[], $29::bigint[]);

-- name: copy_inbox_put
INSERT INTO inbox (user_id, seq, kind, own, event_id, origin, mid,
    conversation_id, conversation_seq, actor_id, outbox_id, event_time,
    delivered_at, attempt)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[],
    $5::uuid[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[],
    $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[]);

-- name: copy_processed_messages_put
INSERT INTO processed_messages (origin, event_id, processed_at)
SELECT * FROM unnest($1::bigint[], $2::uuid[], $3::bigint[]);

-- name: copy_outbox_attempts_put
INSERT INTO outbox_attempts (attempt_id, outbox_id, attempt, destination_id,
    owner, started_at, finished_at, outcome, status, error)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[],
    $5::text[], $6::bigint[], $7::bigint[], $8::text[], $9::bigint[],
    $10::text[]);

-- name: copy_dead_letter_queue_put
INSERT INTO dead_letter_queue (dead_id, outbox_id, mid, sender_id, dest_id,
    destination_id, state, reason, last_error, attempts, retry_count,
    event_time, created_at, dead_at, resolution, resolved_at, resolved_by)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[],
    $5::bigint[], $6::bigint[], $7::text[], $8::text[], $9::text[],
    $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[],
    $15::text[], $16::bigint[], $17::text[]);

-- All nodes' rows as one, which is nobody's.
-- name: copy_outbox_totals_get
SELECT 0::bigint, coalesce(sum(pending), 0)::bigint,
    coalesce(sum(sending), 0)::bigint, coalesce(sum(sent), 0)::bigint,
    coalesce(sum(failed), 0)::bigint, coalesce(sum(expired), 0)::bigint,
    coalesce(sum(canceled), 0)::bigint, coalesce(sum(scheduled), 0)::bigint,
    coalesce(sum(accepted_total), 0)::bigint,
    coalesce(sum(sent_total), 0)::bigint,
    coalesce(sum(acked_total), 0)::bigint,
    coalesce(sum(retries_total), 0)::bigint,
    coalesce(sum(failed_total), 0)::bigint,
    coalesce(sum(expired_total), 0)::bigint,
    coalesce(sum(canceled_total), 0)::bigint,
    coalesce(sum(requeued_total), 0)::bigint,
    coalesce(sum(rescues_total), 0)::bigint,
    coalesce(sum(fenced_total), 0)::bigint
FROM outbox_totals;

-- name: copy_outbox_totals_put
INSERT INTO outbox_totals (node, pending, sending, sent, failed, expired,
    canceled, scheduled, accepted_total, sent_total, acked_total,
    retries_total, failed_total, expired_total, canceled_total, requeued_total,
    rescues_total, fenced_total)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[],
    $5::bigint[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[],
    $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[],
    $15::bigint[], $16::bigint[], $17::bigint[], $18::bigint[]);

-- name: copy_audit_log_put
INSERT INTO audit_log (audit_id, at, actor, action, object, detail)
SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[],
    $5::text[], $6::text[]);

-- name: copy_rescue_totals
UPDATE outbox_totals SET
    pending = pending + (SELECT count(*) FROM outbox o
        WHERE o.state = 'sending' AND o.kind = 1),
    sending = sending - (SELECT count(*) FROM outbox o
        WHERE o.state = 'sending' AND o.kind = 1)
WHERE node = 0;
