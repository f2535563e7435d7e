-- SPDX-License-Identifier: MIT
-- What the scrubber reads, a piece at a time behind a position: every row of
-- every table, so that a damaged page is met, and what must follow from the row
-- before.

-- name: scrub_chain
SELECT m.conversation_id, m.conversation_seq, m.message_id, u.name, m.salt,
    m.body, m.digest, m.metadata, m.deleted_at
FROM messages m JOIN users u ON u.user_id = m.sender_id
WHERE m.conversation_seq IS NOT NULL
  AND (m.conversation_id, m.conversation_seq) > ($1, $2)
ORDER BY m.conversation_id, m.conversation_seq LIMIT $3;

-- name: scrub_inbox
SELECT i.user_id, i.seq, b.trimmed, i.attempt
FROM inbox i JOIN inboxes b ON b.user_id = i.user_id
WHERE (i.user_id, i.seq) > ($1, $2)
ORDER BY i.user_id, i.seq LIMIT $3;

-- name: scrub_attempts
SELECT attempt_id, 0, error FROM outbox_attempts
WHERE attempt_id > $1 ORDER BY attempt_id LIMIT $2;

-- name: scrub_dead
SELECT dead_id, 0, resolved_by FROM dead_letter_queue
WHERE dead_id > $1 ORDER BY dead_id LIMIT $2;

-- name: scrub_audit
SELECT audit_id, 0, detail FROM audit_log
WHERE audit_id > $1 ORDER BY audit_id LIMIT $2;

-- name: scrub_meta
SELECT key, 0, value FROM meta WHERE key > $1 ORDER BY key LIMIT $2;
