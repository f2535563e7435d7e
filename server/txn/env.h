/* SPDX-License-Identifier: MIT */
/*
 * The environment of transactions: what one transaction of the writer after the
 * other works with.  It owns the cache of rows, the effects of the running
 * transaction, the backlog and the publisher, gives the writer its hooks, and
 * publishes what was committed.  The verbs, which do the work, are in the
 * modules chat and delivery.  It owns no thread and no socket.
 *
 * Accepted (promise 1): a message's `finish` is called with RC_OK only after
 * the commit of the transaction that holds its row, its outbox row and its
 * sender's own copy; see engine/writer.h.
 */
#ifndef TXN_ENV_H
#define TXN_ENV_H

#include "base/clk.h"
#include "base/err.h"
#include "base/rnd.h"
#include "engine/writer.h"
#include "metrics/metrics.h"
#include "model/retry.h"
#include "txn/publisher.h"

struct txn_env_options {
	const struct clk *clk;
	struct rnd *rnd;
	struct metrics *metrics; /* may be NULL */
	int64_t expiry_ms;       /* default life of a pending message */
	int64_t requeue_ms;      /* how long it can be requeued; 0: always */
	int64_t ack_timeout_ms;  /* for a peer that said "later"; 0: 60 s */
	enum retry_profile retry;
	int64_t pending_most;       /* waiting messages of a sender; 0: any */
	int64_t pending_most_total; /* of all; 0: any */
	/* Servers that nobody here has met, of a sender and day; 0: any. */
	int64_t new_domains_most;
	/* A row that need not wait is delivered by the transaction that adds it
	 * (txn/local.h); else all rows are left to the relay. */
	bool at_once;

	/* The store has failed for good (engine/commits.h). */
	void (*fatal)(void *arg, const struct err *err);
	void *fatal_arg;
};

struct txn_env;

/* Makes an environment; ${options} is copied, what it points to is kept. */
enum rc txn_env_new(const struct txn_env_options *options, struct txn_env **ret,
    struct err *err) MUST_USE;

/* Adds a subscriber (copied) to the publisher (txn/publisher.h).  Before
 * txn_env_start() and the start of the writer's threads, because its list has
 * no lock.  RC_LIMIT: there are too many. */
enum rc txn_env_subscribe(struct txn_env *env,
    const struct subscriber *subscriber, struct err *err) MUST_USE;

/* Counts what waits in ${db} before the writer starts: its first transaction
 * would have to, while clients wait.  Blocks: half a second for a
 * million that wait. */
enum rc txn_env_start(
    struct txn_env *env, struct db *db, struct err *err) MUST_USE;

/* Frees; the writer must be stopped.  NULL is allowed. */
void txn_env_free(struct txn_env *env);

/* The hooks to make the writer with. */
const struct writer_hooks *txn_env_hooks(struct txn_env *env);

/* The order of the kinds of units within one transaction.  Deliveries come
 * before acks before sends, so that what waits longest gets on first. */
enum unit_order {
	ORDER_ACCOUNT = 10, /* users and devices first: others refer to them */
	ORDER_BREAKER = 12, /* destinations before inboxes */
	ORDER_PEER = 13,    /* … and what is known of them */
	ORDER_SETTLE = 14,  /* answers before new claims */
	ORDER_RENEW = 15,   /* … and renewals, before leases that ran out */
	ORDER_RECLAIM = 16,
	ORDER_RECEIVE = 18, /* inboxes of other servers' messages first */
	ORDER_DELIVER = 20,
	ORDER_CLAIM = 24,
	ORDER_ACK = 30,
	ORDER_READ = 40,
	ORDER_CANCEL = 50,
	ORDER_OPERATOR = 55,
	ORDER_SERVER_KEYS = 57,
	ORDER_RELEASE = 60,
	ORDER_SEND = 70,
	ORDER_UPKEEP = 80
};

#endif
