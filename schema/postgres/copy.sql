-- SPDX-License-Identifier: MIT
-- Copies a whole database into an empty one, which may be of the other dialect
-- (upkeep/copy.h): all columns of all tables.

-- Keeps every server from starting on this database.  A server that tries waits
-- for this lock before it writes its first row (its epoch), and gives up after
-- some time.
-- name: copy_alone
LOCK TABLE meta IN EXCLUSIVE MODE;

-- Runs when all rows are copied.  Without statistics, the checks of fsck that
-- join whole tables would compare each row with each other row, until
-- autovacuum has computed statistics.
-- name: copy_analyze
ANALYZE;

-- Counts the rows of each table, by the number of the table in upkeep/copy.h.
-- The totals count as 1 if any message was ever accepted, else as 0.
-- name: copy_counts
-- columns: number, count
SELECT 0 AS number, count(*) AS count FROM meta
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
SELECT 16, count(*) FROM audit_log
UNION ALL
SELECT 17, count(*) FROM server_keys
UNION ALL
SELECT 18, count(*) FROM peers
UNION ALL
SELECT 19, count(*) FROM peer_keys
UNION ALL
SELECT 20, count(*) FROM federation_nonces
UNION ALL
SELECT 21, count(*) FROM federation_lanes;

-- Returns the last number that each sequence has given.
-- name: copy_numbers_get
-- columns: name, last
SELECT sequencename::text AS name, coalesce(last_value, 0) AS last
FROM pg_sequences
WHERE schemaname = current_schema() ORDER BY sequencename;

-- name: copy_numbers_put(name, last)
-- columns: seq
SELECT setval(format('%I.%I', s.schemaname, s.sequencename)::regclass,
    greatest($last, s.start_value), $last >= s.start_value) AS seq
FROM pg_sequences s
WHERE s.schemaname = current_schema() AND s.sequencename = $name::text;

-- name: copy_meta_put(key, value)
INSERT INTO meta (key, value)
SELECT * FROM unnest($key::text[], $value::text[]);

-- name: copy_nodes_put(node_id, name, url, started_at, beat_at, left_at)
INSERT INTO nodes (node_id, name, url, started_at, beat_at, left_at)
SELECT * FROM unnest($node_id::bigint[], $name::text[], $url::text[],
    $started_at::bigint[], $beat_at::bigint[], $left_at::bigint[]);

-- name: copy_users_put(user_id, name, display_name, password_hash, admin,
--     created_at, disabled_at, destination_id, password_once_until)
INSERT INTO users (user_id, name, display_name, password_hash, admin,
    created_at, disabled_at, destination_id, password_once_until)
SELECT * FROM unnest($user_id::bigint[], $name::text[], $display_name::text[],
    $password_hash::text[], $admin::bigint[], $created_at::bigint[],
    $disabled_at::bigint[], $destination_id::bigint[],
    $password_once_until::bigint[]);

-- name: copy_devices_put(device_id, public_id, user_id, name, token_hash,
--     acked_seq, created_at, last_seen_at, revoked_at)
INSERT INTO devices (device_id, public_id, user_id, name, token_hash,
    acked_seq, created_at, last_seen_at, revoked_at)
SELECT * FROM unnest($device_id::bigint[], $public_id::uuid[],
    $user_id::bigint[], $name::text[], $token_hash::bytea[],
    $acked_seq::bigint[], $created_at::bigint[], $last_seen_at::bigint[],
    $revoked_at::bigint[]);

-- name: copy_inboxes_get
-- columns: user_id, trimmed, read_seq, head, acked
SELECT user_id, trimmed, read_seq, head, acked
FROM inboxes ORDER BY user_id;

-- name: copy_inboxes_put(user_id, trimmed, read_seq, head, acked)
INSERT INTO inboxes (user_id, trimmed, read_seq, head, acked)
SELECT * FROM unnest($user_id::bigint[], $trimmed::bigint[],
    $read_seq::bigint[], $head::bigint[], $acked::bigint[]);

-- name: copy_conversations_get
-- columns: conversation_id, public_id, kind, direct_key, created_at,
--     last_seq, last_digest
SELECT conversation_id, public_id, kind, direct_key, created_at, last_seq,
    last_digest
FROM conversations ORDER BY conversation_id;

-- name: copy_conversations_put(conversation_id, public_id, kind, direct_key,
--     created_at, last_seq, last_digest)
INSERT INTO conversations (conversation_id, public_id, kind, direct_key,
    created_at, last_seq, last_digest)
SELECT * FROM unnest($conversation_id::bigint[], $public_id::uuid[],
    $kind::text[], $direct_key::text[], $created_at::bigint[],
    $last_seq::bigint[], $last_digest::bytea[]);

