/* SPDX-License-Identifier: MIT */
/*
 * Counters, gauges and histograms, defined by the two tables METRICS_TABLE and
 * METRICS_BY_TABLE below, and shown as Prometheus text (exposition format
 * 0.0.4).  Updates are relaxed atomic operations, so any thread may make them,
 * without locks and allocation.
 *
 * Labels: METRICS_BY_TABLE has counters with a label whose possible values (its
 * words) are known when the program is built.  Metrics whose labels come from
 * the store (destinations) are not kept here; the page that shows them uses
 * metrics_family() and metrics_sample().
 */
#ifndef METRICS_METRICS_H
#define METRICS_METRICS_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

/* A METRIC_HISTOGRAM is shown in seconds and updated in microseconds.  A
 * METRIC_SIZES is a histogram of whole numbers. */
enum metric_type {
	METRIC_COUNTER,
	METRIC_GAUGE,
	METRIC_HISTOGRAM,
	METRIC_SIZES
};

/* X(id, name without the prefix "twinbox_", type, help). */
#define METRICS_TABLE(X)                                                       \
	X(HTTP_REQUESTS, "http_requests_total", METRIC_COUNTER,                \
	    "Requests answered")                                               \
	X(HTTP_REFUSED, "http_refused_total", METRIC_COUNTER,                  \
	    "Of these, requests refused before a route")                       \
	X(HTTP_REFUSED_LIBRARY, "http_refused_library_total", METRIC_COUNTER,  \
	    "Answers of the HTTP library itself, to malformed requests")       \
	X(HTTP_TURNED_AWAY, "http_turned_away_total", METRIC_COUNTER,          \
	    "Connections refused unread: too many, or not HTTP")               \
	X(HTTP_STRAY, "http_stray_upgrades_total", METRIC_COUNTER,             \
	    "WebSocket upgrades on kept-alive connections, closed without an " \
	    "answer so that the proxy repeats them on a fresh one")            \
	X(HTTP_CONNECTIONS, "http_connections", METRIC_GAUGE,                  \
	    "Open HTTP connections")                                           \
	X(HTTP_DEADLINES, "http_deadlines_total", METRIC_COUNTER,              \
	    "Connections cut at their absolute deadline")                      \
	X(HTTP_ANSWER_BYTES, "http_answer_bytes", METRIC_GAUGE,                \
	    "Bytes of large answers that their clients have not read yet")     \
	X(HTTP_ANSWERS_REFUSED, "http_answers_refused_total", METRIC_COUNTER,  \
	    "Large answers replaced by 503: answer-memory was used up")        \
	X(HTTP_BODIES_REFUSED, "http_bodies_refused_total", METRIC_COUNTER,    \
	    "Large requests refused with 503: request-memory was used up")     \
	X(MESSAGES_ACCEPTED, "messages_accepted_total", METRIC_COUNTER,        \
	    "Messages accepted (committed with their outbox row)")             \
	X(SENDS_OVER_QUOTA, "sends_over_quota_total", METRIC_COUNTER,          \
	    "Sends refused: the quota of their user and day was used up")      \
	X(SENDS_NO_ROOM, "sends_no_room_total", METRIC_COUNTER,                \
	    "Sends refused: the disk had less room than disk-reserve")         \
	X(MESSAGES_REPLAYED, "messages_replayed_total", METRIC_COUNTER,        \
	    "Sends answered from an earlier acceptance")                       \
	X(OUTBOX_SENT, "outbox_sent_total", METRIC_COUNTER,                    \
	    "Messages delivered into an inbox")                                \
	X(OUTBOX_ACKED, "outbox_acked_total", METRIC_COUNTER,                  \
	    "Messages acked by their recipient")                               \
	X(OUTBOX_RETRIES, "outbox_retries_total", METRIC_COUNTER,              \
	    "Attempts that failed and are repeated")                           \
	X(OUTBOX_EXPIRED, "outbox_expired_total", METRIC_COUNTER,              \
	    "Messages whose time ran out before they were delivered")          \
	X(OUTBOX_CANCELED, "outbox_canceled_total", METRIC_COUNTER,            \
	    "Messages taken back by their senders")                            \
	X(OUTBOX_REQUEUED, "outbox_requeued_total", METRIC_COUNTER,            \
	    "Messages given a new place after they had ended")                 \
	X(OUTBOX_RESCUES, "outbox_rescues_total", METRIC_COUNTER,              \
	    "Messages reclaimed from a lease that ran out")                    \
	X(OUTBOX_FENCED, "outbox_fenced_total", METRIC_COUNTER,                \
	    "Outcomes refused because their lease had ended")                  \
	X(OUTBOX_PENDING, "outbox_pending", METRIC_GAUGE,                      \
	    "Messages that wait for delivery")                                 \
	X(OUTBOX_SCHEDULED, "outbox_scheduled", METRIC_GAUGE,                  \
	    "Messages that wait for their time")                               \
	X(OUTBOX_SENDING, "outbox_sending", METRIC_GAUGE,                      \
	    "Messages that are being sent to another server")                  \
	X(OUTBOX_SENT_NOW, "outbox_sent", METRIC_GAUGE,                        \
	    "Messages delivered and not acked yet")                            \
	X(OUTBOX_FAILED_NOW, "outbox_failed", METRIC_GAUGE,                    \
	    "Messages that have failed, resolved or not")                      \
	X(OUTBOX_EXPIRED_NOW, "outbox_expired", METRIC_GAUGE,                  \
	    "Messages that have expired, resolved or not")                     \
	X(OUTBOX_OLDEST_SENDING, "outbox_oldest_sending_seconds",              \
	    METRIC_GAUGE, "Age of the oldest attempt that is under way")       \
	X(LANES_READY, "lanes_ready", METRIC_GAUGE,                            \
	    "Lanes to other servers with something to send; at most 10000 "    \
	    "are counted")                                                     \
	X(BOUNCES, "bounces_total", METRIC_COUNTER,                            \
	    "Bounces written for senders whose message failed")                \
	X(QUEUE_FULL, "queue_full_total", METRIC_COUNTER,                      \
	    "Sends refused because too many messages wait")                    \
	X(DUPLICATES, "duplicates_total", METRIC_COUNTER,                      \
	    "Events that were offered again and left out")                     \
	X(SCRUB_ERRORS, "scrub_errors_total", METRIC_COUNTER,                  \
	    "Violations and damage found in the background")                   \
	X(PURGE_LAST, "purge_last_run_timestamp_seconds", METRIC_GAUGE,        \
	    "When old rows were last purged, in seconds since 1970; until "    \
	    "then the start; 0 where another node does it")                    \
	X(RELAY_TURN, "relay_last_turn_seconds", METRIC_GAUGE,                 \
	    "Time since the last turn of the relay")                           \
	X(RELAY_IN_FLIGHT, "relay_in_flight", METRIC_GAUGE,                    \
	    "Messages that the relay has under way")                           \
	X(INBOX_EVENTS, "inbox_events_total", METRIC_COUNTER,                  \
	    "Events written to inboxes")                                       \
	X(RECEIPTS, "receipts_total", METRIC_COUNTER, "Receipts made")         \
	X(DELIVERY_SECONDS, "delivery_seconds", METRIC_HISTOGRAM,              \
	    "From acceptance, or the time asked for, to the inbox")            \
	X(EVENT_SECONDS, "event_to_delivery_seconds", METRIC_HISTOGRAM,        \
	    "From the time that its sender gives it to the inbox")             \
	X(ATTEMPT_SECONDS, "attempt_seconds", METRIC_HISTOGRAM,                \
	    "From a claim for another server to what came of it")              \
	X(CLAIM_ROWS, "claim_rows", METRIC_SIZES,                              \
	    "Messages taken up by one claim for another server")               \
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
	X(DISK_ROOM, "disk_room_bytes", METRIC_GAUGE,                          \
	    "Free bytes on the disk of the database (SQLite)")                 \
	X(DISK_LOW, "disk_low", METRIC_GAUGE,                                  \
	    "1 while the disk has less room than disk-reserve, and new "       \
	    "messages are refused")                                            \
	X(UNITS_DEFERRED, "units_deferred", METRIC_GAUGE,                      \
	    "Units of work that wait for rows of PostgreSQL that another "     \
	    "transaction has locked")                                          \
	X(WS_SESSIONS, "ws_sessions", METRIC_GAUGE, "Open WebSocket sessions") \
	X(WS_REFUSED, "ws_refused_total", METRIC_COUNTER,                      \
	    "WebSocket upgrades refused")                                      \
	X(WS_EVENTS, "ws_events_total", METRIC_COUNTER,                        \
	    "Events written to WebSocket sessions")                            \
	X(WS_BEHIND, "ws_behind_total", METRIC_COUNTER,                        \
	    "Times a session had to be read from the store")                   \
	X(PUSH_OVERFLOWS, "push_overflows_total", METRIC_COUNTER,              \
	    "Times that push dropped effects and read the store instead")      \
	X(WS_NEWCOMERS, "ws_newcomers", METRIC_GAUGE,                          \
	    "WebSocket sessions whose user is not known yet")                  \
	X(WS_NEWCOMERS_CUT, "ws_newcomers_cut_total", METRIC_COUNTER,          \
	    "Of these, sessions that were cut to make room for others")        \
	X(LONG_POLLS, "long_polls", METRIC_GAUGE, "Waiting long-polls")        \
	X(LOGINS, "logins_total", METRIC_COUNTER, "Successful log-ins")        \
	X(LOGINS_REFUSED, "logins_refused_total", METRIC_COUNTER,              \
	    "Refused log-ins")                                                 \
	X(REGISTRATIONS_REFUSED, "registrations_refused_total",                \
	    METRIC_COUNTER,                                                    \
	    "Registrations refused because too many came: from their "         \
	    "network, or in all")                                              \
	X(PASSWORDS, "passwords_total", METRIC_COUNTER,                        \
	    "Runs of argon2, for passwords made or compared")                  \
	X(PURGE_FAILURES, "purge_failures_total", METRIC_COUNTER,              \
	    "Purges that failed and are repeated: disk, archive, writer")      \
	X(SCRUBBED_ROWS, "scrubbed_rows_total", METRIC_COUNTER,                \
	    "Rows read by the scrubber")                                       \
	X(MARK_FAILURES, "mark_failures_total", METRIC_COUNTER,                \
	    "Times that DATA/mark could not be written")                       \
	X(LOG_DROPPED, "log_dropped_total", METRIC_COUNTER,                    \
	    "Log lines dropped because the log was not read")                  \
	X(CLOCK_JUMPS, "clock_jumps_total", METRIC_COUNTER,                    \
	    "Times that the wall clock moved by itself, by more than 5 s")

