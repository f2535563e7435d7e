/* SPDX-License-Identifier: MIT */
/*
 * A scripted run of early commits on a power-loss disk.  It uses db.h without
 * the writer: it calls db_commit_early(), db_sync(), db_checkpoint() and
 * db_log_cut() in the orders in which the writer's two threads can call them.
 *
 * A sync comes after every 1, 2 or 3 commits: at once, among the writes of the
 * next commit, or among the writes of a checkpoint or a cut that happens while
 * the sync is owed.  The log starts anew several times.  A second connection
 * reads.  Once, the process is killed while a sync is owed, and started again.
 *
 * The run records the content of the database after each commit, when the
 * commit returned, and when it became durable.
 */
#ifndef FAULT_EARLY_H
#define FAULT_EARLY_H

#include "db/db.h"
#include "fault/plvfs.h"

#define EARLY_COMMITS 90
#define EARLY_ROWS 600
#define EARLY_LOGS 64
/* The id of the row that early_add_more() adds. */
#define EARLY_MORE EARLY_ROWS
#define EARLY_NEVER SIZE_MAX

struct early_options {
	size_t fail_at;       /* this sync fails, counted from 1; 0: none */
	bool headers_put_off; /* control: skip the sync of a log's header */
};

/* The content of a database. */
struct early_shown {
	int64_t last;
	uint64_t digest;
	bool more;
};

struct early_run {
	struct plvfs *disk;
	struct early_options options;
	struct db *db, *reader;
	size_t commits; /* that have returned */

	/* For each commit; 0 is the empty database. */
	uint64_t digest[EARLY_COMMITS + 1];
	size_t early[EARLY_COMMITS + 1];   /* crash point of its return */
	size_t durable[EARLY_COMMITS + 1]; /* crash point of its sync */

	size_t stamps[EARLY_ROWS]; /* the commit that wrote each row last */
	size_t nrows;

	/* The sync that is due, and the syncs so far. */
	size_t turn, waiting, countdown;
	size_t syncs, among_writes;
	size_t cuts; /* of the log, while a sync was owed */
	bool failed, killed, ended;

	/* The headers of new logs, and the points at which they were
	 * written. */
	bool header_unsynced;
	size_t logs, put_off;
	size_t header_at[EARLY_LOGS];

	bool reading;
	size_t read_since;
};

/* Prepares the VFS to skip syncs of a log's header.  The caller calls it after
 * plvfs_new() and before it opens the first database. */
void early_install(void);

/* Empties ${disk} and plays the run on it.  The run ends early when a sync was
 * made to fail. */
void early_play(struct early_run *r, struct plvfs *disk,
    const struct early_options *options);

/* Opens the database on ${disk} as the server's start does. */
enum rc early_open(const struct plvfs *disk, enum db_mode mode, struct db **ret,
    struct err *err) MUST_USE;

/* Reads the content of ${db}.  *ret_damages is the number of problems that
 * PRAGMA integrity_check reports; if it is not 0, *ret is not set. */
enum rc early_look(struct db *db, struct early_shown *ret, int64_t *ret_damages,
    struct err *err) MUST_USE;

/* Commits one more row, early, and syncs. */
enum rc early_add_more(struct db *db, struct err *err) MUST_USE;

#endif
