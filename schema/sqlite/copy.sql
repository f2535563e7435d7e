-- SPDX-License-Identifier: MIT
-- Copies a whole database into an empty one, which may be of the other dialect
-- (upkeep/copy.h).  Each table is read with all its columns, in the order of
-- schema/postgres.  PostgreSQL has counter columns for values that SQLite takes
-- from the last row of a table.

-- There is nothing to lock: a transaction that writes to an SQLite database is
-- the only one that does.  The statement deletes no row.
-- name: copy_alone
DELETE FROM meta WHERE key = '' AND value = '';

-- There is nothing to do: plans on SQLite are made without statistics.  The
-- statement deletes no row.
-- name: copy_analyze
DELETE FROM meta WHERE key = '' AND value = '';

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
SELECT 15, (coalesce(sum(accepted_total), 0) > 0)
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

-- Returns the last number given in each table that numbers its rows, under the
-- name of the sequence that PostgreSQL has for it.
-- name: copy_numbers_get
-- columns: name, last
SELECT 'message_ids' AS name, coalesce(max(mid), 0) AS last FROM messages
UNION ALL
SELECT 'outbox_ids', coalesce(max(id), 0) FROM outbox
UNION ALL
SELECT 'users_user_id_seq',
    coalesce((SELECT seq FROM sqlite_sequence
      WHERE name = 'users'), 0)
UNION ALL
SELECT 'devices_device_id_seq',
    coalesce((SELECT seq FROM sqlite_sequence
      WHERE name = 'devices'), 0)
UNION ALL
SELECT 'nodes_node_id_seq',
    coalesce((SELECT seq FROM sqlite_sequence
      WHERE name = 'nodes'), 0)
UNION ALL
SELECT 'conversations_conversation_id_seq',
    coalesce((SELECT seq FROM sqlite_sequence
      WHERE name = 'conversations'), 0)
UNION ALL
SELECT 'destinations_destination_id_seq',
    coalesce((SELECT seq FROM sqlite_sequence
      WHERE name = 'destinations'), 0)
UNION ALL
SELECT 'outbox_lanes_lane_id_seq',
    coalesce((SELECT seq FROM sqlite_sequence
      WHERE name = 'outbox_lanes'), 0)
UNION ALL
SELECT 'outbox_attempts_attempt_id_seq',
    coalesce((SELECT seq FROM sqlite_sequence
      WHERE name = 'outbox_attempts'), 0)
UNION ALL
SELECT 'dead_letter_queue_dead_id_seq',
    coalesce((SELECT seq FROM sqlite_sequence
      WHERE name = 'dead_letter_queue'), 0)
UNION ALL
SELECT 'audit_log_audit_id_seq',
    coalesce((SELECT seq FROM sqlite_sequence
      WHERE name = 'audit_log'), 0);

-- Keeps the number of the source, which is higher than all numbers in the table
-- if the newest rows were deleted.
-- name: copy_numbers_put(name, last)
-- columns: seq
UPDATE sqlite_sequence SET seq = max(seq, $last)
WHERE substr($name, 1, length(name) + 1) = name || '_'
RETURNING seq;

-- name: copy_meta_put(key, value)
INSERT INTO meta (key, value)
VALUES ($key, $value);

-- name: copy_nodes_put(node_id, name, url, started_at, beat_at, left_at)
INSERT INTO nodes (node_id, name, url, started_at, beat_at, left_at)
VALUES ($node_id, $name, $url, $started_at, $beat_at, $left_at);

-- name: copy_users_put(user_id, name, display_name, password_hash, admin,
--     created_at, disabled_at, destination_id, password_once_until)
INSERT INTO users (user_id, name, display_name, password_hash, admin,
    created_at, disabled_at, destination_id, password_once_until)
VALUES ($user_id, $name, $display_name, $password_hash, $admin, $created_at,
    $disabled_at, $destination_id, $password_once_until);

-- name: copy_devices_put(device_id, public_id, user_id, name, token_hash,
--     acked_seq, created_at, last_seen_at, revoked_at)
INSERT INTO devices (device_id, public_id, user_id, name, token_hash,
    acked_seq, created_at, last_seen_at, revoked_at)
VALUES ($device_id, $public_id, $user_id, $name, $token_hash, $acked_seq,
    $created_at, $last_seen_at, $revoked_at);

