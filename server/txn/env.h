/* SPDX-License-Identifier: MIT */
/*
 * The environment that one transaction after another works with.  It owns the
 * cache of rows, the effects and the wake-up of the running transaction, the
 * backlog, the publisher, the contended rows and some smaller state (struct
 * txn_env in verb.h).  It gives the writer its hooks and publishes what was
 * committed.  It owns no thread and no socket.  The verbs, which do the work of
 * the units, are in the modules chat and delivery, and in upkeep/purge.c.
 *
 * Accepted (goal 1 of ARCHITECTURE.md): the `finish` of the unit that sends a
 * message is called with RC_OK and without a refusal only when the commit of
 * the transaction that holds the message's row, its outbox row and, unless the
 * message is scheduled, its sender's own copy is on disk; see engine/writer.h.
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
	/* how long a message can be requeued; 0: no limit */
	int64_t requeue_ms;
	/* for the answer of a peer that said "later"; 0: 60 s */
	int64_t ack_timeout_ms;
	enum retry_profile retry;
	/* limit of waiting messages of a sender; 0: no limit */
	int64_t pending_most;
	int64_t pending_most_total; /* the same for all senders together */
	/* Maximum number of servers that are not known here yet (they have no
	 * destination) to which one user may write per day; a send to a further
	 * one is refused.  0: no limit.  Each node counts for itself, in memory
	 * (txn/new_domains.h). */
	int64_t new_domains_most;
	/* If true, the transaction that adds an outbox row for an inbox of this
	 * server also delivers the row, unless the row must wait
	 * (txn/local.h).  If false, the relay delivers all rows.  Must be false
	 * on a multi-writer database. */
	bool at_once;

	/* Called when the store has failed permanently (engine/commits.h). */
	void (*fatal)(void *arg, const struct err *err);
	void *fatal_arg;
};

struct txn_env;

/* Makes an environment.  ${options} is copied; the objects that it points to
 * are kept. */
enum rc txn_env_new(const struct txn_env_options *options, struct txn_env **ret,
    struct err *err) MUST_USE;

/* Adds a copy of ${subscriber} to the publisher (txn/publisher.h).  Must be
 * called before txn_env_start() and before the writer's threads start, because
 * the list of subscribers has no lock.  RC_LIMIT: there are SUBSCRIBERS_MAX
 * subscribers already (the environment itself is one of them), or ${subscriber}
 * sets take_wake or take_effects and another subscriber sets the same member.
 */
enum rc txn_env_subscribe(struct txn_env *env,
    const struct subscriber *subscriber, struct err *err) MUST_USE;

/* Counts the waiting messages in ${db} for the backlog.  Called before the
 * writer starts: without this call the first transaction counts them, while
 * clients wait.  On a multi-writer database they are counted again by the first
 * transaction that begins 30 s or more later (backlog_begin()).
 * Blocks: up to a second for a million waiting messages. */
enum rc txn_env_start(
    struct txn_env *env, struct db *db, struct err *err) MUST_USE;

/* Frees ${env}.  The writer must be stopped.  NULL is allowed. */
void txn_env_free(struct txn_env *env);

/* The hooks for writer_new().  Valid until txn_env_free(). */
const struct writer_hooks *txn_env_hooks(struct txn_env *env);

/* The order of the kinds of units within one transaction, the lowest number
 * first.  Deliveries come before acks, and acks before sends, so that the
 * messages that have waited longest advance first. */
enum unit_order {
	ORDER_ACCOUNT = 10, /* users and devices first: others refer to them */
	ORDER_BREAKER = 12, /* destination rows are locked before inboxes */
	ORDER_PEER = 13,    /* peers, too */
	ORDER_SETTLE = 14,  /* answers come before new claims */
	ORDER_RENEW = 15,   /* renewals come before expired leases */
	ORDER_RECLAIM = 16,
	/* messages of other servers, before local deliveries */
	ORDER_RECEIVE = 18,
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
