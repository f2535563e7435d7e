/* SPDX-License-Identifier: MIT */
/*
 * The readers: threads, each with a read-only connection, that run jobs.  A job
 * is embedded in the request that it serves.  The owners of jobs (users,
 * networks of clients whose user is not known, and this server; base/owner.h)
 * take turns (base/fairq.h): a user with many slow reads hardly delays the
 * reads of others.
 */
#ifndef ENGINE_READER_H
#define ENGINE_READER_H

#include "base/err.h"
#include "base/mbox.h"
#include "db/db.h"

struct commits;

struct read_job {
	struct mbox_node node;

	uint64_t owner; /* in whose turn it runs (base/owner.h) */

	/* Does the read in a snapshot, all of which is durable, and passes the
	 * result on; owns the job.  The reader closes the snapshot after run
	 * has returned.  If no snapshot could be opened, or the store has
	 * failed for good before all of it was durable, ${db} is NULL and
	 * ${err} is filled.  Called once.  Thread: reader. */
	void (*run)(struct read_job *job, struct db *db, struct err *err);
};

struct readers;

/* Opens ${n} read-only connections with ${options}, whose mode is ignored, and
 * starts a thread for each.  At most ${limit} jobs wait, and at most a quarter
 * of ${limit} for one owner, including the few owners that share its line of
 * the queue (base/fairq.h).  Readers wait in ${commits} (kept) until a snapshot
 * is durable; NULL: they do not wait.  After a failure no thread and no
 * connection is left, and *ret is not set. */
enum rc readers_start(const struct db_options *options, int n, size_t limit,
    struct commits *commits, struct readers **ret, struct err *err) MUST_USE;

/* Runs the jobs that wait, ends the threads and frees everything.  NULL is
 * allowed. */
void readers_stop(struct readers *readers);

/* Hands over a job, whose run is called after RC_OK.  RC_BUSY: the queue is
 * full, or its quarter for the owner is; RC_CLOSED: the readers stop.  After
 * these two the caller still owns the job.  Thread: any. */
enum rc readers_submit(struct readers *readers, struct read_job *job) MUST_USE;

/* Returns false if for at least one reader its latest attempt to open a
 * snapshot has failed.  Such a reader tries again each second (reader_retry of
 * base/timing.h), even without a job.  Thread: any. */
bool readers_can_begin(const struct readers *readers);

#endif
