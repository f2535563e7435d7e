/* SPDX-License-Identifier: MIT */
/*
 * The readers: threads with a read-only connection each, which run jobs.  A
 * job is embedded in the request that it serves.  Owners take turns
 * (base/fairq.h): a user with many slow reads does not delay the others' reads.
 */
#ifndef ENGINE_READER_H
#define ENGINE_READER_H

#include "base/err.h"
#include "base/mbox.h"
#include "db/db.h"

struct commits;

struct read_job {
	struct mbox_node node;

	uint64_t owner; /* whose turn it takes (base/owner.h) */

	/* Does the reading inside a snapshot, all of which is on disk, and
	 * hands its answer on; owns the job.  ${db} is NULL, and ${err} filled,
	 * when no snapshot could be opened.  Thread: reader. */
	void (*run)(struct read_job *job, struct db *db, struct err *err);
};

struct readers;

/* Opens ${n} connections with ${options} (mode is set here) and starts their
 * threads.  At most ${limit} jobs wait, a quarter of them for one owner.
 * ${commits} (kept; NULL where nobody commits early) says when a snapshot is on
 * disk. */
enum rc readers_start(const struct db_options *options, int n, size_t limit,
    struct commits *commits, struct readers **ret, struct err *err) MUST_USE;

/* Finishes what waits, ends the threads, frees.  NULL is allowed. */
void readers_stop(struct readers *readers);

/* Hands over a job; RC_BUSY when full, RC_CLOSED while stopping.  Thread: any.
 */
enum rc readers_submit(struct readers *readers, struct read_job *job) MUST_USE;

/* Whether each reader could open its last snapshot.  One that could not tries
 * again each second, without a job.  Thread: any. */
bool readers_can_begin(const struct readers *readers);

#endif