-- name: copy_participants_put(conversation_id, user_id, role, joined_seq,
--     left_seq, delivered_upto, acked_upto, read_upto, shown_upto, acked_at,
--     read_at, shown_at)
INSERT INTO participants (conversation_id, user_id, role, joined_seq, left_seq,
    delivered_upto, acked_upto, read_upto, shown_upto, acked_at, read_at,
    shown_at)
SELECT * FROM unnest($conversation_id::bigint[], $user_id::bigint[],
    $role::text[], $joined_seq::bigint[], $left_seq::bigint[],
    $delivered_upto::bigint[], $acked_upto::bigint[], $read_upto::bigint[],
    $shown_upto::bigint[], $acked_at::bigint[], $read_at::bigint[],
    $shown_at::bigint[]);

-- name: copy_messages_put(mid, message_id, event_id, conversation_id,
--     conversation_seq, sender_id, body, content_type, metadata,
--     correlation_id, reply_to, priority, event_time, created_at,
--     fingerprint, salt, digest, deleted_at)
INSERT INTO messages (mid, message_id, event_id, conversation_id,
    conversation_seq, sender_id, body, content_type, metadata, correlation_id,
    reply_to, priority, event_time, created_at, fingerprint, salt, digest,
    deleted_at)
SELECT * FROM unnest($mid::bigint[], $message_id::uuid[], $event_id::uuid[],
    $conversation_id::bigint[], $conversation_seq::bigint[],
    $sender_id::bigint[], $body::text[], $content_type::text[],
    $metadata::text[], $correlation_id::text[], $reply_to::uuid[],
    $priority::bigint[], $event_time::bigint[], $created_at::bigint[],
    $fingerprint::bytea[], $salt::bytea[], $digest::bytea[],
    $deleted_at::bigint[]);

-- name: copy_destinations_put(destination_id, name, breaker, failures,
--     successes, interval_ms, next_probe_at, failing_since, last_success_at,
--     last_failure_at, last_error, paused_at, paused_by, pause_reason,
--     per_second, created_at, updated_at)
INSERT INTO destinations (destination_id, name, breaker, failures, successes,
    interval_ms, next_probe_at, failing_since, last_success_at,
    last_failure_at, last_error, paused_at, paused_by, pause_reason,
    per_second, created_at, updated_at)
SELECT * FROM unnest($destination_id::bigint[], $name::text[], $breaker::text[],
    $failures::bigint[], $successes::bigint[], $interval_ms::bigint[],
    $next_probe_at::bigint[], $failing_since::bigint[],
    $last_success_at::bigint[], $last_failure_at::bigint[], $last_error::text[],
    $paused_at::bigint[], $paused_by::text[], $pause_reason::text[],
    $per_second::bigint[], $created_at::bigint[], $updated_at::bigint[]);

-- name: copy_outbox_lanes_get
-- columns: lane_id, conversation_id, dest_kind, dest_id, class, priority,
--     next_seq, last_published_seq, due_at, lease_owner, lease_token,
--     lease_until, updated_at, destination_id, state, tail_seq, replay_seq,
--     acked_seq
SELECT lane_id, conversation_id, dest_kind, dest_id, class, priority, next_seq,
    last_published_seq, due_at, lease_owner, lease_token, lease_until,
    updated_at, destination_id, state, tail_seq, replay_seq, acked_seq
FROM outbox_lanes ORDER BY lane_id;

-- name: copy_outbox_lanes_put(lane_id, conversation_id, dest_kind, dest_id,
--     class, priority, next_seq, last_published_seq, due_at, lease_owner,
--     lease_token, lease_until, updated_at, destination_id, state, tail_seq,
--     replay_seq, acked_seq)
INSERT INTO outbox_lanes (lane_id, conversation_id, dest_kind, dest_id, class,
    priority, next_seq, last_published_seq, due_at, lease_owner, lease_token,
    lease_until, updated_at, destination_id, state, tail_seq, replay_seq,
    acked_seq)
SELECT * FROM unnest($lane_id::bigint[], $conversation_id::bigint[],
    $dest_kind::text[], $dest_id::bigint[], $class::bigint[],
    $priority::bigint[], $next_seq::bigint[], $last_published_seq::bigint[],
    $due_at::bigint[], $lease_owner::text[], $lease_token::bigint[],
    $lease_until::bigint[], $updated_at::bigint[], $destination_id::bigint[],
    $state::text[], $tail_seq::bigint[], $replay_seq::bigint[],
    $acked_seq::bigint[]);