-- head and acked are computed from other tables, as in counter_get.
-- name: copy_inboxes_get
-- columns: user_id, trimmed, read_seq, head, acked
SELECT b.user_id, b.trimmed, b.read_seq,
    coalesce((SELECT max(i.seq) FROM inbox i WHERE i.user_id = b.user_id),
        b.trimmed) AS head,
    (SELECT coalesce(max(d.acked_seq), 0) FROM devices d
     WHERE d.user_id = b.user_id) AS acked
FROM inboxes b ORDER BY b.user_id;

-- name: copy_inboxes_put(user_id, trimmed, read_seq, head, acked)
INSERT INTO inboxes (user_id, trimmed, read_seq)
SELECT $user_id, $trimmed, $read_seq WHERE $head >= $trimmed AND $acked >= 0;

-- last_seq and last_digest are those of the last message.
-- name: copy_conversations_get
-- columns: conversation_id, public_id, kind, direct_key, created_at,
--     last_seq, last_digest
SELECT c.conversation_id, c.public_id, c.kind, c.direct_key, c.created_at,
    coalesce(m.conversation_seq, 0) AS last_seq, m.digest AS last_digest
FROM conversations c LEFT JOIN messages m
    ON m.conversation_id = c.conversation_id AND m.conversation_seq = (
        SELECT max(l.conversation_seq) FROM messages l
        WHERE l.conversation_id = c.conversation_id
          AND l.conversation_seq > 0)
ORDER BY c.conversation_id;

-- name: copy_conversations_put(conversation_id, public_id, kind, direct_key,
--     created_at, last_seq, last_digest)
INSERT INTO conversations (conversation_id, public_id, kind, direct_key,
    created_at)
SELECT $conversation_id, $public_id, $kind, $direct_key, $created_at
    WHERE ($last_seq = 0) = ($last_digest IS NULL);

-- name: copy_participants_put(conversation_id, user_id, role, joined_seq,
--     left_seq, delivered_upto, acked_upto, read_upto, shown_upto, acked_at,
--     read_at, shown_at)
INSERT INTO participants (conversation_id, user_id, role, joined_seq, left_seq,
    delivered_upto, acked_upto, read_upto, shown_upto, acked_at, read_at,
    shown_at)
VALUES ($conversation_id, $user_id, $role, $joined_seq, $left_seq,
    $delivered_upto, $acked_upto, $read_upto, $shown_upto, $acked_at, $read_at,
    $shown_at);

-- name: copy_messages_put(mid, message_id, event_id, conversation_id,
--     conversation_seq, sender_id, body, content_type, metadata,
--     correlation_id, reply_to, priority, event_time, created_at,
--     fingerprint, salt, digest, deleted_at)
INSERT INTO messages (mid, message_id, event_id, conversation_id,
    conversation_seq, sender_id, body, content_type, metadata, correlation_id,
    reply_to, priority, event_time, created_at, fingerprint, salt, digest,
    deleted_at)
VALUES ($mid, $message_id, $event_id, $conversation_id, $conversation_seq,
    $sender_id, $body, $content_type, $metadata, $correlation_id, $reply_to,
    $priority, $event_time, $created_at, $fingerprint, $salt, $digest,
    $deleted_at);

-- name: copy_destinations_put(destination_id, name, breaker, failures,
--     successes, interval_ms, next_probe_at, failing_since, last_success_at,
--     last_failure_at, last_error, paused_at, paused_by, pause_reason,
--     per_second, created_at, updated_at)
INSERT INTO destinations (destination_id, name, breaker, failures, successes,
    interval_ms, next_probe_at, failing_since, last_success_at,
    last_failure_at, last_error, paused_at, paused_by, pause_reason,
    per_second, created_at, updated_at)
VALUES ($destination_id, $name, $breaker, $failures, $successes, $interval_ms,
    $next_probe_at, $failing_since, $last_success_at, $last_failure_at,
    $last_error, $paused_at, $paused_by, $pause_reason, $per_second,
    $created_at, $updated_at);

