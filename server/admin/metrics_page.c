/* SPDX-License-Identifier: MIT */
/*
 * GET /metrics, as Prometheus text: all counters, gauges and histograms of
 * struct metrics, brought up to date by a new snapshot of the statistics; the
 * other gauges of the snapshot; and the figures of the process (process.c).
 */
#include <stddef.h>

#include "admin/admin_internal.h"
#include "base/mem.h"
#include "base/owner.h"

#define TEXT_METRICS "text/plain; version=0.0.4; charset=utf-8"

struct metrics_call {
	struct read_job job; /* first */
	struct http_request *req;
	struct rest *rest;
	struct admin *admin;
};

static enum rc
write_page(struct admin *admin, struct db *db, struct buf *out, struct err *err)
{
	struct stats_snapshot *snapshot;
	enum rc rc;

	if ((snapshot = mem_alloc(sizeof(*snapshot))) == NULL)
		return (err_set(err, RC_NO_MEMORY, "metrics"));
	if ((rc = stats_snapshot_take(admin, db, snapshot, err)) == RC_OK) {
		metrics_write(admin->o.metrics, out);
		stats_snapshot_metrics_write(admin, snapshot, out);
		process_metrics_write(out, admin->start_ms);
	}
	mem_free(snapshot);
	return (rc);
}

/* Thread: reader. */
static void
run_metrics(struct read_job *job, struct db *db, struct err *err)
{
	struct metrics_call *a = CONTAINER_OF(job, struct metrics_call, job);
	struct rest *rest = a->rest;
	struct buf b = BUF_INIT;

	if (db == NULL || write_page(a->admin, db, &b, err) != RC_OK) {
		buf_fini(&b);
		http_answer_error(a->req, err);
	} else {
		http_answer(a->req, 200, TEXT_METRICS, &b);
	}
	rest_leave(rest);
}

/* Returns true if the client's address is in one of the networks that may read
 * /metrics; otherwise answers with a refusal.  The route checks no token, so
 * that Prometheus needs none. */
static bool
may_read(const struct admin *admin, struct http_request *req)
{
	struct refusal r = REFUSAL_INIT;

	if (http_peer_in(req, &admin->o.metrics_networks))
		return (true);
	refusal_set(&r, PROBLEM_FORBIDDEN, "",
	    "%s is in none of the networks that may read /metrics; the "
	    "operator names them with metrics-networks",
	    http_peer(req));
	http_answer_refusal(req, &r);
	return (false);
}

void
admin_metrics(struct http_request *req, void *arg)
{
	struct admin *admin = http_route_module(req);
	struct rest *rest = arg;
	struct refusal r = REFUSAL_INIT;
	struct metrics_call *a;
	enum rc rc = RC_NO_MEMORY;

	if (!rest_enter(rest, req))
		return;
	if (!may_read(admin, req)) {
		rest_leave(rest);
		return;
	}
	if ((a = http_alloc(req, sizeof(*a))) != NULL) {
		a->job.run = run_metrics;
		a->job.owner = owner_peer(http_peer(req));
		a->req = req;
		a->rest = rest;
		a->admin = admin;
		rc = readers_submit(admin->o.readers, &a->job);
	}
	if (rc == RC_OK)
		return;
	refusal_set(&r, problem_of_rc(rc), "", "%s", rc_text(rc));
	http_answer_refusal(req, &r);
	rest_leave(rest);
}
