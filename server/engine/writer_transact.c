/* SPDX-License-Identifier: MIT */
/*
 * One transaction of the writer: sorts the units of a batch by kind, locks
 * their rows on a multi-writer database, runs the verb of each kind, and hands
 * the commit to the thread that syncs and finishes.  See writer.h.
 */
#include <string.h>

#include "base/fault.h"
#include "engine/writer_internal.h"

/* Maximum number of attempts at a batch while locks of other transactions are
 * in the way. */
#define TRIES_MOST 5

/* The time that a batch waits for locks.  Batches of other nodes hold their
 * rows for about as long as ours do, and a row may be needed by one batch of
 * each node in turn.  So a batch waits for the time of 4 of its own batches,
 * rounded up to db_patience (50 ms) or to 2, 4, 8 or 16 times as much, at most
 * 800 ms. */
#define PATIENCE_BATCHES 4
#define PATIENCE_MOST_MS 800

/* Sorts the batch by kind; units of one kind stay in the order of their
 * arrival.  There are few kinds, so one pass for each kind costs less than a
 * sort. */
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

/* Moves the deferred units of ${n} behind the others; both groups keep their
 * order.  Returns the number of the others. */
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

/* Locks the rows of the units, and reads the clock after that: what other
 * transactions have committed while this one waited is then earlier. */
static enum rc
lock(struct writer *w, struct tx *tx, struct unit **units, size_t n,
    struct err *err)
{
	enum rc rc;

	rc = w->hooks->lock(w->hooks->arg, tx, units, n, err);
	tx->now_ms = clk_wall_ms(w->clk);
	return (rc);
}

/* Adapts the lock time-out to ${us}, the time for which a batch has held its
 * rows.  The time-out changes only by doubling, because each change costs a
 * round trip. */
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

/* Makes one attempt to run ${n} units as one transaction.  On success the units
 * from *ret_ready on were deferred and still belong to the caller.  On failure
 * all units belong to the caller, and everything is undone, unless the outcome
 * of the commit is not known (db_commit()). */
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

/* Tries again when another writer was in the way (db_retryable()): it had
 * locked a row for which this transaction must not wait at that point, it had
 * inserted the same row, or a deadlock was resolved at this transaction's
 * expense.  When the wait for a row has timed out, the further attempts take
 * only the units whose rows are free (search). */
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
	/* Other transactions hold locks that the batch needs.  RC_CONFLICT
	 * makes the caller run the units one by one; each of them needs fewer
	 * locks. */
	if (waited(w, rc) || (rc == RC_BUSY && db_retryable(w->db)))
		return (n > 1 ? RC_CONFLICT : RC_BUSY);
	if (!db_retryable(w->db))
		return (rc);
	/* The failure is contention, not a bad unit: RC_BUSY lets clients
	 * retry. */
	return (rc == RC_CONFLICT || rc == RC_INTERNAL ? RC_BUSY : rc);
}
