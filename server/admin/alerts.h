/* SPDX-License-Identifier: MIT */
/*
 * The server's own alerts: the cheap ones of contrib/prometheus/alerts.yaml,
 * for whom no Prometheus watches, judged once a minute from the same gauges.
 * One is raised when its condition has held for so long as the table says, and
 * is cleared at the first evaluation at which it does not; both are logged.
 *
 * The evaluation alone: it is given the gauges, and reads its clock.  When it
 * happens is decided in alert_thread.c.
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

/* X(id, name, severity, hold in ms): the name is that of the Prometheus alert
 * in lower case (relay_silent is TwinboxRelaySilent).  Where an age says it
 * already there is no further hold. */
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

/* The thresholds: an alert is raised beyond its threshold, not at it. */
#define ALERTS_DEPTH 100
#define ALERTS_BACKLOG 1000
#define ALERTS_FAILED_MANY 10
#define ALERTS_STUCK_MS (30 * ALERTS_MINUTE_MS)
#define ALERTS_SLOW_MS (5 * ALERTS_MINUTE_MS)
#define ALERTS_RETRY_PERCENT 10
#define ALERTS_BREAKER_MS (10 * ALERTS_MINUTE_MS)
#define ALERTS_SILENT_MS 10000
#define ALERTS_LOG_BYTES (64 << 20)
/* The wall clock moved by itself. */
#define ALERTS_JUMP_MS 5000

struct alerts;

/* Other servers whose clock is off, and the one that is off most. */
struct alerts_clocks {
	size_t n;
	char domain[LIMIT_DOMAIN_LEN + 1];
	int64_t ahead_ms; /* negative: it is behind */
};

/* The values that an evaluation reads. */
struct alerts_input {
	const struct gauges *gauges;
	const struct peer_changes *changes;
	struct alerts_clocks clocks;
	int64_t relay_age_ms; /* since the relay turned; -1: not known */
	int64_t log_bytes;
	int64_t delivered;    /* of METRIC_DELIVERY_SECONDS: how many, */
	int64_t delivered_us; /* and their sum */
};

/* The rates of the last hour, or since the first evaluation. */
struct alerts_rates {
	int64_t window_ms;
	int64_t delivered;
	int64_t latency_ms; /* their average; -1: there were none */
	int64_t sent;
	int64_t retries;
};

/* None is raised.  Both are kept; ${m} may be NULL.  NULL: no memory. */
struct alerts *alerts_new(const struct clk *clk, struct metrics *m);

/* Frees.  NULL is allowed. */
void alerts_free(struct alerts *a);

/* Judges all of them, logs what has begun and what has ended. */
void alerts_evaluate(struct alerts *a, const struct alerts_input *input);

/* Appends those that are raised as a JSON array: name, severity, since, text.
 * Thread: any. */
void alerts_write(struct alerts *a, struct buf *out);

/* Appends a gauge for each, 1 while it is raised, as Prometheus text.
 * Thread: any. */
void alerts_metrics_write(struct alerts *a, struct buf *out);

/* The last hour.  Thread: any. */
void alerts_rates(struct alerts *a, struct alerts_rates *ret);

#endif
