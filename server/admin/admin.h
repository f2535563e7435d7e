/* SPDX-License-Identifier: MIT */
/*
 * The module admin: the routes for operators (health, metrics, /v1/admin), the
 * public routes (the front page, the OpenAPI and AsyncAPI documents, the
 * explanations of problems, and the web pages of page/page.h), and the thread
 * that evaluates the alerts.  The argument ${arg} of the handlers is the struct
 * rest, as for all routes of the server.
 */
#ifndef ADMIN_ADMIN_H
#define ADMIN_ADMIN_H

#include "base/clk.h"
#include "base/err.h"
#include "base/rnd.h"
#include "engine/reader.h"
#include "engine/writer.h"
#include "http/http.h"
#include "metrics/metrics.h"
#include "push/push.h"
#include "relay/relay.h"
#include "store/peer.h"

struct admin;

/* The pointers are kept. */
struct admin_options {
	const struct clk *clk;
	struct rnd *rnd;
	struct metrics *metrics;
	struct writer *writer;
	struct readers *readers;
	struct relay *relay; /* NULL: no statistics of it */
	const char *version;
	int64_t max_pending, max_pending_total; /* shown only */
	int max_retries;                        /* per message */

	/* Returns true if the server can serve now, else sets *ret_why.
	 * Thread: any. */
	bool (*ready)(void *arg, const char **ret_why);
	void *ready_arg;

	/* Called after the commit of an operator's request to this node that
	 * pins or unpins a key of another server, or forgets, blocks or
	 * unblocks another server.  ${known} is the state of that other server
	 * after the change, and is valid until the function returns.  Thread:
	 * any.  May be NULL. */
	void (*peer_changed)(void *arg, const struct store_peer_known *known);
	void *peer_changed_arg;

	/* Returns the number of other servers whose clocks are found to differ
	 * from this server's by more than a minute.  If it is not 0, sets
	 * ${ret_domain} (LIMIT_DOMAIN_LEN + 1 bytes) to the server that differs
	 * most, and ${ret_ahead_ms} to the milliseconds by which its clock is
	 * ahead of this server's; negative: behind.  If it is 0, sets nothing.
	 * Thread: reader.  May be NULL. */
	size_t (*clocks_off)(
	    void *arg, char *ret_domain, int64_t *ret_ahead_ms);
	void *clocks_arg;

	struct net_networks metrics_networks; /* may read /metrics */

	bool page_worker; /* the chat page may use its service worker */
	int64_t alert_interval_ms; /* between two evaluations of alerts */
};

/* Makes the module, without its thread.  RC_NO_MEMORY is the only error. */
enum rc admin_new(const struct admin_options *options, struct admin **ret,
    struct err *err) MUST_USE;

/* Starts the alert thread.  The readers must run. */
enum rc admin_start(struct admin *admin, struct err *err) MUST_USE;

/* Ends the alert thread, if it was started.  Call it before readers_stop(),
 * which frees the readers that the thread uses.  Blocks until an evaluation
 * under way has ended. */
void admin_stop(struct admin *admin);

/* Frees ${admin}, after admin_stop().  No request may enter any more.  NULL is
 * allowed. */
void admin_free(struct admin *admin);

/* Returns the table of routes, which ends with method NULL. */
const struct http_route *admin_routes(void);

#endif
