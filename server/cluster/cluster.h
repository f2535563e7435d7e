/* SPDX-License-Identifier: MIT */
/*
 * The other nodes of a multi-writer database.
 *
 * One thread with a connection of its own sends the effects of this node's
 * commits to the other nodes (NOTIFY, coalesced), receives theirs (LISTEN),
 * writes this node's heartbeat, and ends the leases (of delivery queues) of
 * nodes whose heartbeat is silent.  A note is the payload of a NOTIFY.
 * cluster/node_state.h draws the life of a node, cluster/peer_state.h what
 * another node sees of it.
 *
 * Promise: a note is only a hint.  Changes whose note is lost are found in the
 * database, with one exception: WebSocket sessions then do not learn which
 * entries changed.  Notes say where inboxes end, which entries changed, and
 * which devices acked, lost their token or belong to a user whose rights
 * changed; that destinations or the row of a peer changed; and that a node
 * started or the epoch changed.  Every cluster_recheck_ms, after a lost
 * connection and when a node reports lost notes, the thread makes a recheck: it
 * reads the ends of inboxes, the acks and the revoked tokens from the database
 * for all users who are connected to this node, empties the cache of tokens,
 * and lets long-polls for entries read the store again.  The recheck also finds
 * the effects of this node's own commits whose answer was lost (RC_UNCERTAIN).
 * Changes of destinations and peers are found without notes by the modules that
 * read them regularly.
 *
 * Each heartbeat checks whether the database is still on the lineage (server,
 * database and timeline) that this node serves (cluster/lineage.h).  The
 * connections of the node's other threads begin transactions only on the
 * lineage that was checked last.  So a node serves nothing from another lineage
 * before it knows whether the epoch is still the same (a new epoch means that
 * the database may lack commits that clients have seen).  If another node
 * changes the epoch on a lineage that this node has checked already, this node
 * goes on until the note of that node arrives, or until its own next heartbeat.
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

/* Time in ms for which the row of a node is kept at least, after the node has
 * left or was marked dead.  After that, the node that does the upkeep
 * (cluster_first()) deletes the row at its next clean-up (every
 * cluster_tidy_ms), unless the node of the row still holds a lease, and adds
 * the totals of that node to row 0 of outbox_totals. */
#define CLUSTER_FORGET_MS 3600000
/* Times in ms of the leaky bucket that limits how often notes are sent: on
 * average once in CLUSTER_GATHER_MS, and in a burst about CLUSTER_BURST_MS /
 * CLUSTER_GATHER_MS times without a pause.  While effects are rare, their note
 * is thus sent at once.  Otherwise effects are collected in at most NOTES_MAX
 * notes, which are sent together.  Effects that do not fit are dropped, and a
 * further note makes the other nodes recheck. */
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

	/* This node (copied): its id from node_insert(), its lineage and epoch
	 * from lineage_begin(), and its name, which is the owner of its
	 * leases. */
	struct lineage_node node;
	/* Borrowed variable with the id of the lineage on which the connections
	 * of this process may begin transactions (db_options.lineage).  The
	 * cluster thread sets it to the lineage that each heartbeat has found,
	 * and to DB_LINEAGE_NOWHERE (none may begin) when the epoch has
	 * changed. */
	atomic_int_fast64_t *lineage;

	/* An operator has changed destinations on another node.  Thread:
	 * cluster. */
	void (*destinations_changed)(void *arg);
	/* Called when a note reports that an operator has changed the row of
	 * the server ${domain} (borrowed for the call) through another node.
	 * Thread: cluster. */
	void (*peer_changed)(void *arg, const char *domain);
	/* Called once, when the epoch of the database has changed: what this
	 * process holds in memory may be wrong, so the process must stop or
	 * start anew.  No transaction of this process can begin any more.
	 * Thread: cluster. */
	void (*epoch_changed)(void *arg);
	void *arg;
};

struct cluster;

/* Creates a cluster, opens its connection, listens, and notifies the other
 * nodes that this one has started.  Starts no thread.  ${options} is copied;
 * the objects that it points to must outlive the cluster.  After a failure
 * nothing is left open, and *ret is not set. */
enum rc cluster_new(const struct cluster_options *options, struct cluster **ret,
    struct err *err) MUST_USE;

/* Starts the thread. */
enum rc cluster_start(struct cluster *c, struct err *err) MUST_USE;

/* Ends the thread and waits for it; does not free ${c}.  The thread first marks
 * this node as left in its row, unless the connection is lost.  Push must still
 * run, because the thread may wait for an answer of push.  ${c} may be NULL,
 * and its thread need not have been started. */
void cluster_stop(struct cluster *c);

/* Frees ${c}, which was stopped or never started.  NULL is allowed. */
void cluster_free(struct cluster *c);

/* Returns, by value, a subscriber: the publisher calls it with the effects of
 * each commit, and ${c} then sends these, and changes of destinations, to the
 * other nodes.  ${c} must live as long as the publisher uses the subscriber. */
struct subscriber cluster_subscriber(struct cluster *c);

/* Hands ${effects} (copied) to the cluster thread, which sends them to the
 * other nodes, at the rate of CLUSTER_GATHER_MS; does nothing if this node
 * knows of no other node.  Thread: any.  Does not wait for the database. */
void cluster_send_effects(struct cluster *c, const struct effects *effects);

/* Notifies the other nodes that an operator has changed destinations.  Thread:
 * any. */
void cluster_send_destinations(struct cluster *c);

/* Makes the cluster thread notify the other nodes that an operator has changed
 * the row of the server ${domain} (copied); does nothing if this node knows of
 * no other node.  Thread: any. */
void cluster_send_peer(struct cluster *c, const char *domain);

/* Sends a note that makes all nodes of ${db} recheck, and does not wait for
 * them: they empty their caches of tokens, and read the inboxes, acks and
 * tokens of their connected users.  They do not read destinations or peers
 * again.  For a command that has changed rows while nodes are running.  If the
 * note is lost, the nodes recheck within cluster_recheck_ms in any case.
 * Thread: owner of ${db}. */
enum rc cluster_notify_all(struct db *db, struct err *err) MUST_USE;

/* Returns true if this node does the upkeep (such as the deletion of old rows)
 * for all nodes: of the nodes alive, it is the one that started first.  Returns
 * false before the first heartbeat, while the database cannot be reached, and
 * after the epoch has changed.  When the node that does the upkeep dies, no
 * node does it for about cluster_dead_ms; when that node leaves by itself, for
 * about one heartbeat interval.  Two nodes may do the upkeep for about one
 * heartbeat interval after one of them was held up.  Thread: any. */
bool cluster_first(const struct cluster *c);

/* Returns the number of nodes that serve the database, this one included, as of
 * this node's last heartbeat: 1 before the first, and at most 65, because
 * further nodes are not counted.  A node that has died counts until its row is
 * marked as left.  When a node reports its start, the number is set to 2 until
 * the next heartbeat, which is then due at once.
 * Thread: any. */
int cluster_nodes(const struct cluster *c);

/* Returns true while the cluster thread's connection to the database counts as
 * lost: from a failed turn (pass of the thread's loop) until a turn succeeds.
 * Returns false if ${c} is NULL: the database is a file.  Thread: any. */
bool cluster_away(const struct cluster *c);

#endif
