/* SPDX-License-Identifier: MIT */
/*
 * Recovery: what happens to a database before anything is read from it for
 * clients, in this order:
 *
 *	1. the log is moved into the file, synced and emptied (a checkpoint with
 *	   truncate),
 *	2. the schema is brought up to date, after a copy,
 *	3. the boot row is written, in a transaction with a sync of its own.
 *
 * Why.  The server that was here before may have ended because a sync failed.
 * Then the system shows pages that are not on the disk and calls them clean:
 * no later sync writes them, and a repeated send would be answered "known" from
 * what the next loss of power takes back.
 *
 * The checkpoint writes all that the log shows anew, into the file, and begins
 * the log anew, with no frames of an older one behind it.  It comes first, so
 * that nothing is built on what may go: a migration that began before it would
 * append to that log and go with it, its copy would be of a state that never
 * was on the disk, and take the room that the emptied log gives.
 *
 * The checkpoint alone is not enough: of an empty log it writes nothing.  The
 * boot row shows that the disk takes a commit and its sync before the first
 * client is told that one was made.  It comes last, as the schema makes its
 * table, and always differs from the one before: SQLite writes nothing for a
 * row that stays what it is.
 *
 * Thread: the owner of the connection.
 */
#ifndef STORE_RECOVERY_H
#define STORE_RECOVERY_H

#include <stdbool.h>

#include "base/clk.h"
#include "db/db.h"

struct store_recovery {
	const struct clk *clk;
	void *arg; /* of what follows */

	/* Brings the schema up to date.  NULL: db_migrate(), without a copy. */
	enum rc (*migrate)(void *arg, struct db *db, struct err *err);

	/* Called in the transaction of the boot row, before it.  *ret_wait
	 * (false before): what was done is rolled back, rest() is called, and
	 * it begins again.  NULL: there is nothing more to do. */
	enum rc (*enter)(
	    void *arg, struct db *db, bool *ret_wait, struct err *err);
	void (*rest)(void *arg);
};

/* Does all of it on ${db}, a writer's connection.  After an error nothing may
 * be served from it. */
enum rc store_recover(
    struct db *db, const struct store_recovery *how, struct err *err) MUST_USE;

#endif
