/* SPDX-License-Identifier: MIT */
/*
 * The module's life, its routes, health and metrics.
 */
#include <stddef.h>

#include "admin/desk_internal.h"
#include "base/log.h"
#include "base/mem.h"
#include "page/page.h"
#include "store/outbox.h"

#define TEXT_PLAIN "text/plain; charset=utf-8"
#define TEXT_METRICS "text/plain; version=0.0.4; charset=utf-8"

enum rc
admin_new(
    const struct admin_options *options, struct admin **ret, struct err *err)
{
	struct admin *admin;

	if ((admin = mem_zalloc(1, sizeof(*admin))) == NULL)
		return (err_set(err, RC_NO_MEMORY, "admin"));
	admin->o = *options;
	admin->start_ms = clk_wall_ms(options->clk);
	(void)pthread_mutex_init(&admin->lock, NULL);
	*ret = admin;
	return (RC_OK);
}

void
admin_free(struct admin *admin)
{

	if (admin == NULL)
		return;
	(void)pthread_mutex_destroy(&admin->lock);
	mem_free(admin);
}

/* ---- health ---- */

/* It lives when it can answer. */
void
admin_health(struct http_request *req, void *arg)
{
	struct buf b = BUF_INIT;

	(void)arg;
	buf_adds(&b, "ok\n");
	http_answer(req, 200, TEXT_PLAIN, &b);
}

void
admin_ready(struct http_request *req, void *arg)
{
	struct admin *admin = api_admin(arg);
	struct refusal r = REFUSAL_INIT;
	const char *why = "not ready";
	struct buf b = BUF_INIT;

	if (!admin->o.ready(admin->o.ready_arg, &why)) {
		refusal_set(&r, PROBLEM_BUSY, "", "%s", why);
		http_answer_refusal(req, &r);
		return;
	}
	buf_adds(&b, "ready\n");
	http_answer(req, 200, TEXT_PLAIN, &b);
}

/* ---- metrics ---- */

struct metrics_ask {
	struct read_job job; /* first */
	struct http_request *req;
	struct api *api;
};

/* Brings counter ${id} up to ${value}.  Under the lock. */
static void
catch_up(struct metrics *m, enum metric id, uint64_t value)
{

	metrics_add(m, id, (int64_t)value - metrics_get(m, id));
}

/* What others count by themselves is taken over when it is asked for. */
static void
take_over(struct admin *admin, int64_t pending)
{
	struct metrics *m = admin->o.metrics;
	struct writer_stats w;

	(void)pthread_mutex_lock(&admin->lock);
	w = writer_stats_get(admin->o.writer);
	metrics_set(m, METRIC_OUTBOX_PENDING, pending);
	metrics_set(m, METRIC_WAL_BYTES, w.log_bytes);
	catch_up(m, METRIC_BATCH_UNITS, w.units);
	catch_up(m, METRIC_CHECKPOINTS, w.checkpoints);
	catch_up(m, METRIC_LOG_DROPPED, log_dropped());
	(void)pthread_mutex_unlock(&admin->lock);
}

/* Thread: reader. */
static void
run_metrics(struct read_job *job, struct db *db, struct err *err)
{
	struct metrics_ask *a = (struct metrics_ask *)(void *)job;
	struct api *api = a->api;
	struct admin *admin = api_admin(api);
	struct buf b = BUF_INIT;
	int64_t pending;

	if (db == NULL ||
	    store_outbox_pending_count(db, &pending, err) != RC_OK) {
		http_answer_error(a->req, err);
	} else {
		take_over(admin, pending);
		metrics_write(admin->o.metrics, &b);
		process_metrics_write(&b, admin->start_ms);
		http_answer(a->req, 200, TEXT_METRICS, &b);
	}
	api_leave(api);
}

void
admin_metrics(struct http_request *req, void *arg)
{
	struct api *api = arg;
	struct refusal r = REFUSAL_INIT;
	struct metrics_ask *a;
	enum rc rc = RC_NO_MEMORY;

	if (!api_enter(api, req))
		return;
	if ((a = http_alloc(req, sizeof(*a))) != NULL) {
		a->job.run = run_metrics;
		a->req = req;
		a->api = api;
		rc = readers_submit(api_admin(api)->o.readers, &a->job);
	}
	if (rc == RC_OK)
		return;
	refusal_set(&r, problem_of_rc(rc), "", "%s", rc_text(rc));
	http_answer_refusal(req, &r);
	api_leave(api);
}

/* ---- routes ---- */

#define DESK_READ (HTTP_ADMIN | HTTP_NO_BODY)

static const struct http_route routes[] = {
    {"GET", "/healthz", admin_health, HTTP_PUBLIC | HTTP_NO_BODY},
    {"GET", "/readyz", admin_ready, HTTP_PUBLIC | HTTP_NO_BODY},
    {"GET", "/metrics", admin_metrics, HTTP_PUBLIC | HTTP_NO_BODY},
    {"GET", "/openapi.yaml", admin_openapi, HTTP_PUBLIC | HTTP_NO_BODY},
    {"GET", "/asyncapi.yaml", admin_asyncapi, HTTP_PUBLIC | HTTP_NO_BODY},
    {"GET", "/problems", admin_problems, HTTP_PUBLIC | HTTP_NO_BODY},
    {"GET", "/problems/{slug}", admin_problem, HTTP_PUBLIC | HTTP_NO_BODY},
    {"GET", "/", admin_front, HTTP_PUBLIC | HTTP_NO_BODY},
    {"GET", "/v1/admin/stats", desk_stats_get, DESK_READ},
    {"GET", "/v1/admin/outbox", desk_outbox_get, DESK_READ},
    {"GET", "/v1/admin/outbox/{id}", desk_message_get, DESK_READ},
    {"POST", "/v1/admin/outbox/{id}/retry", desk_retry_post, HTTP_ADMIN},
    {"POST", "/v1/admin/outbox/{id}/discard", desk_discard_post, HTTP_ADMIN},
    {"GET", "/v1/admin/dead-letters", desk_dead_get, DESK_READ},
    {"GET", "/v1/admin/dead-letters/export", desk_export_get, DESK_READ},
    {"POST", "/v1/admin/dead-letters/requeue", desk_dead_requeue_post,
	HTTP_ADMIN},
    {"POST", "/v1/admin/dead-letters/discard", desk_dead_discard_post,
	HTTP_ADMIN},
    {"GET", "/v1/admin/destinations", desk_destinations_get, DESK_READ},
    {"PATCH", "/v1/admin/destinations/{name}", desk_destination_patch,
	HTTP_ADMIN},
    {"POST", "/v1/admin/destinations/{name}/pause", desk_pause_post,
	HTTP_ADMIN},
    {"POST", "/v1/admin/destinations/{name}/resume", desk_resume_post,
	HTTP_ADMIN},
    {"GET", "/v1/admin/lanes", desk_lanes_get, DESK_READ},
    {"POST", "/v1/admin/lanes/{id}/rewind", desk_rewind_post, HTTP_ADMIN},
    {"GET", "/v1/admin/users", desk_users_get, DESK_READ},
    {"GET", "/v1/admin/audit", desk_audit_get, DESK_READ},
    {"GET", "/assets/{name}", page_asset, HTTP_PUBLIC | HTTP_NO_BODY},
    {NULL, NULL, NULL, 0},
};

const struct http_route *
admin_routes(void)
{

	return (routes);
}
