/* SPDX-License-Identifier: MIT */
/*
 * The purger decides what goes and when.  It looks on a connection that cannot
 * write, a bounded piece at a time, keeps a cursor for each table, so that what
 * stays long is not looked at again in each round, and hands what is old
 * enough to the writer as one small unit at a time.  Where there is an archive
 * a row is on its disk before its deletion is handed over.
 *
 * It owns no thread and takes its time from outside.
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
	struct db *db;           /* DB_READER, without a transaction; kept */
	struct commits *commits; /* of the writer; NULL: none commits early */
	struct metrics *metrics; /* may be NULL */
	struct archive *archive; /* NULL: none; kept */
	int64_t retention_ms[PURGE_TABLES];
	int64_t rate; /* rows examined a second, at most */

	/* Takes a unit of work, as writer_submit() does. */
	enum rc (*submit)(void *arg, struct unit *unit);
	/* The unit has come back: a turn is due.  May be NULL.
	 * Thread: sync or writer. */
	void (*wake)(void *arg);
	void *arg;
};

/* Makes one; ${options} is copied. */
enum rc purger_new(const struct purger_options *options, struct purger **ret,
    struct err *err) MUST_USE;

/* Frees; the unit must have come back.  NULL is allowed. */
void purger_free(struct purger *p);

/* Does what is due, which never waits for the writer.  Gives the (monotonic)
 * time at which to call again, if not woken before. */
int64_t purger_turn(struct purger *p);

#endif
