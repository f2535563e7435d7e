-- SPDX-License-Identifier: MIT
-- The gauges of /metrics and of the alerts (inspect/gauges.c).  Monitoring
-- systems read them often.  Therefore each statement reads one row or walks
-- along a bounded number of rows, independent of the size of the backlog.

-- name: gauges_oldest_sending
-- columns: oldest_at
SELECT min(last_status_at) AS oldest_at FROM outbox WHERE state = 'sending';
