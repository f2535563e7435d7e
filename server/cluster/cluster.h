/* SPDX-License-Identifier: MIT */
/*
 * The other nodes of a multi-writer database: one thread with a connection of
 * its own that tells them what has happened here (NOTIFY, after the commit,
 * coalesced), hears what has happened there (LISTEN), keeps this node's beat,
 * and ends the leases of nodes whose beat has stopped.
 *
 * Promise: nothing depends on a note.  What they tell is where inboxes end,
 * which entries changed, which devices acked or lost their token; every
 * RECHECK_MS, and when the connection was away, the same is asked of the
 * database for everybody who is connected here.  That also finds what commits
 * of this node have done whose answer was lost (RC_UNCERTAIN).
 *
 * Each beat sees whether the database is still the one that is served
 * (cluster/lineage.h).  Connections of the node begin transactions on the
 * lineage that was looked at last and on no other, so that nothing of another
 * epoch is read or written by who does not know it.
 */
#ifndef CLUSTER_CLUSTER_H
#define CLUSTER_CLUSTER_H

#include "base/clk.h"
#include "base/timing.h"
#include "chat/auth.h"
#include "cluster/lineage.h"
#include "db/db.h"
#include "metrics/metrics.h"
#include "push/push.h"
#include "txn/publisher.h"

/* The row of a node that has left is folded into the common one after an hour.
 */
#define CLUSTER_FORGET_MS 3600000
/* What there is to tell goes out at once while that is seldom; when it is often
 * it is gathered, so that on average it goes out once in GATHER_MS, and at most
 * BURST_MS / GATHER_MS times ahead of that. */
#define CLUSTER_GATHER_MS 2
#define CLUSTER_BURST_MS 16

struct cluster_options {
	const struct db_options *db; /* kept */
	const struct clk *clk;
	const struct timing *timing; /* kept; NULL: timing_real() */
	struct metrics *metrics;     /* may be NULL */
	struct auth *auth;
	struct push *push;

	/* This node, as lineage_begin() has left it; the name is the owner
	 * of its leases. */
	struct lineage_node node;
	/* Where its connections' transactions may begin; kept, and moved. */
	atomic_int_fast64_t *lineage;

	/* An operator has changed destinations elsewhere.  Thread: cluster. */
	void (*destinations_changed)(void *arg);
	/* The database is of another epoch: nothing of what this process knows
	 * of it is true.  No transaction begins any more.  Thread: cluster. */
	void (*over)(void *arg);
	void *arg;
};

struct cluster;

/* Opens the connection and listens; no thread yet. */
enum rc cluster_new(const struct cluster_options *options, struct cluster **ret,
    struct err *err) MUST_USE;

/* Starts its thread. */
enum rc cluster_start(struct cluster *c, struct err *err) MUST_USE;

/* Says that this node leaves, and ends the thread; push must still run or be
 * ended for good.  NULL is allowed. */
void cluster_stop(struct cluster *c);

/* Frees what is stopped.  NULL is allowed. */
void cluster_free(struct cluster *c);

/* Tells the other nodes of commits: their effects, and that destinations were
 * changed. */
struct subscriber cluster_subscriber(struct cluster *c);

/* Tells the others what ${effects} say.  Thread: any. */
void cluster_tell(struct cluster *c, const struct effects *effects);

/* Tells the others that destinations were changed here.  Thread: any. */
void cluster_tell_destinations(struct cluster *c);

/* Whether this node does what one of them is to do for all: it is the one that
 * has begun first of those who live.  For a beat or so there may be two of
 * them, where one was held up, or none.  Thread: any. */
bool cluster_first(const struct cluster *c);

/* How many nodes serve the database, this one included.  Thread: any. */
int cluster_nodes(const struct cluster *c);

/* Whether the database cannot be reached from here, as far as is known; NULL:
 * it is a file.  Thread: any. */
bool cluster_away(const struct cluster *c);

#endif
