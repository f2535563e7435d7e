/* SPDX-License-Identifier: MIT */
/*
 * One transaction of the writer: the units of a batch are sorted by kind, their
 * rows are locked where others write as well, each kind does its work, and the
 * commit is handed to the thread that syncs and answers.  See writer.h.
 */
#include <string.h>

#include "base/fault.h"
#include "engine/writer_internal.h"

/* How often a batch is tried that meets other ones' locks. */
#define TRIES_MOST 5

/* Others' batches hold rows for about as long as ours do, and a row may wait
 * for that of each other node: so many are waited for, and never longer than
 * this.
 */
#define PATIENCE_BATCHES 4
#define PATIENCE_MOST_MS 800

/* Sorts the batch by kind, keeping arrival order within a kind.  The kinds are
 * few, so a pass for each costs less than a sort. */
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

/* Does the work of ${n} units of one kind. */
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

/* Does the work of each run of equal kinds. */
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

/* Commits early, and hands the units to the thread that syncs and answers. */
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

/* How a transaction is tried. */
struct attempt {
	int tries;   /* that came to nothing before */
	bool search; /* takes only what is free */
	bool alone;  /* the batch of its unit was abandoned */
};

/* Moves those of ${n} units that are deferred behind the others, which keep
 * their order, as these do; how many others there are. */
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

/* Locks what the units need where others write as well, and takes the time once
 * that is done: what they have committed meanwhile is earlier. */
static enum rc
lock(struct writer *w, struct tx *tx, struct unit **units, size_t n,
    struct err *err)
{
	enum rc rc;

	rc = w->hooks->lock(w->hooks->arg, tx, units, n, err);
	tx->now_ms = clk_wall_ms(w->clk);
	return (rc);
}

/* A batch has held its rows for ${us}.  Changes the wait for locks seldom: it
 * costs a question. */
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

/* Runs ${n} units as one transaction, after ${tries} that came to nothing.  On
 * failure everything is undone and the units are still the caller's, as on
 * success those are that were deferred: *ret_ready and all after it. */
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
		/* After SQLITE_FULL the database has rolled back by itself;
		 * then this does nothing. */
		db_rollback(w->db);
		w->hooks->aborted(w->hooks->arg, &tx);
	}
	return (rc);
}

/* Whether ${rc} says that a lock was waited for in vain. */
static bool
waited(const struct writer *w, enum rc rc)
{

	return (rc == RC_BUSY && db_lock_timed_out(w->db));
}

/* The same, retried when another writer was in the way: it had locked a row
 * that may not be waited for at that point, or a deadlock was broken at this
 * transaction's cost; and once more, with the units whose rows are free, when
 * the wait for a row ran out. */
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
	/* Alone each needs less. */
	if (waited(w, rc) || (rc == RC_BUSY && db_retryable(w->db)))
		return (n > 1 ? RC_CONFLICT : RC_BUSY);
	if (!db_retryable(w->db))
		return (rc);
	/* The failure is contention, not a bad unit: BUSY lets clients retry.
	 */
	return (rc == RC_CONFLICT || rc == RC_INTERNAL ? RC_BUSY : rc);
}
