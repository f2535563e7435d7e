/* SPDX-License-Identifier: MIT */
/*
 * The server's own alerts, for installations without Prometheus: those of
 * contrib/prometheus/alerts.yaml that are cheap to evaluate.  alert_thread.c
 * has all of them evaluated together, each time alert_interval_ms (the setting
 * alert-interval, by default a minute) after the end of the last evaluation.
 * An alert is raised when its condition has held at each evaluation for the
 * time in the table, and cleared at the first evaluation at which the condition
 * does not hold.  Both are logged.
 *
 * The functions here read no database and start no thread: the caller passes
 * the figures (struct alerts_input) to alerts_evaluate(), which reads only the
 * clock.
 */
#ifndef ADMIN_ALERTS_H
#define ADMIN_ALERTS_H

#include "base/buf.h"
#include "base/clk.h"
#include "inspect/gauges.h"
#include "inspect/peer_changes.h"
#include "metrics/metrics.h"

#define ALERTS_MINUTE_MS 60000

enum alert_severity { ALERT_WARNING, ALERT_ERROR, ALERT_CRITICAL };

/* X(id, name, severity, hold in ms).  The name is that of the Prometheus alert
 * without "Twinbox", with lower case and underscores: relay_silent is
 * TwinboxRelaySilent.  A hold of 0 raises the alert at the first evaluation at
 * which its condition holds.  If the condition itself compares an age with a
 * limit, the hold is 0. */
#define ALERTS_TABLE(X)                                                        \
	X(DEPTH_HIGH, "outbox_depth_high", ALERT_WARNING, 0)                   \
	X(BACKLOG, "outbox_backlog", ALERT_WARNING, 5 * ALERTS_MINUTE_MS)      \
	X(FAILED, "outbox_failed", ALERT_CRITICAL, 0)                          \
	X(FAILED_MANY, "outbox_failed_many", ALERT_ERROR, 0)                   \
	X(STUCK_SENDING, "outbox_stuck_sending", ALERT_WARNING, 0)             \
	X(DELIVERY_SLOW, "delivery_slow", ALERT_WARNING, 0)                    \
	X(RETRY_RATE_HIGH, "retry_rate_high", ALERT_WARNING, 0)                \
	X(BREAKER_OPEN, "breaker_open", ALERT_WARNING, 0)                      \
	X(RELAY_SILENT, "relay_silent", ALERT_CRITICAL, 0)                     \
	X(LOG_LARGE, "log_large", ALERT_WARNING, 5 * ALERTS_MINUTE_MS)         \
	X(PEER_KEYS_CHANGED, "peer_keys_changed", ALERT_WARNING, 0)            \
	X(PEER_RESTORED, "peer_restored", ALERT_ERROR, 0)                      \
	X(PEER_CLOCK_OFF, "peer_clock_off", ALERT_WARNING, 0)

enum alert {
#define X(id, name, severity, hold_ms) ALERT_##id,
	ALERTS_TABLE(X)
#undef X
	    ALERT_COUNT
};

/* The thresholds.  A condition holds above its threshold, not at it. */
#define ALERTS_DEPTH 100
#define ALERTS_BACKLOG 1000
#define ALERTS_FAILED_MANY 10
#define ALERTS_STUCK_MS (30 * ALERTS_MINUTE_MS)
#define ALERTS_SLOW_MS (5 * ALERTS_MINUTE_MS)
#define ALERTS_RETRY_PERCENT 10
#define ALERTS_BREAKER_MS (10 * ALERTS_MINUTE_MS)
#define ALERTS_SILENT_MS 10000
#define ALERTS_LOG_BYTES (256 << 20)
/* The wall clock has jumped if the wall clock minus the monotonic clock has
 * changed by more than this number of milliseconds, up or down, since the
 * previous evaluation. */
#define ALERTS_JUMP_MS 5000

struct alerts;

/* The other servers whose clocks are off, and the worst of them. */
struct alerts_clocks {
	size_t n;
	char domain[LIMIT_DOMAIN_LEN + 1];
	int64_t ahead_ms; /* negative: its clock is behind */
};

/* The values that an evaluation reads. */
struct alerts_input {
	const struct gauges *gauges;
	const struct peer_changes *changes;
	struct alerts_clocks clocks;
	int64_t relay_age_ms; /* since its last turn; -1: not known */
	int64_t log_bytes;
	int64_t delivered;    /* count of METRIC_DELIVERY_SECONDS */
	int64_t delivered_us; /* sum of METRIC_DELIVERY_SECONDS */
};

/* The figures of the window_ms before the newest evaluation.  delivered counts
 * the deliveries of this process; sent and retries come from the database, so
 * they are those of all nodes.  The window begins at the oldest earlier
 * evaluation whose sums are kept and at most an hour old or, if all kept sums
 * are older, at the newest of them.  window_ms is 0 at the first evaluation. */
struct alerts_rates {
	int64_t window_ms;
	int64_t delivered;
	int64_t latency_ms; /* average delivery time; -1: no delivery */
	int64_t sent;
	int64_t retries;
};

/* Makes alerts of which none is raised.  Keeps the pointers ${clk}, which it
 * reads at each evaluation, and ${m}, in which it counts jumps of the wall
 * clock; ${m} may be NULL.  Returns NULL if there is no memory. */
struct alerts *alerts_new(const struct clk *clk, struct metrics *m);

/* Frees ${a}.  NULL is allowed. */
void alerts_free(struct alerts *a);

/* Evaluates all alerts with the figures of ${input}, and logs those that become
 * raised, or are cleared, by this evaluation.  Also counts and logs jumps of
 * the wall clock.  Only one thread may call this function at a time. */
void alerts_evaluate(struct alerts *a, const struct alerts_input *input);

/* Appends a JSON array with an object for each alert that is raised: its name
 * and severity, the time since when its condition has held (since), and the
 * reason at the last evaluation (text).  Thread: any. */
void alerts_write(struct alerts *a, struct buf *out);

/* Appends one gauge for each alert, 1 while it is raised, otherwise 0, as
 * Prometheus text.  Thread: any. */
void alerts_metrics_write(struct alerts *a, struct buf *out);

/* Copies the rates of the last evaluation to ${ret}.  Thread: any. */
void alerts_rates(struct alerts *a, struct alerts_rates *ret);

#endif
