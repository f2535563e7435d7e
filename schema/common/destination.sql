-- SPDX-License-Identifier: MIT
-- Destinations and their breakers.

-- row: destination(destination_id, name, breaker, failures, successes,
--     interval_ms, next_probe_at, failing_since, last_success_at,
--     last_failure_at, last_error, paused_at, paused_by, pause_reason,
--     per_second)

-- Returns the id of the existing row if another node has just inserted the
-- destination.  $updated_at is 0 if only the document of the server was read.
-- The purger may delete such a row, until destination_use says that a user or
-- an operator needs it.
-- name: destination_insert(name, now, updated_at)
-- columns: destination_id
INSERT INTO destinations (name, created_at, updated_at)
VALUES ($name, $now, $updated_at)
ON CONFLICT (name) DO UPDATE SET updated_at =
    CASE WHEN destinations.updated_at = 0 THEN excluded.updated_at
    ELSE destinations.updated_at END
RETURNING destination_id;

-- name: destination_use(destination_id, now)
UPDATE destinations SET updated_at = $now
WHERE destination_id = $destination_id AND updated_at = 0;

-- name: destination_by_name(name)
-- columns: as destination
SELECT destination_id, name, breaker, failures, successes, interval_ms,
    next_probe_at, failing_since, last_success_at, last_failure_at, last_error,
    paused_at, paused_by, pause_reason, per_second
FROM destinations WHERE name = $name;

-- name: destination_by_id(destination_id)
-- columns: as destination
SELECT destination_id, name, breaker, failures, successes, interval_ms,
    next_probe_at, failing_since, last_success_at, last_failure_at, last_error,
    paused_at, paused_by, pause_reason, per_second
FROM destinations WHERE destination_id = $destination_id;

-- name: destinations_after(after, limit)
-- columns: as destination
SELECT destination_id, name, breaker, failures, successes, interval_ms,
    next_probe_at, failing_since, last_success_at, last_failure_at, last_error,
    paused_at, paused_by, pause_reason, per_second
FROM destinations WHERE destination_id > $after
ORDER BY destination_id LIMIT $limit;

-- name: destination_breaker_set(destination_id, breaker, failures, successes,
--     interval_ms, next_probe_at, failing_since, last_success_at,
--     last_failure_at, last_error, now)
UPDATE destinations SET breaker = $breaker, failures = $failures,
    successes = $successes, interval_ms = $interval_ms,
    next_probe_at = $next_probe_at, failing_since = $failing_since,
    last_success_at = $last_success_at, last_failure_at = $last_failure_at,
    last_error = $last_error, updated_at = $now
WHERE destination_id = $destination_id;

-- name: destination_pause_set(destination_id, paused_at, paused_by,
--     pause_reason, now)
UPDATE destinations SET paused_at = $paused_at, paused_by = $paused_by,
    pause_reason = $pause_reason, updated_at = $now
WHERE destination_id = $destination_id;

-- name: destination_rate_set(destination_id, per_second, now)
UPDATE destinations SET per_second = $per_second, updated_at = $now
WHERE destination_id = $destination_id;
