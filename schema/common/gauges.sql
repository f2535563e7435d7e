-- SPDX-License-Identifier: MIT
-- The gauges of /metrics and of alerts (inspect/gauges.c).  Monitors read them
-- often: each statement reads one row or walks a bounded number, however large
-- the backlog is.

-- name: gauges_oldest_sending
-- columns: oldest_at
SELECT min(last_status_at) AS oldest_at FROM outbox WHERE state = 'sending';