-- name: copy_outbox_put(id, event_id, kind, mid, conversation_id,
--     conversation_seq, sender_id, lane_id, lane_seq, dest_kind, dest_id,
--     priority, state, attempts, retry_count, rescue_count, next_retry_at,
--     deliver_at, expires_at, event_time, created_at, last_attempt_at,
--     last_status_at, sent_at, acked_at, last_error, ack_deadline, reason,
--     requeues)
INSERT INTO outbox (id, event_id, kind, mid, conversation_id, conversation_seq,
    sender_id, lane_id, lane_seq, dest_kind, dest_id, priority, state,
    attempts, retry_count, rescue_count, next_retry_at, deliver_at, expires_at,
    event_time, created_at, last_attempt_at, last_status_at, sent_at, acked_at,
    last_error, ack_deadline, reason, requeues)
SELECT * FROM unnest($id::bigint[], $event_id::uuid[], $kind::bigint[],
    $mid::bigint[], $conversation_id::bigint[], $conversation_seq::bigint[],
    $sender_id::bigint[], $lane_id::bigint[], $lane_seq::bigint[],
    $dest_kind::text[], $dest_id::bigint[], $priority::bigint[], $state::text[],
    $attempts::bigint[], $retry_count::bigint[], $rescue_count::bigint[],
    $next_retry_at::bigint[], $deliver_at::bigint[], $expires_at::bigint[],
    $event_time::bigint[], $created_at::bigint[], $last_attempt_at::bigint[],
    $last_status_at::bigint[], $sent_at::bigint[], $acked_at::bigint[],
    $last_error::text[], $ack_deadline::bigint[], $reason::text[],
    $requeues::bigint[]);

-- name: copy_inbox_put(user_id, seq, kind, own, event_id, origin, mid,
--     conversation_id, conversation_seq, actor_id, outbox_id, event_time,
--     delivered_at, attempt)
INSERT INTO inbox (user_id, seq, kind, own, event_id, origin, mid,
    conversation_id, conversation_seq, actor_id, outbox_id, event_time,
    delivered_at, attempt)
SELECT * FROM unnest($user_id::bigint[], $seq::bigint[], $kind::bigint[],
    $own::bigint[], $event_id::uuid[], $origin::bigint[], $mid::bigint[],
    $conversation_id::bigint[], $conversation_seq::bigint[],
    $actor_id::bigint[], $outbox_id::bigint[], $event_time::bigint[],
    $delivered_at::bigint[], $attempt::bigint[]);

-- name: copy_processed_messages_put(origin, event_id, processed_at, sequence,
--     behind)
INSERT INTO processed_messages (origin, event_id, processed_at, sequence,
    behind)
SELECT * FROM unnest($origin::bigint[], $event_id::uuid[],
    $processed_at::bigint[], $sequence::bigint[], $behind::bigint[]);

-- name: copy_outbox_attempts_put(attempt_id, outbox_id, attempt,
--     destination_id, owner, started_at, finished_at, outcome, status, error)
INSERT INTO outbox_attempts (attempt_id, outbox_id, attempt, destination_id,
    owner, started_at, finished_at, outcome, status, error)
SELECT * FROM unnest($attempt_id::bigint[], $outbox_id::bigint[],
    $attempt::bigint[], $destination_id::bigint[], $owner::text[],
    $started_at::bigint[], $finished_at::bigint[], $outcome::text[],
    $status::bigint[], $error::text[]);

-- name: copy_dead_letter_queue_put(dead_id, outbox_id, mid, sender_id,
--     dest_id, destination_id, state, reason, last_error, attempts,
--     retry_count, event_time, created_at, dead_at, resolution, resolved_at,
--     resolved_by)
INSERT INTO dead_letter_queue (dead_id, outbox_id, mid, sender_id, dest_id,
    destination_id, state, reason, last_error, attempts, retry_count,
    event_time, created_at, dead_at, resolution, resolved_at, resolved_by)
SELECT * FROM unnest($dead_id::bigint[], $outbox_id::bigint[], $mid::bigint[],
    $sender_id::bigint[], $dest_id::bigint[], $destination_id::bigint[],
    $state::text[], $reason::text[], $last_error::text[], $attempts::bigint[],
    $retry_count::bigint[], $event_time::bigint[], $created_at::bigint[],
    $dead_at::bigint[], $resolution::text[], $resolved_at::bigint[],
    $resolved_by::text[]);

