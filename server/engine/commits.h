/* SPDX-License-Identifier: MIT */
/*
 * Commits on their way to the disk.
 *
 * The writer commits early (db_commit_early) and goes on with the next batch;
 * meanwhile this thread syncs the log, once for all that was committed until
 * then, and only then publishes and answers, in the order of the commits.  So
 * the disk works while the next transaction is made, and a delivery often
 * shares the sync of the message that it delivers.  When nothing waits for the
 * writer it syncs, publishes and answers itself: there is nothing to go on
 * with, and a wake-up of the thread would cost as much as the transaction.
 *
 * Readers see an early commit before it is durable.  An answer made of what
 * they have read leaves only after commits_wait(): else a loss of power could
 * take back an inbox number that a client has seen, and give it to another
 * event.
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

/* One transaction, from its COMMIT to its answers. */
struct commit {
	struct unit *units; /* linked by their nodes */
	size_t n;
	void *told;       /* the hooks', to be published; may be NULL */
	bool owed;        /* a sync is */
	bool last;        /* no unit waits for the writer */
	int64_t began_us; /* monotonic, before the COMMIT */
};

/* Thread: the one that syncs, or the writer. */
struct commits_hooks {
	void *arg;

	/* On disk: publish what the transaction has to tell.  Called before
	 * its units' finish. */
	void (*published)(
	    void *arg, void *told, size_t units, int64_t commit_us);

	/* Perhaps not on disk: forget. */
	void (*lost)(void *arg, void *told);

	/* The store has failed for good; called once, by the thread that met
	 * the failure.  Where it ends the process, no answer leaves after it.
	 */
	void (*fatal)(void *arg, const struct err *err);
};

/* Makes it for ${db}; all three are kept.  Without a thread commits_add() does
 * the work at once.  NULL: no memory. */
struct commits *commits_new(
    struct db *db, const struct clk *clk, const struct commits_hooks *hooks);

/* Frees what is stopped.  NULL is allowed. */
void commits_free(struct commits *c);

/* Starts the thread. */
enum rc commits_start(struct commits *c, struct err *err) MUST_USE;

/* Finishes what was added, then ends the thread. */
void commits_stop(struct commits *c);

/* A COMMIT is about to be made: from now on readers may see it.  Must be
 * followed by commits_add(), with nothing in it when it failed.
 * Thread: writer. */
void commits_announce(struct commits *c);

/* Hands over the transaction announced last.  Waits while two others wait for
 * their sync, so that what comes meanwhile gathers into one batch.  If it is
 * the last one and no other is under way, all is done when this returns.
 * Thread: writer. */
void commits_add(struct commits *c, const struct commit *commit);

/* The store has failed for good, by ${err}: calls fatal, unless another thread
 * is doing so, and returns after it.  Nothing is published or answered with
 * success from the call on, also what is synced already; nothing at all is
 * answered before fatal has returned.  Thread: any. */
void commits_fail(struct commits *c, const struct err *err);

/* Waits until all that a snapshot opened before can show is on disk.  False:
 * it never will be.  Thread: any but the writer's and the syncing one. */
bool commits_wait(struct commits *c) MUST_USE;

#endif
