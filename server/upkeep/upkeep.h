/* SPDX-License-Identifier: MIT */
/*
 * Upkeep: one thread for the work that no request asks for, each at its time:
 * it purges old rows, scrubs, writes DATA/mark, has a long write-ahead log
 * truncated when the server is idle, and runs hooks of other modules.  It never
 * writes to the database itself; it submits units of work to the writer.
 */
#ifndef UPKEEP_UPKEEP_H
#define UPKEEP_UPKEEP_H

#include "base/clk.h"
#include "db/db.h"
#include "metrics/metrics.h"
#include "upkeep/purge_rows.h"

struct upkeep;
struct writer;

/* A function that upkeep_turn() calls in its first turn and then about every
 * ${every_ms}, on every node, such as a check of the disk.  It must be short
 * and must not wait for the writer, because all other upkeep waits for it. */
struct upkeep_hook {
	void (*run)(void *arg, struct db *db); /* DB_READER, no transaction */
	void *arg;
	int64_t every_ms;
};

#define UPKEEP_HOOKS 4

struct upkeep_options {
	const struct db_options *db; /* of the database; the mode is ignored */
	const struct clk *clk;
	struct writer *writer;
	struct metrics *metrics; /* may be NULL */
	int dir_fd;              /* the folder of DATA/mark; kept */
	const char *epoch;       /* kept */
	int64_t retention_ms[PURGE_TABLES];
	int64_t purge_rate;  /* rows examined per second */
	int64_t scrub_rate;  /* rows read per second; 0: no scrubber */
	const char *archive; /* a folder; "": none */
	/* Called in every turn: returns whether this process shall purge and
	 * scrub now, and not another node; NULL: always.  The rest of upkeep
	 * runs in any case.  A node that takes over does not know how far the
	 * other one has come, so it may repeat work. */
	bool (*ours)(void *arg);
	void *arg;
	struct upkeep_hook hooks[UPKEEP_HOOKS];
	int nhooks;
};

/* Makes upkeep, with read connections of its own and without a thread.  Its
 * first turn writes DATA/mark (SQLite only).  ${options} is copied.  Errors:
 * RC_NO_MEMORY, or as db_open() and archive_open(); then ${ret} is not set and
 * nothing is left to free. */
enum rc upkeep_new(const struct upkeep_options *options, struct upkeep **ret,
    struct err *err) MUST_USE;

/* Frees ${u}, which is stopped.  NULL is allowed. */
void upkeep_free(struct upkeep *u);

/* Starts the thread. */
enum rc upkeep_start(struct upkeep *u, struct err *err) MUST_USE;

/* If the thread was started, ends it and writes DATA/mark a last time (SQLite
 * only); without a thread does neither.  The caller must have stopped the
 * writer before, so that the purger's unit has returned and the mark is that of
 * the last commit.  Does not free ${u}.  NULL is allowed. */
void upkeep_stop(struct upkeep *u);

/* Does all upkeep that is due, in the calling thread: the thread of
 * upkeep_start() or, without that thread, tests and the simulator.  Logs and
 * counts failures.  Returns the monotonic time in ms of the next turn; the end
 * of the purger's unit makes a turn due earlier. */
int64_t upkeep_turn(struct upkeep *u);

#endif
