/* SPDX-License-Identifier: MIT */
/*
 * The life of the module, its routes, and the health checks.
 */
#include <stddef.h>

#include "admin/admin_internal.h"
#include "admin/routes_internal.h"
#include "base/lock.h"
#include "base/mem.h"
#include "page/page.h"

#define TEXT_PLAIN "text/plain; charset=utf-8"

enum rc
admin_new(
    const struct admin_options *options, struct admin **ret, struct err *err)
{
	struct admin *admin;

	if ((admin = mem_zalloc(1, sizeof(*admin))) == NULL)
		return (err_set(err, RC_NO_MEMORY, "admin"));
	admin->o = *options;
	admin->start_ms = clk_wall_ms(options->clk);
	lock_init(&admin->lock, LOCK_ADMIN);
	admin->alerts = alerts_new(options->clk, options->metrics);
	if (admin->alerts == NULL) {
		admin_free(admin);
		return (err_set(err, RC_NO_MEMORY, "admin"));
	}
	metrics_set(
	    options->metrics, METRIC_PURGE_LAST, admin->start_ms / 1000);
	*ret = admin;
	return (RC_OK);
}

void
admin_free(struct admin *admin)
{

	if (admin == NULL)
		return;
	alerts_free(admin->alerts);
	lock_fini(&admin->lock);
	mem_free(admin);
}

enum rc
admin_start(struct admin *admin, struct err *err)
{

	return (alert_thread_start(admin, &admin->alert_thread, err));
}

void
admin_stop(struct admin *admin)
{

	alert_thread_stop(&admin->alert_thread);
}

/* ---- health ---- */

/* Always answers 200: a process that answers is alive. */
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
	struct admin *admin = http_route_module(req);
	struct refusal r = REFUSAL_INIT;
	const char *why = "not ready";
	struct buf b = BUF_INIT;

	(void)arg;
	if (!admin->o.ready(admin->o.ready_arg, &why)) {
		refusal_set(&r, PROBLEM_BUSY, "", "%s", why);
		http_answer_refusal(req, &r);
		return;
	}
	buf_adds(&b, "ready\n");
	http_answer(req, 200, TEXT_PLAIN, &b);
}

/* ---- routes ---- */

#define ADMIN_READ (HTTP_ADMIN | HTTP_NO_BODY)

static const struct http_route routes[] = {
    {"GET", "/healthz", admin_health, HTTP_PUBLIC | HTTP_NO_BODY},
    {"GET", "/readyz", admin_ready, HTTP_PUBLIC | HTTP_NO_BODY},
    {"GET", "/metrics", admin_metrics, HTTP_PUBLIC | HTTP_NO_BODY},
    {"GET", "/openapi.yaml", admin_openapi, HTTP_PUBLIC | HTTP_NO_BODY},
    {"GET", "/asyncapi.yaml", admin_asyncapi, HTTP_PUBLIC | HTTP_NO_BODY},
    {"GET", "/problems", admin_problems, HTTP_PUBLIC | HTTP_NO_BODY},
    {"GET", "/problems/{slug}", admin_problem, HTTP_PUBLIC | HTTP_NO_BODY},
    {"GET", "/admin", page_admin, HTTP_PUBLIC | HTTP_NO_BODY | HTTP_SLASH},
    {"GET", "/docs", page_reference, HTTP_PUBLIC | HTTP_NO_BODY},
    {"GET", "/manifest.webmanifest", page_manifest, HTTP_PUBLIC | HTTP_NO_BODY},
    {"GET", "/worker.js", admin_worker, HTTP_PUBLIC | HTTP_NO_BODY},
    {"GET", "/", admin_front_page, HTTP_PUBLIC | HTTP_NO_BODY},
    {"GET", "/v1/admin/stats", admin_stats_get, ADMIN_READ},
    {"GET", "/v1/admin/outbox", admin_outbox_get, ADMIN_READ},
    {"GET", "/v1/admin/outbox/{id}", admin_message_get, ADMIN_READ},
    {"POST", "/v1/admin/outbox/{id}/retry", admin_retry_post, HTTP_ADMIN},
    {"POST", "/v1/admin/outbox/{id}/discard", admin_discard_post, HTTP_ADMIN},
    {"GET", "/v1/admin/dead-letters", admin_dead_get, ADMIN_READ},
    {"GET", "/v1/admin/dead-letters/export", admin_export_get, ADMIN_READ},
    {"POST", "/v1/admin/dead-letters/requeue", admin_dead_requeue_post,
	HTTP_ADMIN},
    {"POST", "/v1/admin/dead-letters/discard", admin_dead_discard_post,
	HTTP_ADMIN},
    {"GET", "/v1/admin/destinations", admin_destinations_get, ADMIN_READ},
    {"PATCH", "/v1/admin/destinations/{name}", admin_destination_patch,
	HTTP_ADMIN},
    {"POST", "/v1/admin/destinations/{name}/pause", admin_pause_post,
	HTTP_ADMIN},
    {"POST", "/v1/admin/destinations/{name}/resume", admin_resume_post,
	HTTP_ADMIN},
    {"GET", "/v1/admin/lanes", admin_lanes_get, ADMIN_READ},
    {"POST", "/v1/admin/lanes/{id}/rewind", admin_rewind_post, HTTP_ADMIN},
    {"GET", "/v1/admin/peers", admin_peers_get, ADMIN_READ},
    {"GET", "/v1/admin/peers/{domain}", admin_peer_get, ADMIN_READ},
    {"POST", "/v1/admin/peers/{domain}/pin", admin_peer_pin_post, HTTP_ADMIN},
    {"POST", "/v1/admin/peers/{domain}/unpin", admin_peer_unpin_post,
	HTTP_ADMIN},
    {"POST", "/v1/admin/peers/{domain}/forget", admin_peer_forget_post,
	HTTP_ADMIN},
    {"POST", "/v1/admin/peers/{domain}/block", admin_peer_block_post,
	HTTP_ADMIN},
    {"POST", "/v1/admin/peers/{domain}/unblock", admin_peer_unblock_post,
	HTTP_ADMIN},
    {"GET", "/v1/admin/users", admin_users_get, ADMIN_READ},
    {"POST", "/v1/admin/users/{name}/disable", admin_user_disable_post,
	HTTP_ADMIN},
    {"POST", "/v1/admin/users/{name}/enable", admin_user_enable_post,
	HTTP_ADMIN},
    {"POST", "/v1/admin/users/{name}/promote", admin_user_promote_post,
	HTTP_ADMIN},
    {"POST", "/v1/admin/users/{name}/demote", admin_user_demote_post,
	HTTP_ADMIN},
    {"POST", "/v1/admin/users/{name}/password", admin_user_password_post,
	HTTP_ADMIN},
    {"GET", "/v1/admin/audit", admin_audit_get, ADMIN_READ},
    {"GET", "/assets/{name}", page_asset, HTTP_PUBLIC | HTTP_NO_BODY},
    {NULL, NULL, NULL, 0},
};

const struct http_route *
admin_routes(void)
{

	return (routes);
}
