/* SPDX-License-Identifier: MIT */
/*
 * Commits that are not durable yet.
 *
 * The writer commits early (db_commit_early(): a COMMIT that SQLite does not
 * sync) and continues with the next batch.  Meanwhile the sync thread syncs the
 * log, once for all commits handed over until then, and only then publishes and
 * finishes their units, in the order of the commits.  So the disk works while
 * the next transaction is made, and a delivery often shares the sync of the
 * message that it delivers.
 *
 * When no unit waits for the writer and the sync thread is idle, the writer
 * itself syncs, publishes and finishes: there is no next batch to continue
 * with, and waking the sync thread would cost as much as the transaction.
 *
 * On PostgreSQL a commit is durable at once; only publishing and finishing are
 * left.
 *
 * Readers see an early commit before it is durable.  A response that is made
 * from what they have read leaves only after commits_wait().  Otherwise a loss
 * of power could undo an inbox number that a client has seen, and that number
 * would be given to another event.
 */
#ifndef ENGINE_COMMITS_H
#define ENGINE_COMMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clk.h"
#include "base/err.h"
#include "db/db.h"

struct commits;
struct unit;

/* A transaction, from its COMMIT until its units are finished. */
struct commit {
	struct unit *units; /* linked by their nodes */
	size_t n;
	void *told; /* what writer_hooks.committed() returned; may be NULL */
	bool owed;  /* durable only after a sync */
	bool last;  /* no unit waits for the writer */
	int64_t began_us; /* monotonic, before the COMMIT */
};

/* The owner's part of a commit.  Thread: sync or writer. */
struct commits_hooks {
	void *arg;

	/* The commit is durable: publishes ${told}, the result of
	 * writer_hooks.committed().  ${units}: the number of units of the
	 * commit.  ${commit_us}: the time since the COMMIT began, microseconds.
	 * Called before the finish of these units, and not for a commit with
	 * neither units nor ${told}. */
	void (*published)(
	    void *arg, void *told, size_t units, int64_t commit_us);

	/* The commit may not be durable: discards ${told}. */
	void (*lost)(void *arg, void *told);

	/* The store has failed for good.  Called once, by the thread that found
	 * the failure.  A commit whose publication has not begun finishes its
	 * units only after this hook has returned, so a hook that ends the
	 * process lets no response out for them. */
	void (*fatal)(void *arg, const struct err *err);
};

/* Allocates the state for the writer's connection ${db}; keeps all three
 * pointers.  Until commits_start() there is no sync thread, and commits_add()
 * itself syncs, publishes and finishes.  NULL: out of memory. */
struct commits *commits_new(
    struct db *db, const struct clk *clk, const struct commits_hooks *hooks);

/* Frees ${c}, whose thread must have been stopped.  NULL is allowed. */
void commits_free(struct commits *c);

/* Starts the sync thread. */
enum rc commits_start(struct commits *c, struct err *err) MUST_USE;

/* Syncs and finishes what was added, then ends the thread. */
void commits_stop(struct commits *c);

/* Counts a COMMIT that is about to be made, so that commits_wait() waits for
 * it: from now on readers may see the transaction, before it is durable.  Must
 * be followed by commits_add(), with an empty commit if the COMMIT failed.
 * Thread: writer. */
void commits_announce(struct commits *c);

/* Hands over the commit that was announced last; copies *commit.  Waits while
 * two earlier commits wait for the sync thread; units that arrive meanwhile
 * gather into one batch.  If no unit waits for the writer (commit->last) and
 * the sync thread is idle, this call itself syncs, publishes and finishes the
 * units before it returns.  Thread: writer. */
void commits_add(struct commits *c, const struct commit *commit);

/* Reports that the store has failed for good, with ${err}.  Calls the hook
 * fatal, or, if another thread calls or has called it, waits until that call
 * has returned.  A commit whose publication has not begun by now is not
 * published, even if it is synced already; its units finish with RC_IO, after
 * fatal has returned.  Thread: any. */
void commits_fail(struct commits *c, const struct err *err);

/* Waits until everything is durable that a snapshot opened before this call can
 * show.  Returns false if it never will be, because the store has failed.
 * Thread: any but the writer and the sync thread, which would wait for
 * themselves. */
bool commits_wait(struct commits *c) MUST_USE;

#endif
