/* SPDX-License-Identifier: MIT */
/*
 * The purger decides which rows are deleted, and when.  It reads on a
 * connection that cannot write, a bounded number of rows at a time, with a
 * cursor for each table, so that rows that stay long are not examined again in
 * each round.  It submits old rows to the writer in one small unit at a time.
 * With an archive, a row is on the archive's disk before its deletion is
 * submitted.
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
	/* Called when the unit has returned and a turn is due.  May be NULL.
	 * Thread: sync or writer. */
	void (*wake)(void *arg);
	void *arg;
};

/* Makes a purger.  ${options} is copied. */
enum rc purger_new(const struct purger_options *options, struct purger **ret,
    struct err *err) MUST_USE;

/* Frees ${p}, whose unit must have returned.  NULL is allowed. */
void purger_free(struct purger *p);

/* Does what is due.  Does not wait for its unit, but blocks for the database,
 * for the sync of commits that it may read, and for the disk of the archive.
 * Returns the (monotonic) time of the next call, if the purger does not call
 * purger_options.wake before. */
int64_t purger_turn(struct purger *p);

#endif
