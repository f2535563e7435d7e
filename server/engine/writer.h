/* SPDX-License-Identifier: MIT */
/*
 * The writer: one thread that owns the write connection and commits all units
 * that wait in one transaction (group commit).
 *
 *     take all units that wait (until they are 512, or have 4 MiB)
 *     sort them by kind; BEGIN; the verb of each kind; COMMIT
 *     sync the log (commits.h), while the next batch is applied
 *     only then publish, and finish the units
 *
 * A unit of work is a struct with a `struct unit` inside, allocated with the
 * request that it serves, so that finishing it cannot fail.  A verb decides
 * before the first write of a unit whether it refuses the unit.  An error after
 * a write abandons the whole transaction, and its units are run again one by
 * one.  If the disk is full, the database is locked or away, or the store has
 * failed, all units are refused instead.
 *
 * On a multi-writer database another transaction may lock a row for long.  The
 * units that need that row are deferred (deferred.h), and the others proceed.
 *
 * "Accepted", a promise that other files cite: a unit's `finish` is called with
 * RC_OK only after the COMMIT of its transaction has succeeded and the sync
 * after it has returned (PostgreSQL syncs during COMMIT).
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

/* The three queues.  A batch takes deliveries, acks and reads (UNIT_DELIVERY)
 * first (at most half of it), then upkeep (at most a tenth), then clients, then
 * further deliveries. */
enum unit_queue { UNIT_DELIVERY, UNIT_CLIENT, UNIT_UPKEEP, UNIT_QUEUES };

/* A kind of unit: its place in a batch, and its work. */
struct unit_kind {
	const char *name;
	enum unit_queue queue;
	int order; /* kinds run in ascending order within a transaction */

	/* The verb: one of the two functions, which does the work of all units
	 * of this kind in the batch, or of one unit.  For each unit it either
	 * sets unit->rc (a refusal, before any write), or does the work, or
	 * does a part of it and sets unit->requeue.  A result other than RC_OK
	 * abandons the transaction. */
	enum rc (*apply)(
	    struct tx *tx, struct unit **units, size_t n, struct err *err);
	enum rc (*apply_one)(struct tx *tx, struct unit *unit, struct err *err);

	/* Adds to ${set} the rows that the unit will read and write
	 * (txn/lockset.h).  Called on a multi-writer database before anything
	 * of the batch is applied, and again when the transaction is repeated.
	 * unit_locks_nothing() for units that need no lock. */
	enum rc (*locks)(
	    struct unit *unit, struct lockset *set, struct err *err);

	/* Adds the names of the rows that the unit will insert.  The rows that
	 * it listed in `locks` are already locked and in the cache.  If it adds
	 * a name, the transaction begins again and locks the names first.
	 * NULL: it inserts no row that another node might insert, too. */
	enum rc (*locks_names)(struct unit *unit, struct tx *tx,
	    struct lockset *set, struct err *err);

	/* Returns an array in the unit of *ret_n flags, one for each part: true
	 * if the part is deferred, while the other parts are applied.  NULL:
	 * the unit has no parts. */
	bool *(*parts)(struct unit *unit, size_t *ret_n);

	/* Other units may overtake this one.  So it is deferred, not refused
	 * with RC_BUSY, when the lock of a row that it did not list is not free
	 * within the time that a batch waits for locks. */
	bool any_order;
};

/* Defines `static const struct unit_kind ${id}_kind`.  ${locks_} is mandatory:
 * a kind without it would work on SQLite, and on PostgreSQL only after retries.
 * The other members follow. */
#define UNIT_KIND(id, locks_, ...)                                             \
	static const struct unit_kind id##_kind = {                            \
	    .name = #id, .locks = &(locks_), __VA_ARGS__}

/* The `locks` of a kind whose units need no lock. */
enum rc unit_locks_nothing(
    struct unit *unit, struct lockset *set, struct err *err);

struct unit {
	struct mbox_node node; /* must be the first member */
	const struct unit_kind *kind;
	enum rc rc;
	bool requeue;        /* not finished: it continues in a later batch */
	bool deferred;       /* another transaction has locked its rows */
	int64_t deferred_ms; /* monotonic: first deferred then; -1: never */
	size_t bytes; /* the size of its data, for the limit of a batch */

	/* The unit is finished with the result rc.  After RC_OK and after a
	 * refusal by the verb the transaction is durable.  The callee owns the
	 * unit again.  Thread: sync or writer. */
	void (*finish)(struct unit *unit);
};

/* The next unit of a list that is linked by the nodes; NULL at the end. */
static inline struct unit *
unit_next(const struct unit *unit)
{

	return (unit->node.next == NULL
		    ? NULL
		    : CONTAINER_OF(unit->node.next, struct unit, node));
}

/* The part of a transaction that the layers above the writer do.  Thread: the
 * writer's, where nothing else is said. */
struct writer_hooks {
	void *arg;

	/* A transaction has begun (also the repetition of an abandoned one).  A
	 * result other than RC_OK abandons it before anything is applied.  The
	 * hook must return an error if the database has ended the transaction
	 * by itself: without a transaction each statement would be committed
	 * alone. */
	enum rc (*begin)(void *arg, struct tx *tx, struct err *err);

