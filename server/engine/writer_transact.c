/* SPDX-License-Identifier: MIT */
/*
 * One transaction of the writer: sorts the units of a batch by kind, locks
 * their rows on a multi-writer database, runs the verb of each kind (the
 * function that does the work of its units), commits, and hands the commit to
 * commits.h, which syncs it and finishes its units.  See writer.h.
 */
#include <string.h>

#include "base/fault.h"
#include "engine/writer_internal.h"

/* Maximum number of attempts at one transaction, the first one included, while
 * other writers are in the way (writer_transact()). */
#define TRIES_MOST 5

/* The lock time-out: each statement of a batch waits at most this time for a
 * lock.  Batches of other nodes keep their rows locked for about as long as
 * those of this node do, and each node in turn may have a batch that needs the
 * same row.  So the time-out is 4 times the smoothed time (lock_us) for which
 * batches of this node keep their rows locked, rounded up to db_patience
 * (50 ms) or to 2, 4, 8 or 16 times as much, at most 800 ms. */
#define PATIENCE_BATCHES 4
#define PATIENCE_MOST_MS 800

/* There are few values of unit_kind.order, so two passes through the batch for
 * each value cost less than a general sort. */
void
writer_sort(struct writer *w)
{
	size_t i, n;
	int order, next;

	n = 0;
	for (order = -1; n < w->nbatch; order = next) {
		next = INT32_MAX;
		for (i = 0; i < w->nbatch; i++)
			if (w->batch[i]->kind->order > order &&
			    w->batch[i]->kind->order < next)
				next = w->batch[i]->kind->order;
		for (i = 0; i < w->nbatch; i++)
			if (w->batch[i]->kind->order == next)
				w->sorted[n++] = w->batch[i];
	}
	memcpy(w->batch, w->sorted, n * sizeof(w->batch[0]));
}

/* Runs the verb of one kind for its ${n} units. */
static enum rc
apply_kind(struct tx *tx, struct unit **units, size_t n, struct err *err)
{
	const struct unit_kind *kind = units[0]->kind;
	enum rc rc = RC_OK;
	size_t i;

	if (kind->apply != NULL)
		rc = kind->apply(tx, units, n, err);
	else
		for (i = 0; i < n && rc == RC_OK; i++)
			rc = kind->apply_one(tx, units[i], err);
	return (rc == RC_OK ? RC_OK : err_wrap(err, "%s", kind->name));
}

/* Runs the verbs, one after the other, for the units of each kind. */
static enum rc
apply(struct tx *tx, struct unit **units, size_t n, struct err *err)
{
	size_t i, j;
	enum rc rc;

	for (i = 0; i < n; i = j) {
		for (j = i + 1; j < n && units[j]->kind == units[i]->kind; j++)
			continue;
		rc = apply_kind(tx, units + i, j - i, err);
		if (rc != RC_OK)
			return (rc);
	}
	return (RC_OK);
}

/* Commits early, and hands the units to the thread that syncs and finishes. */
static enum rc
commit(struct writer *w, struct tx *tx, struct unit **units, size_t n,
    struct err *err)
{
	struct commit c = {.began_us = clk_mono_us(w->clk)};
	enum rc rc;

	FAULT("writer.commit.before");
	commits_announce(w->commits);
	rc = db_commit_early(w->db, &c.owed, err);
	FAULT("writer.commit.after");
	if (rc == RC_OK) {
		atomic_fetch_add(&w->batches, 1);
		intake_put_again(&w->intake, units, n, &c.units, &c.n);
		atomic_fetch_add(&w->units, c.n);
		c.told = w->hooks->committed(w->hooks->arg, tx);
	} else {
		c.owed = false;
	}
	c.last = !w->syncs_beside && intake_waiting(&w->intake) == 0;
	commits_add(w->commits, &c);
	return (rc);
}

enum rc
writer_begin(struct writer *w, struct err *err)
{
	const enum rc rc = db_begin(w->db, err);

	atomic_store_explicit(&w->no_begin, rc != RC_OK, memory_order_relaxed);
	return (rc);
}

/* One attempt at a transaction. */
struct attempt {
	int tries;   /* attempts before this one, all of which failed */
	bool search; /* locks only rows that are free */
	bool alone;  /* the batch of its one unit was abandoned */
};

/* Moves those of the ${n} units that are deferred behind the others; both
 * groups keep their order.  Returns the number of the units that are not
 * deferred. */
static size_t
part_deferred(struct writer *w, struct unit **units, size_t n)
{
	size_t i, ready = 0, deferred = 0;

	for (i = 0; i < n; i++)
		if (units[i]->deferred)
			w->sorted[deferred++] = units[i];
		else
			units[ready++] = units[i];
	memcpy(units + ready, w->sorted, deferred * sizeof(*units));
	return (ready);
}

/* Locks the rows of the units, and then sets tx->now_ms again.  So the time of
 * this transaction is not before the times that other transactions have written
 * while it waited for their locks, as far as the clocks of the nodes agree. */
static enum rc
lock(struct writer *w, struct tx *tx, struct unit **units, size_t n,
    struct err *err)
{
	enum rc rc;

