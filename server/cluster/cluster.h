/* SPDX-License-Identifier: MIT */
/*
 * The other nodes of a multi-writer database.
 *
 * One thread with a connection of its own sends the effects of this node's
 * commits to the other nodes (NOTIFY, coalesced), receives theirs (LISTEN),
 * writes this node's heartbeat, and ends the leases of nodes whose heartbeat is
 * silent. cluster/node_state.h draws the life of a node, cluster/peer_state.h
 * what another node sees of it.
 *
 * Promise: nothing depends on a note.  Notes say where inboxes end, which
 * entries changed, and which devices acked, lost their token or belong to a
 * user whose rights changed.  Every cluster_recheck_ms, and after a lost
 * connection, the thread reads the same facts from the database for all users
 * who are connected to this node.  The recheck also finds the effects of this
 * node's own commits whose answer was lost (RC_UNCERTAIN).
 *
 * Each heartbeat checks whether the database is still on the lineage that this
 * node serves (cluster/lineage.h).  The node's connections begin transactions
 * only on the lineage that was checked last.  So a node that has not yet seen a
 * change of the epoch reads and writes nothing under the new one.
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

/* An hour after a node has left, its totals are added to the common row and its
 * own row is deleted. */
#define CLUSTER_FORGET_MS 3600000
/* The rate of notes, a leaky bucket.  A note leaves at once while notes are
 * rare.  Otherwise notes are collected: on average one leaves in GATHER_MS, and
 * at most BURST_MS / GATHER_MS may leave ahead of that rate. */
#define CLUSTER_GATHER_MS 2
#define CLUSTER_BURST_MS 16

struct cluster_options {
	const struct db_options *db; /* borrowed */
	const struct clk *clk;
	const struct timing *timing; /* borrowed; NULL: timing_real() */
	struct metrics *metrics;     /* may be NULL */
	struct auth *auth;
	struct push *push;

	/* This node as lineage_begin() has filled it in.  Its name is the owner
	 * of its leases. */
	struct lineage_node node;
	/* The lineage on which the connections of this process may begin
	 * transactions (db_options.lineage).  Borrowed; the thread updates
	 * it. */
	atomic_int_fast64_t *lineage;

	/* An operator has changed destinations on another node.  Thread:
	 * cluster. */
	void (*destinations_changed)(void *arg);
	/* An operator has changed the row of the server ${domain} on another
	 * node.  Thread: cluster. */
	void (*peer_changed)(void *arg, const char *domain);
	/* The epoch of the database has changed: what this process holds in
	 * memory may be wrong.  No transaction begins any more.  Thread:
	 * cluster. */
	void (*epoch_changed)(void *arg);
	void *arg;
};

struct cluster;

/* Opens the connection and listens.  Starts no thread. */
enum rc cluster_new(const struct cluster_options *options, struct cluster **ret,
    struct err *err) MUST_USE;

/* Starts the thread. */
enum rc cluster_start(struct cluster *c, struct err *err) MUST_USE;

/* Ends the thread, which marks this node as left in its row.  Push must still
 * run, or have ended for good.  NULL is allowed. */
void cluster_stop(struct cluster *c);

/* Frees ${c}, which was stopped or never started.  NULL is allowed. */
void cluster_free(struct cluster *c);

/* Returns the subscriber that sends the effects of commits, and changes of
 * destinations, to the other nodes. */
struct subscriber cluster_subscriber(struct cluster *c);

/* Sends ${effects} to the other nodes.  Thread: any. */
void cluster_send_effects(struct cluster *c, const struct effects *effects);

/* Notifies the other nodes that an operator has changed destinations.  Thread:
 * any. */
void cluster_send_destinations(struct cluster *c);

/* Notifies the other nodes that an operator has changed the row of the server
 * ${domain}.  Thread: any. */
void cluster_send_peer(struct cluster *c, const char *domain);

/* Makes all nodes of ${db} read again what they cache, including tokens.  For a
 * command that has changed rows while nodes are running.  Thread: owner of
 * ${db}. */
enum rc cluster_notify_all(struct db *db, struct err *err) MUST_USE;

/* Returns true if this node does the upkeep for all nodes: this node is the one
 * alive that started first.  When that node dies, no node does the upkeep for
 * about cluster_dead_ms; when it leaves by itself, for about one heartbeat.
 * Two nodes may do the upkeep for about one heartbeat if one of them was held
 * up.  Thread: any. */
bool cluster_first(const struct cluster *c);

/* Returns how many nodes serve the database, this one included.  Thread:
 * any. */
int cluster_nodes(const struct cluster *c);

/* Returns true if this node has lost its connection to the database.  ${c} NULL
 * (the database is a file): false.  Thread: any. */
bool cluster_away(const struct cluster *c);

#endif
