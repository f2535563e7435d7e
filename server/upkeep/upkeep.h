/* SPDX-License-Identifier: MIT */
/*
 * Upkeep: one thread that does, each at its time, what no request asks for:
 * the purger's purging, the scrubber's reading, DATA/mark, the order to cut a
 * long log when nothing happens, and what others hang in.  It never writes to
 * the database: what is to be written it hands to the writer as units.
 */
#ifndef UPKEEP_UPKEEP_H
#define UPKEEP_UPKEEP_H

#include "base/clk.h"
#include "db/db.h"
#include "metrics/metrics.h"
#include "upkeep/purge_rows.h"

struct upkeep;
struct writer;

/* Something that is run again and again on the thread, for alerts and the
 * like: short, and without waiting for the writer. */
struct upkeep_hook {
	void (*run)(void *arg, struct db *db); /* DB_READER, no transaction */
	void *arg;
	int64_t every_ms;
};

#define UPKEEP_HOOKS 4

struct upkeep_options {
	const struct db_options *db; /* of the database; mode is set here */
	const struct clk *clk;
	struct writer *writer;
	struct metrics *metrics; /* may be NULL */
	int dir_fd;              /* where the mark is; kept */
	const char *epoch;       /* kept */
	int64_t retention_ms[PURGE_TABLES];
	int64_t purge_rate;  /* rows examined a second */
	int64_t scrub_rate;  /* rows read a second; 0: none */
	const char *archive; /* a folder; "": none */
	/* Whether purging and scrubbing are this process's now; NULL: always.
	 * What it has begun elsewhere may be done again. */
	bool (*ours)(void *arg);
	void *arg;
	struct upkeep_hook hooks[UPKEEP_HOOKS];
	int nhooks;
};

/* Makes it, with connections of its own, and writes the mark; no thread yet. */
enum rc upkeep_new(const struct upkeep_options *options, struct upkeep **ret,
    struct err *err) MUST_USE;

/* Frees; stopped.  NULL is allowed. */
void upkeep_free(struct upkeep *u);

/* Starts the thread. */
enum rc upkeep_start(struct upkeep *u, struct err *err) MUST_USE;

/* Ends the thread; the writer must have ended before, so that the unit is back
 * and the last mark holds all.  NULL is allowed. */
void upkeep_stop(struct upkeep *u);

/* One turn in the calling thread, for tests and the simulator: what is due.
 * Gives the (monotonic) time of the next one. */
int64_t upkeep_turn(struct upkeep *u);

#endif