-- Adds up the rows of all nodes.  The result has node 0, which stands for no
-- node.
-- name: copy_outbox_totals_get
-- columns: node, pending, sending, sent, failed, expired, canceled,
--     scheduled, accepted_total, sent_total, acked_total, retries_total,
--     failed_total, expired_total, canceled_total, requeued_total,
--     rescues_total, fenced_total
SELECT 0::bigint AS node, coalesce(sum(pending), 0)::bigint AS pending,
    coalesce(sum(sending), 0)::bigint AS sending,
    coalesce(sum(sent), 0)::bigint AS sent,
    coalesce(sum(failed), 0)::bigint AS failed,
    coalesce(sum(expired), 0)::bigint AS expired,
    coalesce(sum(canceled), 0)::bigint AS canceled,
    coalesce(sum(scheduled), 0)::bigint AS scheduled,
    coalesce(sum(accepted_total), 0)::bigint AS accepted_total,
    coalesce(sum(sent_total), 0)::bigint AS sent_total,
    coalesce(sum(acked_total), 0)::bigint AS acked_total,
    coalesce(sum(retries_total), 0)::bigint AS retries_total,
    coalesce(sum(failed_total), 0)::bigint AS failed_total,
    coalesce(sum(expired_total), 0)::bigint AS expired_total,
    coalesce(sum(canceled_total), 0)::bigint AS canceled_total,
    coalesce(sum(requeued_total), 0)::bigint AS requeued_total,
    coalesce(sum(rescues_total), 0)::bigint AS rescues_total,
    coalesce(sum(fenced_total), 0)::bigint AS fenced_total
FROM outbox_totals;

-- name: copy_outbox_totals_put(node, pending, sending, sent, failed, expired,
--     canceled, scheduled, accepted_total, sent_total, acked_total,
--     retries_total, failed_total, expired_total, canceled_total,
--     requeued_total, rescues_total, fenced_total)
INSERT INTO outbox_totals (node, pending, sending, sent, failed, expired,
    canceled, scheduled, accepted_total, sent_total, acked_total,
    retries_total, failed_total, expired_total, canceled_total, requeued_total,
    rescues_total, fenced_total)
SELECT * FROM unnest($node::bigint[], $pending::bigint[], $sending::bigint[],
    $sent::bigint[], $failed::bigint[], $expired::bigint[], $canceled::bigint[],
    $scheduled::bigint[], $accepted_total::bigint[], $sent_total::bigint[],
    $acked_total::bigint[], $retries_total::bigint[], $failed_total::bigint[],
    $expired_total::bigint[], $canceled_total::bigint[],
    $requeued_total::bigint[], $rescues_total::bigint[],
    $fenced_total::bigint[]);

-- name: copy_audit_log_put(audit_id, at, actor, action, object, detail)
INSERT INTO audit_log (audit_id, at, actor, action, object, detail)
SELECT * FROM unnest($audit_id::bigint[], $at::bigint[], $actor::text[],
    $action::text[], $object::text[], $detail::text[]);

-- name: copy_rescue_totals
UPDATE outbox_totals SET
    pending = pending + (SELECT count(*) FROM outbox o
        WHERE o.state = 'sending' AND o.kind = EVENT_MESSAGE),
    sending = sending - (SELECT count(*) FROM outbox o
        WHERE o.state = 'sending' AND o.kind = EVENT_MESSAGE)
WHERE node = 0;

-- name: copy_server_keys_put(key_id, public, seed, created_at, signs_at,
--     retires_at, retired_at)
INSERT INTO server_keys (key_id, public, seed, created_at, signs_at, retires_at,
    retired_at)
SELECT * FROM unnest($key_id::text[], $public::bytea[], $seed::bytea[],
    $created_at::bigint[], $signs_at::bigint[], $retires_at::bigint[],
    $retired_at::bigint[]);

-- name: copy_peers_put(destination_id, first_seen_at, last_seen_at, epoch,
--     blocked_at, blocked_by)
INSERT INTO peers (destination_id, first_seen_at, last_seen_at, epoch,
    blocked_at, blocked_by)
SELECT * FROM unnest($destination_id::bigint[], $first_seen_at::bigint[],
    $last_seen_at::bigint[], $epoch::text[], $blocked_at::bigint[],
    $blocked_by::text[]);

-- name: copy_peer_keys_put(destination_id, key_id, public, pinned_by,
--     first_seen_at, last_seen_at, retired_at)
INSERT INTO peer_keys (destination_id, key_id, public, pinned_by, first_seen_at,
    last_seen_at, retired_at)
SELECT * FROM unnest($destination_id::bigint[], $key_id::text[],
    $public::bytea[], $pinned_by::text[], $first_seen_at::bigint[],
    $last_seen_at::bigint[], $retired_at::bigint[]);

-- name: copy_federation_nonces_put(destination_id, key_id, nonce, keep_until)
INSERT INTO federation_nonces (destination_id, key_id, nonce, keep_until)
SELECT * FROM unnest($destination_id::bigint[], $key_id::text[], $nonce::text[],
    $keep_until::bigint[]);

-- name: copy_federation_lanes_put(sender_id, recipient_id, class,
--     last_sequence, highest, highest_at)
INSERT INTO federation_lanes (sender_id, recipient_id, class, last_sequence,
    highest, highest_at)
SELECT * FROM unnest($sender_id::bigint[], $recipient_id::bigint[],
    $class::bigint[], $last_sequence::bigint[], $highest::bigint[],
    $highest_at::bigint[]);
