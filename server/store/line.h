/* SPDX-License-Identifier: MIT */
/*
 * Whether a shared database is still the one that its clients' cursors are
 * about.  A server that was promoted, restored or copied goes on in another
 * line (db_line), and may lack what was told already; then the epoch is
 * another.
 *
 * The rows `epoch` and `line` of meta say of which line the epoch is, and
 * whether all that nodes tell on it is on a standby, too.
 *
 * Promise: on another line the epoch stays only if a node says so that has
 * served on the line before, and
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
#ifndef STORE_LINE_H
#define STORE_LINE_H

#include "db/db.h"
#include "store/node.h"

#define STORE_EPOCH_SIZE 40

/* What a node knows. */
struct store_line_node {
	int64_t node_id;
	char name[STORE_NODE_NAME_SIZE];
	struct db_line line; /* where it serves */
	char epoch[STORE_EPOCH_SIZE];
	char spare[STORE_EPOCH_SIZE]; /* one that nobody has ever had */
	int64_t beat_at;              /* the last that is committed; 0 */
	int waited;      /* beats in a row that found standbys waited for */
	bool sure;       /* all that it was told is on a standby, too */
	const char *why; /* the epoch is another, for the log */
};

enum store_line_verdict {
	STORE_LINE_SAME,  /* nothing has changed */
	STORE_LINE_KEPT,  /* another line, which lacks nothing */
	STORE_LINE_OTHER, /* another epoch */
	STORE_LINE_WAIT   /* others may know */
};

/* Who else may know whether another line lacks anything. */
enum store_line_doubt {
	STORE_LINE_ASK,     /* perhaps nodes that have served before */
	STORE_LINE_ALONE,   /* nobody has said so in time */
	STORE_LINE_ROLLBACK /* an operator, who says that it does */
};

/* A node starts: fills line and epoch of ${node}, and makes another epoch
 * (its spare) where it must.  In the caller's transaction, which is to be given
 * up on STORE_LINE_WAIT. */
enum rc store_line_begin(struct db *db, struct store_line_node *node,
    enum store_line_doubt asked, enum store_line_verdict *ret,
    struct err *err) MUST_USE;

/* A node beats, in a transaction of its own, and sees whether the line and the
 * epoch are still what it serves; ${again}: on a new connection.  After
 * STORE_LINE_OTHER it must serve nothing of what it knows. */
enum rc store_line_beat(struct db *db, struct store_line_node *node,
    int64_t now_ms, bool again, enum store_line_verdict *ret,
    struct err *err) MUST_USE;

#endif
