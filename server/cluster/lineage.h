/* SPDX-License-Identifier: MIT */
/*
 * The lineage of a multi-writer database (server, database, timeline), and
 * whether clients' cursors are still valid on it.  A server that was promoted,
 * restored or copied continues in another lineage, and may lack commits that
 * clients have seen.  The epoch changes then, and clients read anew.
 *
 * The rows `epoch` and `line` of the table meta hold the epoch, its lineage,
 * and whether all commits that nodes published on it are on a standby, too.
 *
 * Promise: on another lineage the epoch stays only if a node confirms it that
 * served on the lineage before, and
 *
 *	1. all commits that it published were on a standby, too (the row's mode
 *	   is "sync"),
 *	2. its own last heartbeat is in the database, and so is everything
 *	   before it.
 *
 * Each node that served before decides for itself, with the row locked: a node
 * that cannot confirm makes another epoch, whatever other nodes have decided.
 * A node that did not serve before cannot confirm; it waits for one that can.
 *
 * The mode is "sync" only after a commit that has itself waited for a standby,
 * by a node whose commits did so for two heartbeats.  The first node that finds
 * otherwise sets it back to "async".  A node whose own commits do not wait
 * though there are standbys sets it to "local", which is final.
 *
 * Thread: owner of ${db}.
 */
#ifndef CLUSTER_LINEAGE_H
#define CLUSTER_LINEAGE_H

#include "cluster/node.h"
#include "db/db.h"

#define LINEAGE_EPOCH_SIZE 40

/* The state of a node. */
struct lineage_node {
	int64_t node_id;
	char name[NODE_NAME_SIZE];
	struct db_lineage lineage; /* where it serves */
	char epoch[LINEAGE_EPOCH_SIZE];
	char fresh_epoch[LINEAGE_EPOCH_SIZE]; /* unused so far */
	int64_t heartbeat_at;  /* the last that is committed; 0 */
	int waited_heartbeats; /* in a row whose commits waited for a standby */
	bool replicated;       /* all that it published is on a standby, too */
	const char *reason;    /* why the epoch changed, for the log */
};

/* The failover decision: the result of a check. */
enum lineage_decision {
	LINEAGE_SAME,          /* the lineage and the epoch are as before */
	LINEAGE_EPOCH_KEPT,    /* the lineage changed, and the epoch stays */
	LINEAGE_EPOCH_CHANGED, /* the epoch changed */
	LINEAGE_WAIT           /* another node may confirm the epoch */
};

/* How a node that starts treats a changed lineage. */
enum lineage_start {
	LINEAGE_START_WAIT,    /* waits for a node that may confirm the epoch */
	LINEAGE_START_ALONE,   /* no node has confirmed it in time */
	LINEAGE_START_ROLLBACK /* an operator says that commits are missing */
};

/* A node starts: reads lineage and epoch into ${node}, and makes the fresh
 * epoch the database's where it must.  In the caller's transaction, which is to
 * be rolled back on LINEAGE_WAIT. */
enum rc lineage_begin(struct db *db, struct lineage_node *node,
    enum lineage_start asked, int64_t now_ms, enum lineage_decision *ret,
    struct err *err) MUST_USE;

/* Writes a heartbeat, in a transaction of its own, and checks lineage and
 * epoch;
 * ${reconnected}: the connection is new.  After LINEAGE_EPOCH_CHANGED the node
 * must serve nothing that it has in memory. */
enum rc lineage_heartbeat(struct db *db, struct lineage_node *node,
    int64_t now_ms, bool reconnected, enum lineage_decision *ret,
    struct err *err) MUST_USE;

#endif
