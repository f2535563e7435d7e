/* SPDX-License-Identifier: MIT */
/*
 * The writer: one thread that owns the write connection and turns whatever
 * waits into one transaction (group commit).
 *
 *	take all that waits (at most 512 units or 4 MiB)
 *	sort it by kind; BEGIN IMMEDIATE; each kind's batch verb; COMMIT
 *	the log is synced (commits.h), while the next batch is worked on
 *	only then answer and publish
 *
 * A unit of work is a struct with a `struct unit` inside, allocated with the
 * request that it serves, so that answering cannot fail.  A batch verb decides
 * each unit's refusal before its first write.  An error after a first write
 * abandons the whole transaction, and its units are run again one by one.
 *
 * On a multi-writer database another transaction may lock a row for long.  The
 * units that need it are deferred (deferred.h), and the others go on.
 *
 * "Accepted" (the promise that others cite): a unit's `finish` is called with
 * RC_OK only after the COMMIT of its transaction has succeeded and the fsync
 * after it has returned.
 */
#ifndef ENGINE_WRITER_H
#define ENGINE_WRITER_H

#include "base/clk.h"
#include "base/container.h"
#include "base/err.h"
#include "base/mbox.h"
#include "base/rnd.h"
#include "db/db.h"

struct commits;
struct txn_env;
struct lockset;
struct tx;
struct unit;
struct writer;

/* The three queues: deliveries and acks first, then clients, then upkeep (at
 * most a tenth of a batch). */
enum unit_queue { UNIT_DELIVERY, UNIT_CLIENT, UNIT_UPKEEP, UNIT_QUEUES };

/* A kind of unit: its place in a batch and what to do. */
struct unit_kind {
	const char *name;
	enum unit_queue queue;
	int order; /* kinds run in ascending order within a transaction */

	/* The work, by one of the two: for all units of the kind in the batch
	 * together, or for one.  For each unit it either sets unit->rc (a
	 * refusal, before any write) or does the work, or a part of it and
	 * sets unit->requeue.  A result other than RC_OK abandons the
	 * transaction. */
	enum rc (*apply)(
	    struct tx *tx, struct unit **units, size_t n, struct err *err);
	enum rc (*apply_one)(struct tx *tx, struct unit *unit, struct err *err);

	/* Adds to ${set} the rows that the unit will read and write
	 * (txn/lockset.h).  Called where several nodes write to the
	 * database, before anything of the batch is applied; perhaps more than
	 * once.  unit_locks_nothing() where a unit needs no lock. */
	enum rc (*locks)(
	    struct unit *unit, struct lockset *set, struct err *err);

	/* Adds the names of rows that the unit will make.  The rows that it
	 * listed are locked, and in the cache.  NULL: it makes none that
	 * another node might make, too. */
	enum rc (*locks_names)(struct unit *unit, struct tx *tx,
	    struct lockset *set, struct err *err);

	/* A flag for each of the unit's *ret_n parts, some of which can be
	 * deferred while the others are applied.  NULL: it has no parts. */
	bool *(*parts)(struct unit *unit, size_t *ret_n);

	/* A unit that waits for a row that it did not list may be passed by
	 * others. */
	bool any_order;
};

/* Defines `static const struct unit_kind ${id}_kind`.  ${locks} is the function
 * of the member, and is not left out: a kind without it would work on SQLite,
 * and on PostgreSQL only after retries.  What follows are the other members. */
#define UNIT_KIND(id, locks_, ...)                                             \
	static const struct unit_kind id##_kind = {                            \
	    .name = #id, .locks = &(locks_), __VA_ARGS__}

/* The `locks` of a kind whose units need none. */
enum rc unit_locks_nothing(
    struct unit *unit, struct lockset *set, struct err *err);

struct unit {
	struct mbox_node node; /* first */
	const struct unit_kind *kind;
	enum rc rc;
	bool requeue;        /* not finished: it comes back in a later batch */
	bool deferred;       /* another transaction has locked its rows */
	int64_t deferred_ms; /* monotonic: since when; -1: never yet */
	size_t bytes;        /* what it holds, for the size of a batch */

	/* The unit is finished: rc says how.  RC_OK and refusals: the
	 * transaction is on disk.  The callee owns the unit again.
	 * Thread: sync or writer. */
	void (*finish)(struct unit *unit);
};

/* The next one of a list linked by the nodes; NULL at its end. */
static inline struct unit *
unit_next(const struct unit *unit)
{

	return (unit->node.next == NULL
		    ? NULL
		    : CONTAINER_OF(unit->node.next, struct unit, node));
}

/* What the layers above add to a transaction. */
struct writer_hooks {
	void *arg;

