/* SPDX-License-Identifier: MIT */
/*
 * The writer: one thread that owns the write connection and commits all units
 * that wait in one transaction (group commit).
 *
 *     take the units that wait, up to 512, or about 4 MiB of their data
 *     sort them by kind; BEGIN; the verb of each kind; COMMIT
 *     sync the log (commits.h), while the next batch is applied
 *     only then publish, and finish the units
 *
 * A unit of work is a struct with a `struct unit` inside, allocated with the
 * request that it serves, so that finishing it cannot fail.  A verb decides
 * before the first write of a unit whether it refuses the unit.  An error of a
 * verb rolls back the whole transaction, and its units are run again, each in a
 * transaction of its own.  If the disk is full, the database is away or (SQLite
 * only) locked, the outcome of the COMMIT is not known, or the store has
 * failed, no unit is run again: all units of the batch finish with that error.
 *
 * On a multi-writer database another transaction may lock a row for long.  The
 * units that need that row are deferred (writer_deferred.c), and the others
 * proceed.
 *
 * "Accepted", a promise that other files cite: a unit's `finish` is called with
 * RC_OK only after the COMMIT of its transaction has succeeded, and then the
 * sync, too (PostgreSQL syncs during COMMIT).
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

/* The three queues of units that wait.  Each kind names its queue:
 * UNIT_DELIVERY for delivery (the relay, acks of messages by devices and by
 * other servers, and users who have read messages), UNIT_UPKEEP for purges, and
 * UNIT_CLIENT for all other requests.  A batch of at most 512 units first takes
 * up to 256 of UNIT_DELIVERY, then up to 51 of UNIT_UPKEEP, then of
 * UNIT_CLIENT, then of UNIT_DELIVERY again, until it is full. */
enum unit_queue { UNIT_DELIVERY, UNIT_CLIENT, UNIT_UPKEEP, UNIT_QUEUES };

/* A kind of unit: its place in a batch, and its work. */
struct unit_kind {
	const char *name;
	enum unit_queue queue;
	int order; /* kinds run in ascending order within a transaction */

	/* The verb.  A kind has exactly one of the two functions: apply() does
	 * the work of ${n} units of this kind, apply_one() that of one unit.
	 * For each unit the function does one of three things.  It refuses the
	 * unit before the first write, and stores that in a member of the
	 * kind's own struct or in unit->rc; or it does the whole work; or it
	 * does a part and sets unit->requeue: a later batch continues the unit.
	 * A result of the function other than RC_OK abandons the whole
	 * transaction. */
	enum rc (*apply)(
	    struct tx *tx, struct unit **units, size_t n, struct err *err);
	enum rc (*apply_one)(struct tx *tx, struct unit *unit, struct err *err);

	/* Adds to ${set} the rows that the unit will read or write
	 * (txn/lockset.h).  Called on a multi-writer database before anything
	 * of the batch is applied, perhaps more than once for a transaction,
	 * each time with an empty list.  Must not be NULL: a kind whose units
	 * need no lock uses unit_locks_nothing(). */
	enum rc (*locks)(
	    struct unit *unit, struct lockset *set, struct err *err);

	/* Adds names (lockset_name()): a name is locked in place of a row that
	 * does not exist yet and that the unit will insert.  Called after the
	 * rows of `locks` have been read into the cache, which shows the rows
	 * that are missing.  If a unit of the batch adds a name, the
	 * transaction begins again, once, and locks the names before the rows.
	 * NULL: the units need no names, or `locks` adds them. */
	enum rc (*locks_names)(struct unit *unit, struct tx *tx,
	    struct lockset *set, struct err *err);

	/* Returns an array of *ret_n flags inside the unit, one for each of its
	 * parts (such as the lanes of a delivery).  The caller sets a flag to
	 * true if another transaction has locked a row of that part.  The verb
	 * then leaves the part out, and the unit's owner submits the part
	 * again.  If the pointer is NULL, units of this kind have no parts and
	 * are deferred as a whole. */
	bool *(*parts)(struct unit *unit, size_t *ret_n);

	/* Other units may overtake a unit of this kind.  This matters only on a
	 * multi-writer database, for a unit that has a transaction of its own:
	 * it is alone in its batch, or its batch was abandoned.  If such a unit
	 * fails with RC_BUSY, mostly because another transaction keeps the lock
	 * on a row that the unit did not list, the unit is deferred instead of
	 * refused (but see SINGLY_BUSY_MOST in writer.c). */
	bool any_order;
};