	/* On a multi-writer database: reads and locks the rows that the units
	 * list (unit_kind.locks), before the first unit is applied.  Sets
	 * unit->deferred for units whose rows another transaction has locked:
	 * with tx->search for each such unit, otherwise only for units that
	 * need a row already known as contended. */
	enum rc (*lock)(void *arg, struct tx *tx, struct unit **units, size_t n,
	    struct err *err);

	/* On a multi-writer database: probes the contended rows and forgets
	 * those that are free now; *ret_freed: there were some.  With ${forget}
	 * it forgets all of them without a probe. */
	enum rc (*probe)(void *arg, struct tx *tx, bool forget, bool *ret_freed,
	    struct err *err);

	/* Returns whether there are contended rows. */
	bool (*contended)(void *arg);

	/* All units are applied: writes what is still only in memory. */
	enum rc (*flush)(void *arg, struct tx *tx, struct err *err);

	/* The transaction is committed, but perhaps not durable yet.  The hook
	 * hands out only what leads to later transactions (these cannot survive
	 * without this one), and returns what to publish when the commit is
	 * durable (may be NULL). */
	void *(*committed)(void *arg, struct tx *tx);

	/* The commit is durable, ${commit_us} microseconds after its COMMIT
	 * began: publishes ${told}.  Called before the units' finish.  Thread:
	 * sync or writer. */
	void (*published)(
	    void *arg, void *told, size_t units, int64_t commit_us);

	/* The store has failed, so it is not known whether the commit is
	 * durable: discards ${told}.  Thread: sync or writer. */
	void (*lost)(void *arg, void *told);

	/* The transaction was rolled back: discards what belongs to it. */
	void (*aborted)(void *arg, struct tx *tx);

	/* The store has failed for good (db_is_fatal()): stops serving.
	 * Thread: writer or sync. */
	void (*fatal)(void *arg, const struct err *err);
};

/* A transaction, as the verbs see it. */
struct tx {
	struct db *db;
	int64_t now_ms; /* wall clock: one time for the whole transaction */
	int tries;      /* attempts at this transaction that have failed */
	bool search;    /* locks only rows that are free, and does not wait */
	bool alone;     /* its only unit was in an abandoned batch */
	struct txn_env *env; /* set and used by the hooks only */
};

struct writer_options {
	struct db *db; /* kept; used by the writer's thread only */
	const struct clk *clk;
	const struct timing *timing;      /* kept; NULL: timing_real() */
	const struct writer_hooks *hooks; /* kept */
	size_t queue_limit;       /* units that may wait in each queue */
	int64_t checkpoint_bytes; /* log size that starts a checkpoint */
	/* The sync thread syncs each commit, even when no unit waits and the
	 * writer would do it.  For tests that stop the sync thread at that
	 * point. */
	bool syncs_beside;
};

struct writer_stats {
	uint64_t batches;
	uint64_t units;
	uint64_t abandoned;
	uint64_t checkpoints;
	uint64_t full;   /* batches refused because the disk was full */
	size_t deferred; /* units that wait for rows locked elsewhere */
	int64_t log_bytes;
};

/* Makes a writer without threads. */
enum rc writer_new(const struct writer_options *options, struct writer **ret,
    struct err *err) MUST_USE;

/* Frees a stopped writer.  NULL is allowed. */
void writer_free(struct writer *w);

/* Starts the writer's thread and the sync thread. */
enum rc writer_start(struct writer *w, struct err *err) MUST_USE;

/* Runs all units that wait, then ends the threads; later submits return
 * RC_CLOSED. */
void writer_stop(struct writer *w);

/* Hands over ${unit}, whose kind and finish are set.  After RC_OK its finish is
 * called exactly once, perhaps before this function returns.  After another
 * result the caller still owns it.  RC_CLOSED: the writer is stopping.  The
 * queue is full: RC_AWAY or RC_UNCONFIRMED if transactions fail for that reason
 * now, else RC_BUSY.  Thread: any. */
enum rc writer_submit(struct writer *w, struct unit *unit) MUST_USE;

/* Runs one batch in the calling thread, for tests and the simulator, and
 * deferred units if it is time.  Returns the number of units in the batch; 0:
 * none waited. */
size_t writer_run_once(struct writer *w);

/* Requests a checkpoint that truncates the log, when no unit waits.  It is
 * given up if a reader is in the way.  Thread: any. */
void writer_truncate_log(struct writer *w);

/* Returns whether the last transaction could begin.  If not, requests that the
 * writer tries to begin one without a unit: a server that reports that it is
 * not ready gets no units, so without this it would never notice that the
 * database is back.  Thread: any. */
bool writer_can_begin(struct writer *w);

/* The commits that are not durable yet, for readers to wait for.  Thread: any.
 */
struct commits *writer_commits(struct writer *w);

/* The number of units that wait in all queues.  Thread: any. */
size_t writer_waiting(const struct writer *w);

/* A snapshot of the counters.  Thread: any. */
struct writer_stats writer_stats_get(const struct writer *w);

#endif
