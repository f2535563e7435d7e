/* SPDX-License-Identifier: MIT */
/*
 * Recovery: what happens to a database before anything is read from it for
 * clients, in this order:
 *
 *     1. a checkpoint: the log is moved into the file, the file is synced,
 *        and the log is truncated (SQLite only);
 *     2. the migrations that are missing (the hook makes a copy first);
 *     3. the boot row, in a transaction with a sync of its own.
 *
 * Why.  The server that ran before may have ended because a sync failed.  The
 * system then still has pages in memory that are not on the disk, and considers
 * them clean: no later sync writes them.  A client that repeats a send would
 * get a success for the known message, although the next loss of power undoes
 * it.
 *
 * The checkpoint writes everything that the log shows into the file again, and
 * starts the log anew, with no frames of the old one behind it.  It comes
 * first, so that nothing depends on frames that may disappear.  A migration
 * before it would append to that log and disappear with it; the copy of the
 * database would show a state that was never on the disk; and the copy would
 * take the room that the truncated log gives back.
 *
 * The checkpoint alone is not enough, because it writes nothing if the log is
 * empty.  The boot row proves that the disk takes a commit and its sync before
 * the first client gets a success.  It comes last, because the migrations
 * create its table.  Its value always differs from the previous one, because
 * SQLite writes nothing for a row that does not change.
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

	/* Called in the transaction of the boot row, before the row is written.
	 * If it sets *ret_wait (false before), the transaction is rolled back,
	 * rest() is called, and the transaction begins again, as often as
	 * needed.  An error ends the recovery.  NULL: nothing else belongs to
	 * that transaction. */
	enum rc (*enter)(
	    void *arg, struct db *db, bool *ret_wait, struct err *err);
	void (*rest)(void *arg);
};

/* Runs all steps on ${db}, a writer's connection.  After an error nothing may
 * be served from the database. */
enum rc store_recover(
    struct db *db, const struct store_recovery *how, struct err *err) MUST_USE;

#endif
