/* SPDX-License-Identifier: MIT */
/*
 * A scripted run of early commits over a power-loss disk, through db.h without
 * the writer: db_commit_early(), db_sync(), db_checkpoint() and db_log_cut() in
 * the order in which the writer's two threads come to call them.  A sync comes
 * after every 1, 2 or 3 commits: at once, among the writes of the commit after,
 * or among those of a checkpoint or of a cut, which come while it is owed; the
 * log starts anew several times; a second connection reads; once the process is
 * killed with a sync owed, and started again.
 *
 * It remembers what the database was after each commit, when the commit
 * returned and when it was durable.
 */
#ifndef FAULT_EARLY_H
#define FAULT_EARLY_H

#include "db/db.h"
#include "fault/plvfs.h"

#define EARLY_COMMITS 90
#define EARLY_ROWS 600
#define EARLY_LOGS 64
/* The row that early_add_more() adds. */
#define EARLY_MORE EARLY_ROWS
#define EARLY_NEVER SIZE_MAX

struct early_options {
	size_t fail_at;       /* this sync fails, counted from 1; 0: none */
	bool headers_put_off; /* the control: the sync of a log's header is */
};

/* What a database shows. */
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

	/* Of each commit; 0 is the empty database. */
	uint64_t digest[EARLY_COMMITS + 1];
	size_t early[EARLY_COMMITS + 1]; /* crash point at which it returned */
	size_t durable[EARLY_COMMITS + 1]; /* at which its sync did */

	size_t stamps[EARLY_ROWS]; /* what the rows are now */
	size_t nrows;

	/* The sync that is to come, and those that came. */
	size_t turn, waiting, countdown;
	size_t syncs, among_writes;
	size_t cuts; /* of the log, while a sync was owed */
	bool failed, killed, ended;

	/* The headers of new logs: where they were written. */
	bool header_unsynced;
	size_t logs, put_off;
	size_t header_at[EARLY_LOGS];

	bool reading;
	size_t read_since;
};

/* Makes the disk one that can put off the sync of a log's header.  Before the
 * first database is opened, after plvfs_new(). */
void early_install(void);

/* The run, on ${disk}, which is emptied before.  Ends early when a sync was
 * made to fail. */
void early_play(struct early_run *r, struct plvfs *disk,
    const struct early_options *options);

/* Opens the database on ${disk} as the server's start does. */
enum rc early_open(const struct plvfs *disk, enum db_mode mode, struct db **ret,
    struct err *err) MUST_USE;

/* What ${db} shows; *ret_damages: what integrity_check finds. */
enum rc early_look(struct db *db, struct early_shown *ret, int64_t *ret_damages,
    struct err *err) MUST_USE;

/* Commits one row more, early, and syncs. */
enum rc early_add_more(struct db *db, struct err *err) MUST_USE;

#endif
