/* SPDX-License-Identifier: MIT */
/*
 * The purger finds rows that are older than their retention and may be deleted,
 * and has the writer delete them, in one small unit of work at a time.  It
 * reads on a connection that cannot write, a bounded number of rows at a time.
 * Most tables have a cursor, which returns to the beginning of its table only
 * at long intervals (an eighth of the retention, at most a day), so that rows
 * that stay are seldom examined again.  With an archive, a row is on the
 * archive's disk before its deletion is submitted; processed messages, nonces
 * and destinations are not archived.
 *
 * It owns no thread, and takes its time from the options' clock.
 */
#ifndef UPKEEP_PURGER_H
#define UPKEEP_PURGER_H

#include "base/clk.h"
#include "metrics/metrics.h"
#include "upkeep/purge.h"

struct archive;
struct commits;
struct purger;

struct purger_options {
	const struct clk *clk;
	struct db *db; /* DB_READER, without a transaction; kept */
	/* The writer's; NULL: every row that can be read is durable. */
	struct commits *commits;
	struct metrics *metrics; /* may be NULL */
	struct archive *archive; /* NULL: none; kept */
	int64_t retention_ms[PURGE_TABLES];
	int64_t rate; /* rows examined per second, at most */

	/* Submits a unit of work, as writer_submit(). */
	enum rc (*submit)(void *arg, struct unit *unit);
	/* Called each time the writer has finished the purger's unit, in the
	 * sync thread or the writer.  It shall make the purger's own thread
	 * call purger_turn() at once, before the time that the last
	 * purger_turn() returned.  May be NULL: the purger notices the end of
	 * the unit in its next turn. */
	void (*wake)(void *arg);
	void *arg;
};

/* Makes a purger.  ${options} is copied. */
enum rc purger_new(const struct purger_options *options, struct purger **ret,
    struct err *err) MUST_USE;

/* Frees ${p}, whose unit must have returned.  NULL is allowed. */
void purger_free(struct purger *p);

/* Does one step, if one is due: takes note of the unit that the writer has
 * finished, then reads rows of the next table and submits the unit that deletes
 * those that are old enough.  After a failure, tries the step again later.
 * Does not wait for the unit, but blocks for the database, for the sync of
 * commits that it may read, and for the disk of the archive.  Returns the
 * monotonic time in ms of the next call; the call is due earlier if
 * purger_options.wake is called before. */
int64_t purger_turn(struct purger *p);

#endif
