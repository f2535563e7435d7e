/* SPDX-License-Identifier: MIT */
/*
 * Declarations that all files of this module share.
 */
#ifndef ADMIN_ADMIN_INTERNAL_H
#define ADMIN_ADMIN_INTERNAL_H

#include "admin/admin.h"
#include "admin/alerts.h"
#include "base/lock.h"
#include "rest/call.h"

struct admin {
	struct admin_options o;
	int64_t start_ms;
	/* For updates of metrics that are counted outside of this module. */
	struct lock lock;
	struct alerts *alerts;
	struct alert_thread *alert_thread; /* NULL: not started */
};

/* The figures for GET /metrics and for the alerts: the gauges of the database,
 * the statistics of the relay, the size of the write-ahead log, and readiness,
 * read one right after the other.  Too large for a stack. */
struct stats_snapshot {
	struct gauges gauges;
	struct relay_stats relay;
	int64_t relay_age_ms; /* since the relay's last turn; -1: none yet */
	int64_t log_bytes;
	bool ready;
};

/* Fills ${ret}.  Then updates the members of struct metrics whose values other
 * modules count: from ${ret}, from the writer's statistics, and from the number
 * of dropped log lines (log_dropped()).  After an error ${ret} is incomplete,
 * and struct metrics is unchanged.  Thread: reader. */
enum rc stats_snapshot_take(struct admin *admin, struct db *db,
    struct stats_snapshot *ret, struct err *err) MUST_USE;

/* Copies ${totals} into the gauges of messages by state and into the counters
 * of what has happened to messages.  The database stores the totals, so the
 * counters continue after a restart.  Only one thread may call this function at
 * a time; stats_snapshot_take() does so under the lock of struct admin. */
void stats_snapshot_totals(
    struct metrics *metrics, const struct gauges_totals *totals);

/* Appends ${snapshot} as Prometheus text. */
void stats_snapshot_metrics_write(const struct admin *admin,
    const struct stats_snapshot *snapshot, struct buf *out);

struct alert_thread;

/* Starts a thread that makes a reader's thread evaluate the alerts, again and
 * again.  The first evaluation begins ${admin}->o.alert_interval_ms after the
 * start of the thread, each later one that time after the end of the previous
 * evaluation.  If the readers have no room, or the figures cannot be read, this
 * evaluation is left out, and the thread sleeps for another interval.  After an
 * error no thread is left, and *ret is not set. */
enum rc alert_thread_start(
    struct admin *admin, struct alert_thread **ret, struct err *err) MUST_USE;

/* Waits for the end of an evaluation under way, ends the thread, frees *thread
 * and sets it to NULL.  Does nothing if *thread is NULL. */
void alert_thread_stop(struct alert_thread **thread);

/* A file of docs/, which the build makes part of the program. */
struct document {
	const unsigned char *data;
	size_t len;
};

extern const struct document document_openapi;
extern const struct document document_asyncapi;

/* Appends the processor time, the memory, the file descriptors and the start
 * time of this process as Prometheus text.  ${start_ms} is the wall time of the
 * start, in milliseconds since 1970. */
void process_metrics_write(struct buf *b, int64_t start_ms);

/* Returns the admin to which the route of ${call} belongs. */
static inline struct admin *
admin_of(const struct call *call)
{

	return (call->module);
}

/* Handlers.  The argument is the struct rest. */
void admin_health(struct http_request *req, void *arg);
void admin_ready(struct http_request *req, void *arg);
void admin_metrics(struct http_request *req, void *arg);
void admin_openapi(struct http_request *req, void *arg);
void admin_asyncapi(struct http_request *req, void *arg);
void admin_problems(struct http_request *req, void *arg);
void admin_problem(struct http_request *req, void *arg);
void admin_front_page(struct http_request *req, void *arg);
void admin_worker(struct http_request *req, void *arg);

#endif
