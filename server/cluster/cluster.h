/* SPDX-License-Identifier: MIT */
/*
 * The other nodes of a multi-writer database.
 *
 * One thread with a connection of its own sends the effects of this node's
 * commits to the other nodes (NOTIFY, coalesced), receives theirs (LISTEN),
 * writes this node's heartbeat, and ends the leases of nodes whose heartbeat is
 * silent.  A note is the payload of a NOTIFY. cluster/node_state.h draws the
 * life of a node, cluster/peer_state.h what another node sees of it.
 *
 * Promise: nothing depends on a note.  Notes say where inboxes end, which
 * entries changed, and which devices acked, lost their token or belong to a
 * user whose rights changed.  Every cluster_recheck_ms, after a lost connection
 * and when a node reports lost notes, the thread reads the ends of inboxes, the
 * acks and the revoked tokens from the database for all users who are connected
 * to this node.  It also empties the cache of tokens, and lets long-polls for
 * entries read the store again.  WebSocket sessions do not learn from it which
 * entries changed.  The recheck also finds the effects of this node's own
 * commits whose answer was lost (RC_UNCERTAIN).  Changes of destinations and
 * peers are found without notes by the modules that read them regularly.
 *
 * Each heartbeat checks whether the database is still on the lineage that this
 * node serves (cluster/lineage.h).  The node's connections begin transactions
 * only on the lineage that was checked last.  So a node reads and writes
 * nothing on another lineage before it knows whether the epoch is still the
 * same.  If another node changes the epoch on a lineage that this node has
 * checked already, this node goes on until the note of that node arrives, or
 * until its own next heartbeat.
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

/* An hour or more after a node has left, when none of its leases is left, its
 * row is deleted, and its totals are added to row 0 of outbox_totals. */
#define CLUSTER_FORGET_MS 3600000
/* The rate at which notes are sent, a leaky bucket.  While effects are rare,
 * their note is sent at once.  Otherwise effects are collected in at most
 * NOTES_MAX notes, which are sent together: on average once in GATHER_MS, and
 * in a burst about BURST_MS / GATHER_MS times without a pause. */
#define CLUSTER_GATHER_MS 2
#define CLUSTER_BURST_MS 16

struct cluster_options {
	const struct db_options *db; /* borrowed */
	const struct clk *clk;
	const struct timing *timing; /* borrowed; NULL: timing_real() */
	struct metrics *metrics;     /* may be NULL */
	int64_t lease_ms;            /* the length of a lease of any node */
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

/* Creates a cluster, opens its connection, listens, and notifies the other
 * nodes that this one has started.  Starts no thread.  ${options} is copied. */
enum rc cluster_new(const struct cluster_options *options, struct cluster **ret,
    struct err *err) MUST_USE;

/* Starts the thread. */
enum rc cluster_start(struct cluster *c, struct err *err) MUST_USE;

/* Ends the thread, which first marks this node as left in its row, unless the
 * connection is lost.  Push must still run, because the thread may wait for an
 * answer of push.  NULL is allowed. */
void cluster_stop(struct cluster *c);

/* Frees ${c}, which was stopped or never started.  NULL is allowed. */
void cluster_free(struct cluster *c);

/* Returns the subscriber that sends the effects of commits, and changes of
 * destinations, to the other nodes. */
struct subscriber cluster_subscriber(struct cluster *c);

/* Sends ${effects} (borrowed) to the other nodes, soon; does nothing if this
 * node is the only one.  Thread: any.  Never blocks. */
void cluster_send_effects(struct cluster *c, const struct effects *effects);

/* Notifies the other nodes that an operator has changed destinations.  Thread:
 * any. */
void cluster_send_destinations(struct cluster *c);

/* Notifies the other nodes that an operator has changed the row of the server
 * ${domain}.  Thread: any. */
void cluster_send_peer(struct cluster *c, const char *domain);

/* Makes all nodes of ${db} recheck: they empty their caches of tokens, and read
 * the inboxes and tokens of their connected users.  They do not read
 * destinations or peers again.  For a command that has changed rows while nodes
 * are running.  Thread: owner of ${db}. */
enum rc cluster_notify_all(struct db *db, struct err *err) MUST_USE;

/* Returns true if this node does the upkeep for all nodes: this node is the one
 * alive that started first.  False before the first heartbeat and while the
 * database is away.  When that node dies, no node does the upkeep for about
 * cluster_dead_ms; when it leaves by itself, for about one heartbeat.  Two
 * nodes may do the upkeep for about one heartbeat if one of them was held up.
 * Thread: any. */
bool cluster_first(const struct cluster *c);

/* Returns how many nodes serve the database, this one included, at the last
 * heartbeat; at most 65.  A node that has died counts until it is marked dead.
 * Thread: any. */
int cluster_nodes(const struct cluster *c);

/* Returns true if this node has lost its connection to the database.  ${c} NULL
 * (the database is a file): false.  Thread: any. */
bool cluster_away(const struct cluster *c);

#endif
