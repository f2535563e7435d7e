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

/* A function that runs at an interval on the thread, such as a check of the
 * disk.  It must be short and must not wait for the writer. */
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
	/* Returns whether this process purges and scrubs now; NULL: always.
	 * When the answer changes, another process may repeat what this one has
	 * begun. */
	bool (*ours)(void *arg);
	void *arg;
	struct upkeep_hook hooks[UPKEEP_HOOKS];
	int nhooks;
};

/* Makes upkeep, with connections of its own and without a thread.  Its first
 * turn writes DATA/mark (SQLite only).  Errors: RC_NO_MEMORY, or as db_open()
 * and archive_open().  ${options} is copied. */
enum rc upkeep_new(const struct upkeep_options *options, struct upkeep **ret,
    struct err *err) MUST_USE;

/* Frees ${u}, which is stopped.  NULL is allowed. */
void upkeep_free(struct upkeep *u);

/* Starts the thread. */
enum rc upkeep_start(struct upkeep *u, struct err *err) MUST_USE;

/* If the thread was started, ends it and writes DATA/mark a last time (SQLite
 * only).  The writer must have ended before, so that the unit has returned and
 * the mark is that of the last commit.  NULL is allowed. */
void upkeep_stop(struct upkeep *u);

/* Does what is due, in the calling thread: for the thread, tests and the
 * simulator.  Returns the (monotonic) time of the next turn. */
int64_t upkeep_turn(struct upkeep *u);

#endif