	/* A transaction has begun (also after an abandoned one).  A result
	 * other than RC_OK abandons it before anything is applied: the database
	 * may have ended it by itself, and what was applied would stand alone.
	 */
	enum rc (*begin)(void *arg, struct tx *tx, struct err *err);

	/* Where several nodes write to the database: reads and locks the rows
	 * that the units list (unit_kind.locks), before the first of them is
	 * applied, and defers of those that need a row of another
	 * transaction: of all such when tx->search, else of those that need a
	 * row that was contended before. */
	enum rc (*lock)(void *arg, struct tx *tx, struct unit **units, size_t n,
	    struct err *err);

	/* The same: finds which contended rows are free now, and forgets
	 * those; ${forget}: forgets all. */
	enum rc (*probe)(void *arg, struct tx *tx, bool forget, bool *ret_freed,
	    struct err *err);

	/* Whether there are contended rows. */
	bool (*contended)(void *arg);

	/* All units are applied: write what is left to write. */
	enum rc (*flush)(void *arg, struct tx *tx, struct err *err);

	/* Committed, but perhaps not on disk yet: hand out what leads to later
	 * transactions only, and give what is to be told (may be NULL). */
	void *(*committed)(void *arg, struct tx *tx);

	/* It is on disk, which took ${commit_us} from the COMMIT on: tell it.
	 * Called before the units' finish.  Thread: sync or writer. */
	void (*published)(
	    void *arg, void *told, size_t units, int64_t commit_us);

	/* It may not be on disk and never will be: forget it.
	 * Thread: sync or writer. */
	void (*lost)(void *arg, void *told);

	/* Rolled back: forget. */
	void (*aborted)(void *arg, struct tx *tx);

	/* The store failed for good (RC_IO, RC_CORRUPT): stop serving.
	 * Thread: writer or sync. */
	void (*fatal)(void *arg, const struct err *err);
};

/* A transaction, as the batch verbs see it. */
struct tx {
	struct db *db;
	int64_t now_ms; /* one wall time for the whole transaction */
	int tries;      /* how often the same was tried before */
	bool search;    /* takes only what is free, and waits for nothing */
	bool alone;     /* of a unit whose batch was abandoned */
	struct txn_env *env; /* not read here; set by the begin hook */
};

struct writer_options {
	struct db *db; /* kept until writer_free; used by the thread only */
	const struct clk *clk;
	const struct timing *timing;      /* kept; NULL: timing_real() */
	const struct writer_hooks *hooks; /* kept */
	size_t queue_limit;       /* units that may wait in each queue */
	int64_t checkpoint_bytes; /* log size that asks for a checkpoint */
	/* All commits are synced by the thread for that, also when no unit
	 * waits: tests hold that thread. */
	bool syncs_beside;
};

struct writer_stats {
	uint64_t batches;
	uint64_t units;
	uint64_t abandoned;
	uint64_t checkpoints;
	uint64_t full;   /* batches refused for want of disk */
	size_t deferred; /* units that wait for rows that others hold */
	int64_t log_bytes;
};

/* Makes a writer; no thread yet. */
enum rc writer_new(const struct writer_options *options, struct writer **ret,
    struct err *err) MUST_USE;

/* Frees a stopped writer.  NULL is allowed. */
void writer_free(struct writer *w);

/* Starts its threads. */
enum rc writer_start(struct writer *w, struct err *err) MUST_USE;

/* Does all that waits, then ends the threads; later submits get RC_CLOSED. */
void writer_stop(struct writer *w);

/* Hands over ${unit} (kind set).  The queue is full, and the caller still owns
 * it: RC_AWAY or RC_UNCONFIRMED if that is why, else RC_BUSY.  On RC_OK its
 * finish will be called, once.  Thread: any. */
enum rc writer_submit(struct writer *w, struct unit *unit) MUST_USE;

/* Does one batch in the calling thread, for tests and the simulator.  Returns
 * the number of units finished. */
size_t writer_run_once(struct writer *w);

/* Asks for the log to be moved into the file and cut to nothing, when the
 * writer has nothing else to do; given up where a reader is in the way.
 * Thread: any. */
void writer_truncate_log(struct writer *w);

/* Whether the last transaction could begin.  If it could not, the writer tries
 * again, without a unit, before the next call: a server that says that it is
 * not ready gets no units that would show it.  Thread: any. */
bool writer_can_begin(struct writer *w);

/* The commits on their way to the disk, for readers.  Thread: any. */
struct commits *writer_commits(struct writer *w);

/* How many units wait in all queues.  Thread: any. */
size_t writer_waiting(const struct writer *w);

/* A snapshot of the counters.  Thread: any. */
struct writer_stats writer_stats_get(const struct writer *w);

#endif
