/* SPDX-License-Identifier: MIT */
/*
 * Counters, gauges and histograms from one table, shown as Prometheus text
 * (exposition format 0.0.4).  Updates are relaxed atomics: any thread, no
 * locks, no allocation.
 */
#ifndef METRICS_METRICS_H
#define METRICS_METRICS_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

/* X(id, name without the prefix "twinbox_", type, help).  Histograms are in
 * seconds, fed with microseconds.  Names that differ by their label only stand
 * together; the help is the first one's. */
#define METRICS_TABLE(X)                                                       \
	X(HTTP_REQUESTS, "http_requests_total", METRIC_COUNTER,                \
	    "Requests answered")                                               \
	X(HTTP_REFUSED, "http_refused_total", METRIC_COUNTER,                  \
	    "Of these, requests refused before a route")                       \
	X(HTTP_REFUSED_LIBRARY, "http_refused_library_total", METRIC_COUNTER,  \
	    "Answers of the HTTP library itself, to what is no request")       \
	X(HTTP_TURNED_AWAY, "http_turned_away_total", METRIC_COUNTER,          \
	    "Connections refused at the door: too many, or not of HTTP")       \
	X(HTTP_STRAY, "http_stray_upgrades_total", METRIC_COUNTER,             \
	    "WebSocket upgrades on kept-alive connections, closed without an " \
	    "answer so that the proxy repeats them on a fresh one")            \
	X(HTTP_CONNECTIONS, "http_connections", METRIC_GAUGE,                  \
	    "Open HTTP connections")                                           \
	X(HTTP_DEADLINES, "http_deadlines_total", METRIC_COUNTER,              \
	    "Connections cut at their absolute deadline")                      \
	X(MESSAGES_ACCEPTED, "messages_accepted_total", METRIC_COUNTER,        \
	    "Messages accepted (committed with their outbox row)")             \
	X(MESSAGES_REPLAYED, "messages_replayed_total", METRIC_COUNTER,        \
	    "Sends answered from an earlier acceptance")                       \
	X(OUTBOX_SENT, "outbox_sent_total", METRIC_COUNTER,                    \
	    "Outbox rows delivered into an inbox")                             \
	X(OUTBOX_ACKED, "outbox_acked_total", METRIC_COUNTER,                  \
	    "Outbox rows acked by their recipient")                            \
	X(OUTBOX_RETRIES, "outbox_retries_total", METRIC_COUNTER,              \
	    "Times that a message was refused and put off")                    \
	X(OUTBOX_RESCUES, "outbox_rescues_total", METRIC_COUNTER,              \
	    "Messages whose lease ran out")                                    \
	X(OUTBOX_FENCED, "outbox_fenced_total", METRIC_COUNTER,                \
	    "Answers that came after their lease was lost")                    \
	X(BOUNCES, "bounces_total", METRIC_COUNTER,                            \
	    "Bounces put into senders' inboxes")                               \
	X(DUPLICATES, "duplicates_total", METRIC_COUNTER,                      \
	    "Messages that a destination had already")                         \
	X(QUEUE_FULL, "queue_full_total", METRIC_COUNTER,                      \
	    "Sends refused because too much waits")                            \
	X(OUTBOX_PENDING, "outbox_pending", METRIC_GAUGE,                      \
	    "Outbox rows that wait for delivery")                              \
	X(INBOX_EVENTS, "inbox_events_total", METRIC_COUNTER,                  \
	    "Events written to inboxes")                                       \
	X(RECEIPTS, "receipts_total", METRIC_COUNTER, "Receipts made")         \
	X(DELIVERY_SECONDS, "delivery_seconds", METRIC_HISTOGRAM,              \
	    "From acceptance to the recipient's inbox")                        \
	X(COMMIT_SECONDS, "commit_seconds", METRIC_HISTOGRAM,                  \
	    "Duration of a COMMIT with its fsync")                             \
	X(BATCH_UNITS, "batch_units_total", METRIC_COUNTER,                    \
	    "Units of work committed")                                         \
	X(BATCHES, "batches_total", METRIC_COUNTER,                            \
	    "Transactions committed by the writer")                            \
	X(BATCHES_ABANDONED, "batches_abandoned_total", METRIC_COUNTER,        \
	    "Transactions rolled back and redone singly")                      \
	X(CHECKPOINTS, "checkpoints_total", METRIC_COUNTER,                    \
	    "Checkpoints of the write-ahead log")                              \
	X(WAL_BYTES, "wal_bytes", METRIC_GAUGE, "Size of the write-ahead log") \
	X(WS_SESSIONS, "ws_sessions", METRIC_GAUGE, "Open WebSocket sessions") \
	X(WS_REFUSED, "ws_refused_total", METRIC_COUNTER,                      \
	    "WebSocket upgrades refused")                                      \
	X(WS_EVENTS, "ws_events_total", METRIC_COUNTER,                        \
	    "Events written to WebSocket sessions")                            \
	X(WS_BEHIND, "ws_behind_total", METRIC_COUNTER,                        \
	    "Times a session had to be read from the store")                   \
	X(PUSH_OVERFLOWS, "push_overflows_total", METRIC_COUNTER,              \
	    "Times that push was told too much at once and read the store")    \
	X(LONG_POLLS, "long_polls", METRIC_GAUGE, "Waiting long-polls")        \
	X(LOGINS, "logins_total", METRIC_COUNTER, "Successful log-ins")        \
	X(LOGINS_REFUSED, "logins_refused_total", METRIC_COUNTER,              \
	    "Refused log-ins")                                                 \
	X(PASSWORDS, "passwords_total", METRIC_COUNTER,                        \
	    "Runs of argon2, for passwords made or compared")                  \
	X(PURGED_OUTBOX, "purged_total{table=\"outbox\"}", METRIC_COUNTER,     \
	    "Rows deleted because they were older than their retention")       \
	X(PURGED_ATTEMPTS, "purged_total{table=\"outbox_attempts\"}",          \
	    METRIC_COUNTER, "")                                                \
	X(PURGED_PROCESSED, "purged_total{table=\"processed_messages\"}",      \
	    METRIC_COUNTER, "")                                                \
	X(PURGED_DEAD, "purged_total{table=\"dead_letter_queue\"}",            \
	    METRIC_COUNTER, "")                                                \
	X(PURGED_AUDIT, "purged_total{table=\"audit_log\"}", METRIC_COUNTER,   \
	    "")                                                                \
	X(PURGE_FAILURES, "purge_failures_total", METRIC_COUNTER,              \
	    "Times that purging was put off: disk, archive, writer")           \
	X(SCRUBBED_ROWS, "scrubbed_rows_total", METRIC_COUNTER,                \
	    "Rows read by the scrubber")                                       \
	X(SCRUB_ERRORS, "scrub_errors_total", METRIC_COUNTER,                  \
	    "What the scrubber found wrong: look at the log, run fsck")        \
	X(MARK_FAILURES, "mark_failures_total", METRIC_COUNTER,                \
	    "Times that DATA/mark could not be written")                       \
	X(LOG_DROPPED, "log_dropped_total", METRIC_COUNTER,                    \
	    "Log lines dropped because the log was not read")

enum metric {
#define X(id, name, type, help) METRIC_##id,
	METRICS_TABLE(X)
#undef X
	    METRIC_COUNT
};

struct metrics;

/* A set of metrics, all zero.  NULL: no memory. */
struct metrics *metrics_new(void);
void metrics_free(struct metrics *m);

/* ${m} may be NULL in all of these, which then do nothing. */
void metrics_add(struct metrics *m, enum metric id, int64_t n);
void metrics_set(struct metrics *m, enum metric id, int64_t v);
void metrics_observe_us(struct metrics *m, enum metric id, int64_t us);

/* The value of a counter or gauge; of a histogram its count. */
int64_t metrics_get(const struct metrics *m, enum metric id);

/* Appends all of them as Prometheus text. */
void metrics_write(const struct metrics *m, struct buf *out);

#endif