/* Defines `static const struct unit_kind ${id}_kind`.  ${locks_}, the function
 * for the member `locks`, is mandatory: a kind that forgot to list its rows
 * would work on SQLite, but on PostgreSQL often only after retries.  The other
 * members follow as initializers (.queue = ...). */
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

	/* Called once, when the unit is done or given up; unit->rc is the
	 * result.  After RC_OK and after a refusal by the verb the transaction
	 * is durable.  After RC_IO, RC_UNCERTAIN and RC_UNCONFIRMED it may or
	 * may not be.  After other results the unit has changed nothing, except
	 * in earlier batches if it was requeued.  The callee owns the unit
	 * again.  Thread: sync or writer. */
	void (*finish)(struct unit *unit);
};

/* Returns the unit that follows ${unit} in a list linked by the members node;
 * NULL: ${unit} is the last one. */
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

	/* A transaction has begun (also to repeat an abandoned one, or only to
	 * probe).  A result other than RC_OK abandons it before anything is
	 * applied.  The hook must return an error if the database has ended the
	 * transaction by itself: without a transaction each statement would be
	 * committed alone. */
	enum rc (*begin)(void *arg, struct tx *tx, struct err *err);

	/* On a multi-writer database: reads and locks the rows that the units
	 * list (unit_kind.locks), before the first unit is applied.  Defers
	 * each unit that needs a row already known as contended (another
	 * transaction has locked it for longer than the lock time-out): sets
	 * unit->deferred, or only the flag of a part (unit_kind.parts).  If
	 * another row is locked, the hook waits, and fails with RC_BUSY after
	 * the lock time-out; with tx->search it does not wait, but defers the
	 * unit. */
	enum rc (*lock)(void *arg, struct tx *tx, struct unit **units, size_t n,
	    struct err *err);

	/* On a multi-writer database: tries to lock the contended rows (those
	 * for which an earlier transaction has waited in vain) without waiting,
	 * and removes from the set of these rows the ones that are free.  With
	 * ${forget} removes all rows without trying.  *ret_freed is true if a
	 * row was removed.  The caller rolls back, which unlocks the rows. */
	enum rc (*probe)(void *arg, struct tx *tx, bool forget, bool *ret_freed,
	    struct err *err);

	/* Returns whether there are contended rows. */
	bool (*contended)(void *arg);

	/* All units are applied: writes what is still only in memory. */
	enum rc (*flush)(void *arg, struct tx *tx, struct err *err);

	/* The transaction is committed, but perhaps not durable yet.  The hook
	 * may start only work that leads to later transactions: a loss of power
	 * that undoes this commit undoes those, too.  Returns what is to be
	 * published when the commit is durable (NULL: nothing), which the
	 * writer passes to published() or lost() as ${told}. */
	void *(*committed)(void *arg, struct tx *tx);

	/* The commit is durable, ${commit_us} microseconds after its COMMIT
	 * began: publishes ${told} (may be NULL), which now belongs to the
	 * hook.  Called before the finish of the ${units} units of the commit,
	 * but not for a commit with neither units nor ${told}.  Thread: sync or
	 * writer. */
	void (*published)(
	    void *arg, void *told, size_t units, int64_t commit_us);

	/* The store has failed, so it is not known whether the commit is
	 * durable: frees ${told} (may be NULL) without publishing it.  The
	 * units of the commit then finish with RC_IO.  Thread: sync or
	 * writer. */
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
	/* The sync thread syncs each commit.  If false, the writer itself syncs
	 * a commit when no unit waits and the sync thread is idle.  True is for
	 * tests that stop the sync thread during the sync. */
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

/* Hands over ${unit}, whose kind and finish must be set.  After RC_OK its
 * finish is called exactly once, perhaps before this function returns.  After
 * another result finish is not called, and the caller still owns ${unit}.
 * RC_CLOSED: the writer is stopping.  RC_BUSY: the queue of its kind is full;
 * RC_AWAY or RC_UNCONFIRMED: it is full while transactions fail because the
 * database is away or no standby confirms commits.  Thread: any. */
enum rc writer_submit(struct writer *w, struct unit *unit) MUST_USE;

/* Runs one batch in the calling thread, where no writer's thread runs (the
 * start of the server, commands, tests, the simulator), and deferred units if
 * it is time.  Returns the number of units taken from the queues, without
 * deferred ones.  0: none waited, and the requests of writer_truncate_log() and
 * writer_can_begin() were done. */
size_t writer_run_once(struct writer *w);

/* Requests that the writer, the next time that no unit waits, moves SQLite's
 * log into the database file and truncates the log.  If a reader uses the log
 * at that time, the log is not truncated, and the writer does not try again.
 * Thread: any. */
void writer_truncate_log(struct writer *w);

/* Returns whether the last transaction could begin; true before the first.  If
 * false, also requests that the writer begins one without a unit as soon as no
 * unit waits; a later call returns the outcome.  A server that reports that it
 * is not ready gets no units, so without this it would never notice that the
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
