/* SPDX-License-Identifier: MIT */
/*
 * Whether a shared database is still the one that its clients' cursors are
 * about.  A server that was promoted, restored or copied goes on in another
 * lineage (db_lineage), and may lack what was told already; then the epoch is
 * another.
 *
 * The rows `epoch` and `line` of meta say of which lineage the epoch is, and
 * whether all that nodes tell on it is on a standby, too.
 *
 * Promise: on another lineage the epoch stays only if a node says so that has
 * served on the lineage before, and
 *
 *	1. all that it was told was on a standby, too (the row says "sync"),
 *	2. its own last beat is in the database, and so is all before it.
 *
 * Each node that was there decides for itself, the row locked: one that cannot
 * say so makes another epoch, whatever others have said.  One that was not
 * there cannot say so; it waits for one that may.
 *
 * The row says "sync" only after a commit that has itself waited for a standby,
 * by a node that has found for two beats that commits do; it is taken back by
 * the first node that finds otherwise, and for good ("local") by one whose own
 * commits do not wait though there are standbys.
 *
 * Thread: owner of ${db}.
 */
#ifndef CLUSTER_LINEAGE_H
#define CLUSTER_LINEAGE_H

#include "cluster/node.h"
#include "db/db.h"

#define LINEAGE_EPOCH_SIZE 40

/* What a node knows. */
struct lineage_node {
	int64_t node_id;
	char name[NODE_NAME_SIZE];
	struct db_lineage lineage; /* where it serves */
	char epoch[LINEAGE_EPOCH_SIZE];
	char fresh_epoch[LINEAGE_EPOCH_SIZE]; /* one that nobody has ever had */
	int64_t beat_at;    /* the last that is committed; 0 */
	int waited_beats;   /* beats in a row that found standbys waited for */
	bool replicated;    /* all that it was told is on a standby, too */
	const char *reason; /* the epoch is another, for the log */
};

enum lineage_verdict {
	LINEAGE_SAME,  /* nothing has changed */
	LINEAGE_KEPT,  /* another lineage, which lacks nothing */
	LINEAGE_OTHER, /* another epoch */
	LINEAGE_WAIT   /* others may know */
};

/* Who else may know whether another lineage lacks anything. */
enum lineage_start {
	LINEAGE_START_ASK,     /* perhaps nodes that have served before */
	LINEAGE_START_ALONE,   /* nobody has said so in time */
	LINEAGE_START_ROLLBACK /* an operator, who says that it does */
};

/* A node starts: fills lineage and epoch of ${node}, and makes another epoch
 * (its spare) where it must.  In the caller's transaction, which is to be given
 * up on LINEAGE_WAIT. */
enum rc lineage_begin(struct db *db, struct lineage_node *node,
    enum lineage_start asked, enum lineage_verdict *ret,
    struct err *err) MUST_USE;

/* A node beats, in a transaction of its own, and sees whether the lineage and
 * the epoch are still what it serves; ${reconnected}: on a new connection.
 * After LINEAGE_OTHER it must serve nothing of what it knows. */
enum rc lineage_heartbeat(struct db *db, struct lineage_node *node,
    int64_t now_ms, bool reconnected, enum lineage_verdict *ret,
    struct err *err) MUST_USE;

#endif
