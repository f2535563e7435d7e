/* SPDX-License-Identifier: MIT */
/*
 * The lineage of a multi-writer database (server, database, timeline), and
 * whether clients' cursors are still valid on it.  A server that was promoted,
 * restored or copied continues on another lineage, and may lack commits that
 * clients have seen.  Then the epoch changes (a name that is a part of each
 * cursor), and clients read their inboxes anew.
 *
 * The rows `epoch` and `line` of the table meta hold the epoch, its lineage,
 * and the mode, which says whether all commits that nodes published on that
 * lineage are also on a standby ("sync" if they are).
 *
 * Promise: on another lineage the epoch stays only if a node that served on the
 * lineage before confirms it.  A node confirms if only the timeline differs and
 *
 *	1. all commits that it published were also on a standby, and the mode
 *	   of the lineage before was "sync", and
 *	2. its own last heartbeat is in the database, so all that was
 *	   committed before it is there, too.
 *
 * Each node that served before decides for itself, under the lock of the row: a
 * node that cannot confirm makes another epoch, even if another node has
 * confirmed.  A node that starts on another lineage cannot confirm.  If the
 * mode is "sync" and only the timeline differs, the starting node waits for a
 * node that can confirm, and makes another epoch if none does in time
 * (main/opening.c); otherwise the starting node makes another epoch at once.  A
 * node that starts after an operator has said that commits are missing makes
 * another epoch in any case, even on the same lineage.
 *
 * The mode is "async" at first.  A node sets it to "sync" in the transaction of
 * a heartbeat whose commit waits for a standby, if that is at least the second
 * such heartbeat in a row.  The first node whose commits do not wait sets it
 * back to "async"; or, if synchronous standbys are configured all the same, to
 * "local", which is final on this lineage.
 *
 * Thread: owner of ${db}.
 */
#ifndef CLUSTER_LINEAGE_H
#define CLUSTER_LINEAGE_H

#include "cluster/node.h"
#include "db/db.h"

#define LINEAGE_EPOCH_SIZE 40

/* A node's own identity. */
struct lineage_node {
	int64_t node_id;
	char name[NODE_NAME_SIZE];
	struct db_lineage lineage; /* the lineage on which it serves */
	char epoch[LINEAGE_EPOCH_SIZE];
	/* The epoch that this node makes current if the epoch must change. */
	char fresh_epoch[LINEAGE_EPOCH_SIZE];
	int64_t heartbeat_at; /* the last one committed; 0: none */
	/* Heartbeats in a row whose commits waited for a standby. */
	int waited_heartbeats;
	bool replicated;    /* all that it published is on a standby, too */
	const char *reason; /* why the epoch changed, for the log */
};

/* The result of a check of lineage and epoch. */
enum lineage_decision {
	LINEAGE_SAME,          /* lineage and epoch are as before */
	LINEAGE_EPOCH_KEPT,    /* the lineage changed, the epoch stays */
	LINEAGE_EPOCH_CHANGED, /* the epoch changed */
	LINEAGE_WAIT           /* another node may confirm the epoch */
};

/* The action of a node that starts and finds another lineage. */
enum lineage_start {
	LINEAGE_START_WAIT,    /* wait for a node that may confirm the epoch */
	LINEAGE_START_ALONE,   /* no node has confirmed it in time */
	LINEAGE_START_ROLLBACK /* an operator says that commits are missing */
};

/* Prepares ${node}, in which the caller has set fresh_epoch, for serving: reads
 * the lineage and the epoch into ${node}, in the caller's transaction.  Always
 * makes the fresh epoch current (LINEAGE_EPOCH_CHANGED) if ${asked} is
 * LINEAGE_START_ROLLBACK.  Otherwise, if the lineage is the recorded one, sets
 * *ret to LINEAGE_SAME.  On another lineage, if ${asked} is LINEAGE_START_WAIT
 * and a node that served before may confirm the epoch (the mode is "sync", and
 * only the timeline differs), sets *ret to LINEAGE_WAIT: the caller must then
 * roll back, and may call again in a new transaction.  In all other cases makes
 * the fresh epoch current, too. */
enum rc lineage_begin(struct db *db, struct lineage_node *node,
    enum lineage_start asked, int64_t now_ms, enum lineage_decision *ret,
    struct err *err) MUST_USE;

/* Writes a heartbeat in a transaction of its own, and checks the lineage and
 * the epoch.  ${now_ms} is wall time; ${reconnected}: the connection was made
 * since the last heartbeat.  *ret, valid only with RC_OK, is not LINEAGE_WAIT.
 * After LINEAGE_EPOCH_CHANGED no heartbeat was written, ${node}->epoch is still
 * the old epoch, and the node must not serve anything from memory. */
enum rc lineage_heartbeat(struct db *db, struct lineage_node *node,
    int64_t now_ms, bool reconnected, enum lineage_decision *ret,
    struct err *err) MUST_USE;

#endif
