-- SPDX-License-Identifier: MIT
-- Destinations and their breakers.

-- One that another node has just made is found.
-- name: destination_insert
INSERT INTO destinations (name, created_at, updated_at) VALUES ($1, $2, $2)
ON CONFLICT (name) DO UPDATE SET updated_at = destinations.updated_at
RETURNING destination_id;

-- name: destination_by_name
SELECT destination_id, name, breaker, failures, successes, interval_ms,
    next_probe_at, failing_since, last_success_at, last_failure_at, last_error,
    paused_at, paused_by, pause_reason, per_second
FROM destinations WHERE name = $1;

-- name: destination_by_id
SELECT destination_id, name, breaker, failures, successes, interval_ms,
    next_probe_at, failing_since, last_success_at, last_failure_at, last_error,
    paused_at, paused_by, pause_reason, per_second
FROM destinations WHERE destination_id = $1;

-- name: destinations_after
SELECT destination_id, name, breaker, failures, successes, interval_ms,
    next_probe_at, failing_since, last_success_at, last_failure_at, last_error,
    paused_at, paused_by, pause_reason, per_second
FROM destinations WHERE destination_id > $1
ORDER BY destination_id LIMIT $2;

-- name: destination_breaker_set
UPDATE destinations SET breaker = $2, failures = $3, successes = $4,
    interval_ms = $5, next_probe_at = $6, failing_since = $7,
    last_success_at = $8, last_failure_at = $9, last_error = $10,
    updated_at = $11
WHERE destination_id = $1;

-- name: destination_pause_set
UPDATE destinations SET paused_at = $2, paused_by = $3, pause_reason = $4,
    updated_at = $5
WHERE destination_id = $1;

-- name: destination_rate_set
UPDATE destinations SET per_second = $2, updated_at = $3
WHERE destination_id = $1;