-- The tail of a local lane is the last place given.  Rows that have left the
-- lane are below its cursor.  The others are pending, or have failed, expired
-- or been canceled; two small indexes find them.
-- name: copy_outbox_lanes_get
-- columns: lane_id, conversation_id, dest_kind, dest_id, class, priority,
--     next_seq, last_published_seq, due_at, lease_owner, lease_token,
--     lease_until, updated_at, destination_id, state, tail_seq, replay_seq,
--     acked_seq
SELECT l.lane_id, l.conversation_id, l.dest_kind, l.dest_id, l.class,
    l.priority, l.next_seq, l.last_published_seq, l.due_at, l.lease_owner,
    l.lease_token, l.lease_until, l.updated_at, l.destination_id, l.state,
    CASE WHEN l.state = 'local' THEN max(l.next_seq - 1,
      coalesce((SELECT max(o.lane_seq) FROM outbox o
        WHERE o.lane_id = l.lane_id AND o.lane_seq IS NOT NULL
          AND o.state = 'pending' AND o.dest_kind = 'user'), 0),
      coalesce((SELECT max(o.lane_seq) FROM outbox o
        WHERE o.dest_id = l.dest_id AND o.conversation_id = l.conversation_id
          AND (o.state = 'failed' OR o.state = 'expired'
            OR o.state = 'canceled')
          AND o.lane_id = l.lane_id), 0))
    ELSE l.tail_seq END AS tail_seq,
    l.replay_seq, l.acked_seq
FROM outbox_lanes l ORDER BY l.lane_id;

-- name: copy_outbox_lanes_put(lane_id, conversation_id, dest_kind, dest_id,
--     class, priority, next_seq, last_published_seq, due_at, lease_owner,
--     lease_token, lease_until, updated_at, destination_id, state, tail_seq,
--     replay_seq, acked_seq)
INSERT INTO outbox_lanes (lane_id, conversation_id, dest_kind, dest_id, class,
    priority, next_seq, last_published_seq, due_at, lease_owner, lease_token,
    lease_until, updated_at, destination_id, state, tail_seq, replay_seq,
    acked_seq)
VALUES ($lane_id, $conversation_id, $dest_kind, $dest_id, $class, $priority,
    $next_seq, $last_published_seq, $due_at, $lease_owner, $lease_token,
    $lease_until, $updated_at, $destination_id, $state, CASE
    WHEN $state = 'local' THEN 0 ELSE $tail_seq END, $replay_seq, $acked_seq);

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
VALUES ($id, $event_id, $kind, $mid, $conversation_id, $conversation_seq,
    $sender_id, $lane_id, $lane_seq, $dest_kind, $dest_id, $priority, $state,
    $attempts, $retry_count, $rescue_count, $next_retry_at, $deliver_at,
    $expires_at, $event_time, $created_at, $last_attempt_at, $last_status_at,
    $sent_at, $acked_at, $last_error, $ack_deadline, $reason, $requeues);

-- name: copy_inbox_put(user_id, seq, kind, own, event_id, origin, mid,
--     conversation_id, conversation_seq, actor_id, outbox_id, event_time,
--     delivered_at, attempt)
INSERT INTO inbox (user_id, seq, kind, own, event_id, origin, mid,
    conversation_id, conversation_seq, actor_id, outbox_id, event_time,
    delivered_at, attempt)
VALUES ($user_id, $seq, $kind, $own, $event_id, $origin, $mid, $conversation_id,
    $conversation_seq, $actor_id, $outbox_id, $event_time, $delivered_at,
    $attempt);

-- name: copy_processed_messages_put(origin, event_id, processed_at, sequence,
--     behind)
INSERT INTO processed_messages (origin, event_id, processed_at, sequence,
    behind)
VALUES ($origin, $event_id, $processed_at, $sequence, $behind);

-- name: copy_outbox_attempts_put(attempt_id, outbox_id, attempt,
--     destination_id, owner, started_at, finished_at, outcome, status, error)
INSERT INTO outbox_attempts (attempt_id, outbox_id, attempt, destination_id,
    owner, started_at, finished_at, outcome, status, error)
VALUES ($attempt_id, $outbox_id, $attempt, $destination_id, $owner, $started_at,
    $finished_at, $outcome, $status, $error);

-- name: copy_dead_letter_queue_put(dead_id, outbox_id, mid, sender_id,
--     dest_id, destination_id, state, reason, last_error, attempts,
--     retry_count, event_time, created_at, dead_at, resolution, resolved_at,
--     resolved_by)
INSERT INTO dead_letter_queue (dead_id, outbox_id, mid, sender_id, dest_id,
    destination_id, state, reason, last_error, attempts, retry_count,
    event_time, created_at, dead_at, resolution, resolved_at, resolved_by)
VALUES ($dead_id, $outbox_id, $mid, $sender_id, $dest_id, $destination_id,
    $state, $reason, $last_error, $attempts, $retry_count, $event_time,
    $created_at, $dead_at, $resolution, $resolved_at, $resolved_by);