/* X(word): the words, which are the possible values of a label in
 * METRICS_BY_TABLE, one list for each label.  A word that is not listed is
 * counted as the last one, which is "other" in each list where such a word may
 * occur. */
#define METRIC_REASONS(X)                                                      \
	X("max_retries")                                                       \
	X("rejected")                                                          \
	X("poison")                                                            \
	X("too_large")                                                         \
	X("discarded")                                                         \
	X("other")
#define METRIC_EVENTS(X)                                                       \
	X("sent")                                                              \
	X("acked")                                                             \
	X("retry")                                                             \
	X("failed")                                                            \
	X("other")
#define METRIC_PURGED_TABLES(X)                                                \
	X("outbox")                                                            \
	X("outbox_attempts")                                                   \
	X("processed_messages")                                                \
	X("dead_letter_queue")                                                 \
	X("audit_log")                                                         \
	X("federation_nonces")                                                 \
	X("destinations")                                                      \
	X("inbox")                                                             \
	X("messages")                                                          \
	X("other")

/* The outcome of a request of another server. */
#define METRIC_REQUESTS_IN(X)                                                  \
	X("taken")                                                             \
	X("unsigned")                                                          \
	X("repeated")                                                          \
	X("refused")                                                           \
	X("key-unknown")                                                       \
	X("malformed")                                                         \
	X("limited")                                                           \
	X("busy")                                                              \
	X("draining")                                                          \
	X("other")
