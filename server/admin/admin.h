/* SPDX-License-Identifier: MIT */
/*
 * The routes for operators: health, metrics, the formal documents, the pages
 * that explain problems, and what operators do.  The argument of its handlers
 * is the struct rest, as for all routes.
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

/* Pointers are kept. */
struct admin_options {
	const struct clk *clk;
	struct rnd *rnd;
	struct metrics *metrics;
	struct writer *writer;
	struct readers *readers;
	struct relay *relay; /* NULL: nothing is known of it */
	const char *version;
	int64_t max_pending, max_pending_total; /* to be told */
	int max_retries;                        /* of a message */

	/* Whether it can serve now; if not, why. */
	bool (*ready)(void *arg, const char **ret_why);
	void *ready_arg;

	/* Told what is known of another server when an operator has changed
	 * that.  Thread: any.  May be NULL. */
	void (*peer_changed)(void *arg, const struct store_peer_known *known);
	void *peer_changed_arg;

	/* How many other servers have a clock that is off; if there is one,
	 * ${ret_domain} (LIMIT_DOMAIN_LEN + 1 bytes) and ${ret_ahead_ms} are
	 * of the worst (negative: it is behind).  Thread: reader.  May be
	 * NULL. */
	size_t (*clocks_off)(
	    void *arg, char *ret_domain, int64_t *ret_ahead_ms);
	void *clocks_arg;

	struct net_networks metrics_networks; /* that may read /metrics */

	bool page_worker; /* the chat page may have its service worker */
	int64_t alert_interval_ms; /* between two evaluations of the alerts */
};

/* Makes it. */
enum rc admin_new(const struct admin_options *options, struct admin **ret,
    struct err *err) MUST_USE;

/* Starts the alert thread; the readers must run. */
enum rc admin_start(struct admin *admin, struct err *err) MUST_USE;

/* Ends that; the readers must still run, or have been stopped. */
void admin_stop(struct admin *admin);

/* Frees; no request may come any more.  NULL is allowed. */
void admin_free(struct admin *admin);

/* Its routes; ends with method NULL. */
const struct http_route *admin_routes(void);

#endif