-- name: copy_outbox_totals_get
-- columns: node, pending, sending, sent, failed, expired, canceled,
--     scheduled, accepted_total, sent_total, acked_total, retries_total,
--     failed_total, expired_total, canceled_total, requeued_total,
--     rescues_total, fenced_total
SELECT 0 AS node, pending, sending, sent, failed, expired, canceled, scheduled,
    accepted_total, sent_total, acked_total, retries_total, failed_total,
    expired_total, canceled_total, requeued_total, rescues_total, fenced_total
FROM outbox_totals WHERE one = 1;

-- Overwrites the only row, which the migration has inserted.
-- name: copy_outbox_totals_put(node, pending, sending, sent, failed, expired,
--     canceled, scheduled, accepted_total, sent_total, acked_total,
--     retries_total, failed_total, expired_total, canceled_total,
--     requeued_total, rescues_total, fenced_total)
INSERT INTO outbox_totals (one, pending, sending, sent, failed, expired,
    canceled, scheduled, accepted_total, sent_total, acked_total,
    retries_total, failed_total, expired_total, canceled_total, requeued_total,
    rescues_total, fenced_total)
VALUES ($node + 1, $pending, $sending, $sent, $failed, $expired, $canceled,
    $scheduled, $accepted_total, $sent_total, $acked_total, $retries_total,
    $failed_total, $expired_total, $canceled_total, $requeued_total,
    $rescues_total, $fenced_total)
ON CONFLICT (one) DO UPDATE SET
    pending = excluded.pending, sending = excluded.sending,
    sent = excluded.sent, failed = excluded.failed, expired = excluded.expired,
    canceled = excluded.canceled, scheduled = excluded.scheduled,
    accepted_total = excluded.accepted_total, sent_total = excluded.sent_total,
    acked_total = excluded.acked_total, retries_total = excluded.retries_total,
    failed_total = excluded.failed_total,
    expired_total = excluded.expired_total,
    canceled_total = excluded.canceled_total,
    requeued_total = excluded.requeued_total,
    rescues_total = excluded.rescues_total,
    fenced_total = excluded.fenced_total;

-- name: copy_audit_log_put(audit_id, at, actor, action, object, detail)
INSERT INTO audit_log (audit_id, at, actor, action, object, detail)
VALUES ($audit_id, $at, $actor, $action, $object, $detail);

-- name: copy_rescue_totals
UPDATE outbox_totals SET
    pending = pending + (SELECT count(*) FROM outbox o
        WHERE o.state = 'sending' AND o.kind = EVENT_MESSAGE),
    sending = sending - (SELECT count(*) FROM outbox o
        WHERE o.state = 'sending' AND o.kind = EVENT_MESSAGE)
WHERE one = 1;

-- name: copy_server_keys_put(key_id, public, seed, created_at, signs_at,
--     retires_at, retired_at)
INSERT INTO server_keys (key_id, public, seed, created_at, signs_at, retires_at,
    retired_at)
VALUES ($key_id, $public, $seed, $created_at, $signs_at, $retires_at,
    $retired_at);

-- name: copy_peers_put(destination_id, first_seen_at, last_seen_at, epoch,
--     blocked_at, blocked_by)
INSERT INTO peers (destination_id, first_seen_at, last_seen_at, epoch,
    blocked_at, blocked_by)
VALUES ($destination_id, $first_seen_at, $last_seen_at, $epoch, $blocked_at,
    $blocked_by);

-- name: copy_peer_keys_put(destination_id, key_id, public, pinned_by,
--     first_seen_at, last_seen_at, retired_at)
INSERT INTO peer_keys (destination_id, key_id, public, pinned_by, first_seen_at,
    last_seen_at, retired_at)
VALUES ($destination_id, $key_id, $public, $pinned_by, $first_seen_at,
    $last_seen_at, $retired_at);

-- name: copy_federation_nonces_put(destination_id, key_id, nonce, keep_until)
INSERT INTO federation_nonces (destination_id, key_id, nonce, keep_until)
VALUES ($destination_id, $key_id, $nonce, $keep_until);

-- name: copy_federation_lanes_put(sender_id, recipient_id, class,
--     last_sequence, highest, highest_at)
INSERT INTO federation_lanes (sender_id, recipient_id, class, last_sequence,
    highest, highest_at)
VALUES ($sender_id, $recipient_id, $class, $last_sequence, $highest,
    $highest_at);
