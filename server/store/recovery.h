/* SPDX-License-Identifier: MIT */
/*
 * Recovery: the steps that a server takes with its database at the start,
 * before it reads anything for clients:
 *
 *     1. a checkpoint: the write-ahead log is moved into the database file,
 *        the file is synced, and the log is truncated (SQLite only);
 *     2. the migrations that are missing (the hook migrate() may copy the
 *        database first);
 *     3. the boot row, which holds the time of this start, in a transaction
 *        with a sync of its own (the hook enter() may add to it).
 *
 * Why.  The server that ran before may have ended because a sync failed.  The
 * operating system then still has pages in memory that are not on the disk, and
 * considers them clean: no later sync writes them.  Without the recovery, a
 * client that repeats a send would get a success, because the message is found
 * in the database, although the next loss of power may remove the message.
 *
 * The checkpoint writes everything that the log shows into the file again, and
 * empties the log.  The checkpoint comes first, so that nothing depends on
 * frames of the log that may disappear.  A migration before the checkpoint
 * would append its frames to those and disappear with them; the copy of the
 * database would contain a state that was never on the disk; and on a full disk
 * the copy could fail, because the log still takes the room that truncating it
 * frees.
 *
 * The checkpoint alone is not enough, because it writes nothing if the log is
 * empty.  The boot row proves that the disk takes a commit and its sync before
 * the first client gets a success.  The boot row comes last, because the
 * migrations create its table.  Its value is made to differ from the value of
 * the last start, because SQLite writes nothing for a row that does not change.
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
	void *arg; /* of the functions below */

	/* Runs the missing migrations.  NULL: db_migrate() runs them, without a
	 * copy. */
	enum rc (*migrate)(void *arg, struct db *db, struct err *err);

	/* Called in the transaction of the boot row, before the row is written;
	 * the changes made here are committed with the row.  *ret_wait is false
	 * at the call.  If enter() sets it to true and returns RC_OK, the
	 * transaction is rolled back, rest() is called to wait a moment, and a
	 * new transaction begins with enter() again; the number of repeats has
	 * no limit.  An error of enter() ends the recovery.  NULL: the
	 * transaction only writes the boot row, and rest() is not called. */
	enum rc (*enter)(
	    void *arg, struct db *db, bool *ret_wait, struct err *err);
	void (*rest)(void *arg);
};

/* Runs the recovery on ${db}, a writer's connection: the checkpoint, the
 * missing migrations and the boot row.  Stops at the first error, after which
 * nothing may be served from the database. */
enum rc store_recover(
    struct db *db, const struct store_recovery *how, struct err *err) MUST_USE;

#endif