	rc = w->hooks->lock(w->hooks->arg, tx, units, n, err);
	tx->now_ms = clk_wall_ms(w->clk);
	return (rc);
}

/* Averages ${us}, the microseconds for which a batch has kept its rows locked,
 * into the smoothed time lock_us (by 1/8), and sets the lock time-out by it
 * (PATIENCE_BATCHES).  The time-out is db_patience times a power of 2 and so
 * changes rarely: each change costs a round trip. */
static void
note_lock_time(struct writer *w, int64_t us)
{
	int64_t ms = w->timing->db_patience_ms;

	w->lock_us += (us - w->lock_us) / 8;
	while (
	    ms < PATIENCE_MOST_MS && ms * 1000 < PATIENCE_BATCHES * w->lock_us)
		ms *= 2;
	w->patience_ms = ms;
	db_set_lock_timeout(w->db, ms);
}

/* Makes one attempt to run ${n} units as one transaction.  On success the first
 * *ret_ready units are committed and no longer belong to the caller
 * (writer_transact()); those from *ret_ready on were deferred and still belong
 * to the caller.  If all are deferred, nothing is committed.  On failure
 * *ret_ready has no meaning, all units belong to the caller, and everything is
 * undone, unless the outcome of the commit is not known (db_commit()). */
static enum rc
transact_once(struct writer *w, struct unit **units, size_t n,
    const struct attempt *how, size_t *ret_ready, struct err *err)
{
	struct tx tx = {.db = w->db,
	    .tries = how->tries,
	    .search = how->search,
	    .alone = how->alone};
	int64_t locked_us;
	enum rc rc;
	size_t i;

	for (i = 0; i < n; i++) {
		units[i]->rc = RC_OK;
		units[i]->requeue = units[i]->deferred = false;
	}
	tx.now_ms = clk_wall_ms(w->clk);
	FAULT("writer.begin.before");
	rc = writer_begin(w, err);
	if (rc != RC_OK)
		return (rc);
	rc = w->hooks->begin(w->hooks->arg, &tx, err);
	if (rc == RC_OK && db_multi_writer(w->db))
		rc = lock(w, &tx, units, n, err);
	if (rc == RC_OK)
		n = part_deferred(w, units, n);
	*ret_ready = n;
	locked_us = clk_mono_us(w->clk);
	FAULT("writer.apply.before");
	if (rc == RC_OK && n == 0) {
		/* All are deferred. */
		db_rollback(w->db);
		w->hooks->aborted(w->hooks->arg, &tx);
		return (RC_OK);
	}
	if (rc == RC_OK)
		rc = apply(&tx, units, n, err);
	if (rc == RC_OK)
		rc = w->hooks->flush(w->hooks->arg, &tx, err);
	if (rc == RC_OK)
		rc = commit(w, &tx, units, n, err);
	if (rc == RC_OK)
		note_lock_time(w, clk_mono_us(w->clk) - locked_us);
	if (rc != RC_OK) {
		/* After SQLITE_FULL the database has already rolled back by
		 * itself; then this does nothing. */
		db_rollback(w->db);
		w->hooks->aborted(w->hooks->arg, &tx);
	}
	return (rc);
}

/* Returns whether ${rc} means that the wait for a lock has timed out. */
static bool
waited(const struct writer *w, enum rc rc)
{

	return (rc == RC_BUSY && db_lock_timed_out(w->db));
}

/* Makes up to TRIES_MOST attempts.  Tries again when another writer was in the
 * way (db_retryable()): it had locked a row for which this transaction must not
 * wait at that point, it had inserted a row with the same key, or a deadlock
 * was resolved at this transaction's expense.  Also tries again when the wait
 * for a lock has timed out: from then on no attempt waits for the rows that the
 * units list (unit_kind.locks), and each defers the units whose rows are locked
 * (search).  A wait that times out even then, and any other failure, ends the
 * attempts. */
enum rc
writer_transact(struct writer *w, struct unit **units, size_t n, bool alone,
    size_t *ret_ready, struct err *err)
{
	struct attempt how = {.alone = alone};
	enum rc rc;

	do {
		rc = transact_once(w, units, n, &how, ret_ready, err);
		if (rc == RC_OK)
			return (RC_OK);
		if (!db_retryable(w->db) && (!waited(w, rc) || how.search))
			break;
		how.search = how.search || waited(w, rc);
	} while (++how.tries < TRIES_MOST);
	/* Other transactions hold locks that the units need.  RC_CONFLICT makes
	 * the caller run the units one by one; each of them needs fewer locks.
	 * A single unit fails with RC_BUSY. */
	if (waited(w, rc) || (rc == RC_BUSY && db_retryable(w->db)))
		return (n > 1 ? RC_CONFLICT : RC_BUSY);
	if (!db_retryable(w->db))
		return (rc);
	/* The failure is contention, not a bad unit: RC_BUSY lets clients
	 * retry. */
	return (rc == RC_CONFLICT || rc == RC_INTERNAL ? RC_BUSY : rc);
}