/* The class of an answer of another server: the words of enum
 * classify_class. */
#define METRIC_REQUESTS_OUT(X)                                                 \
	X("settle")                                                            \
	X("sign-anew")                                                         \
	X("charge")                                                            \
	X("charge-alert")                                                      \
	X("halve")                                                             \
	X("reject")                                                            \
	X("park")                                                              \
	X("other")
/* The reason why a signature is refused: the words of enum signature_fault. */
#define METRIC_SIGNATURE_FAULTS(X)                                             \
	X("signature-missing")                                                 \
	X("signature-malformed")                                               \
	X("signature-components")                                              \
	X("signature-parameters")                                              \
	X("signature-expired")                                                 \
	X("signature-early")                                                   \
	X("signature-wrong")                                                   \
	X("digest-wrong")                                                      \
	X("nonce-repeated")                                                    \
	X("other")
/* These are all directions, so there is no "other". */
#define METRIC_DIRECTIONS(X)                                                   \
	X("in")                                                                \
	X("out")

/* X(id, name without the prefix "twinbox_", label, its words, help): counters,
 * one for each word.  The text of a label may begin with labels of a fixed
 * value, as Prometheus writes them (direction="in",outcome).  Rows with the
 * same name must follow each other: they form one family, with the help of the
 * first row. */
