/* SPDX-License-Identifier: MIT */
/*
 * The other nodes of a multi-writer database.  One thread with a connection of
 * its own sends them the effects of this node's commits (NOTIFY, coalesced),
 * receives theirs (LISTEN), writes this node's heartbeat, and ends the leases
 * of nodes whose heartbeat is silent.  cluster/node_state.h draws the life of a
 * node, cluster/peer_state.h what another node sees of it.
 *
 * Promise: nothing depends on a note.  Notes say where inboxes end, which
 * entries changed, which devices acked, lost their token or belong to a user
 * whose rights changed.  Every
 * cluster_recheck_ms, and after the connection was lost, the thread reads the
 * same from the database for all users who are connected to this node.  That
 * also finds the effects of this node's commits whose answer was lost
 * (RC_UNCERTAIN).
 *
 * Each heartbeat checks whether the database is still the one that is served
 * (cluster/lineage.h).  Connections of the node begin transactions on the
 * lineage that was checked last and on no other, so that a node that does not
 * know of another epoch reads and writes nothing of it.
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
	/* An operator has changed what is known of the server ${domain}
	 * elsewhere.  Thread: cluster. */
	void (*peer_changed)(void *arg, const char *domain);
	/* The database has another epoch: nothing that this process holds in
	 * memory is true of it.  No transaction begins any more.  Thread:
	 * cluster. */
	void (*epoch_changed)(void *arg);
	void *arg;
};

struct cluster;

/* Opens the connection and listens; no thread yet. */
enum rc cluster_new(const struct cluster_options *options, struct cluster **ret,
    struct err *err) MUST_USE;

/* Starts its thread. */
enum rc cluster_start(struct cluster *c, struct err *err) MUST_USE;

/* Ends the thread, which writes that this node has left; push must still run or
 * be ended for good.  NULL is allowed. */
void cluster_stop(struct cluster *c);

/* Frees what is stopped.  NULL is allowed. */
void cluster_free(struct cluster *c);

/* Sends the effects of commits to the other nodes, and that destinations were
 * changed. */
struct subscriber cluster_subscriber(struct cluster *c);

/* Sends ${effects} to the other nodes.  Thread: any. */
void cluster_send_effects(struct cluster *c, const struct effects *effects);

/* Notifies the other nodes that an operator changed destinations.  Thread: any.
 */
void cluster_send_destinations(struct cluster *c);

/* Notifies the other nodes that an operator changed what is known of the server
 * ${domain}.  Thread: any. */
void cluster_send_peer(struct cluster *c, const char *domain);

/* Has every node that serves ${db} read again what it remembers of it, tokens
 * too: for a command that has changed rows beside them.  Thread: owner of
 * ${db}. */
enum rc cluster_notify_all(struct db *db, struct err *err) MUST_USE;

/* Whether this node does the upkeep for all: it started first of the nodes that
 * are alive.  For about a heartbeat there may be two such nodes, if one was
 * held up, or none.  Thread: any. */
bool cluster_first(const struct cluster *c);

/* How many nodes serve the database, this one included.  Thread: any. */
int cluster_nodes(const struct cluster *c);

/* Whether the database cannot be reached from here, as far as is known; NULL:
 * it is a file.  Thread: any. */
bool cluster_away(const struct cluster *c);

#endif