#define METRICS_BY_TABLE(X)                                                    \
	X(OUTBOX_EVENTS, "outbox_events_total", "event", METRIC_EVENTS,        \
	    "Events of outbox entries published to senders")                   \
	X(OUTBOX_FAILED, "outbox_failed_total", "reason", METRIC_REASONS,      \
	    "Messages that have failed, by reason")                            \
	X(PURGED, "purged_total", "table", METRIC_PURGED_TABLES,               \
	    "Old rows removed, by table")                                      \
	X(FEDERATION_IN, "federation_requests_total",                          \
	    "direction=\"in\",outcome", METRIC_REQUESTS_IN,                    \
	    "Requests between this server and others, by outcome")             \
	X(FEDERATION_OUT, "federation_requests_total",                         \
	    "direction=\"out\",outcome", METRIC_REQUESTS_OUT,                  \
	    "Requests between this server and others, by outcome")             \
	X(SIGNATURE_FAILURES, "federation_signature_failures_total", "reason", \
	    METRIC_SIGNATURE_FAULTS,                                           \
	    "Requests of other servers with an invalid signature")             \
	X(FEDERATION_BYTES, "federation_bytes_total", "direction",             \
	    METRIC_DIRECTIONS,                                                 \
	    "Bytes of bodies of requests with a valid signature")

enum metric {
#define X(id, name, type, help) METRIC_##id,
	METRICS_TABLE(X)
#undef X
	    METRIC_COUNT
};

enum metric_by {
#define X(id, name, label, words, help) METRIC_BY_##id,
	METRICS_BY_TABLE(X)
#undef X
	    METRIC_BY_COUNT
};

struct metrics;

/* metrics_new() makes a set of metrics, all zero, or returns NULL if there is
 * no memory.  metrics_free() frees a set; NULL is allowed. */
struct metrics *metrics_new(void);
void metrics_free(struct metrics *m);

/* Update a metric: metrics_add() a counter or a gauge, metrics_set() a gauge,
 * metrics_observe_us() a METRIC_HISTOGRAM, metrics_observe_size() a
 * METRIC_SIZES.  A negative observation counts as 0.  If ${m} is NULL, they do
 * nothing.  Thread: any. */
void metrics_add(struct metrics *m, enum metric id, int64_t n);
void metrics_set(struct metrics *m, enum metric id, int64_t v);
void metrics_observe_us(struct metrics *m, enum metric id, int64_t us);
void metrics_observe_size(struct metrics *m, enum metric id, int64_t n);

/* Adds ${n} to the counter of ${word}, or to that of the last word if ${word}
 * is not listed.  If ${m} is NULL, does nothing.  Thread: any. */
void metrics_add_by(
    struct metrics *m, enum metric_by id, const char *word, int64_t n);

/* Returns the value of a counter or gauge, or the number of observations of a
 * histogram.  Returns 0 if ${m} is NULL, as metrics_sum() and metrics_get_by()
 * do. */
int64_t metrics_get(const struct metrics *m, enum metric id);

/* Returns the sum of a histogram, in microseconds; of METRIC_SIZES, as it was
 * observed. */
int64_t metrics_sum(const struct metrics *m, enum metric id);

/* Returns the value of the counter of ${word}, or of the last word if ${word}
 * is not listed for ${id}.  Returns 0 if ${m} is NULL. */
int64_t metrics_get_by(
    const struct metrics *m, enum metric_by id, const char *word);

/* Appends all metrics as Prometheus text; nothing if ${m} is NULL. */
void metrics_write(const struct metrics *m, struct buf *out);

/* A label: its name, and its value, any bytes that end with a NUL. */
struct metric_label {
	const char *name;
	const char *value;
};

/* Appends the lines HELP and TYPE of the metric ${name} (without the prefix
 * "twinbox_"), which need not be in a table.  The caller must append the
 * samples of this metric next (metrics_sample()), before any other metric. */
void metrics_family(
    struct buf *out, const char *name, enum metric_type type, const char *help);

/* Appends a sample of the metric ${name} (without the prefix) with ${n} labels.
 * Backslash, quote and line feed are escaped in the values of labels, so that
 * no value can end its line or forge another one.  Bytes that are not UTF-8,
 * which the format requires, become '?'. */
void metrics_sample(struct buf *out, const char *name,
    const struct metric_label *labels, size_t n, int64_t value);

#endif
