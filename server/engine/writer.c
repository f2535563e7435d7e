/* SPDX-License-Identifier: MIT */
/*
 * The writer's loop.  See writer.h for what it promises.
 *
 * Relies on: on SQLite, no other connection commits while the writer exists;
 * the hooks (txn/env.h) write to the database in `flush`, before the COMMIT,
 * the changes that they keep in memory.
 *
 * While one batch is synced, the next one is applied, and units that arrive
 * meanwhile wait for the batch after it.
 */
#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "base/thr.h"
#include "engine/writer_internal.h"
#include "log/log.h"

enum rc
unit_locks_nothing(struct unit *unit, struct lockset *set, struct err *err)
{

	(void)unit;
	(void)set;
	(void)err;
	return (RC_OK);
}

void
writer_refuse(struct unit **units, size_t n, enum rc rc)
{
	size_t i;

	for (i = 0; i < n; i++) {
		units[i]->rc = rc;
		units[i]->finish(units[i]);
	}
}

/* ---- hooks that the sync thread calls ---- */

static void
on_published(void *arg, void *told, size_t units, int64_t commit_us)
{
	struct writer *w = arg;

	w->hooks->published(w->hooks->arg, told, units, commit_us);
}

static void
on_lost(void *arg, void *told)
{
	struct writer *w = arg;

	w->hooks->lost(w->hooks->arg, told);
}

static void
on_fatal(void *arg, const struct err *err)
{
	struct writer *w = arg;

	w->hooks->fatal(w->hooks->arg, err);
	atomic_store(&w->failed, true);
}

/* ---- outages ---- */

/*
 * Notes, and logs at most once in log_outage_ms, that a transaction has failed
 * with ${rc}.  Returns the result with which the caller refuses its ${n} units:
 * ${rc}, except in the case that follows.
 *
 * A commit that no standby confirms remains open at the PostgreSQL server and
 * keeps its locks.  Other transactions then fail with RC_BUSY because of these
 * locks until the standby is back.  For these, RC_UNCONFIRMED is returned: the
 * standby stays the reported reason.
 */
static enum rc
note_outage(struct writer *w, enum rc rc, size_t n, const struct err *err)
{
	const enum rc before = atomic_load(&w->trouble);
	struct outage_line line;

	if (rc == RC_BUSY && before == RC_UNCONFIRMED)
		rc = before;
	atomic_store(
	    &w->trouble, rc == RC_AWAY || rc == RC_UNCONFIRMED ? rc : RC_OK);
	if (outage_failed(&w->outage, clk_mono_ms(w->clk),
		w->timing->log_outage_ms, n, &line))
		log_error(LOG_EV_STORE_FAIL, err,
		    "tries=%llu units=%llu ms=%lld",
		    (unsigned long long)line.tries,
		    (unsigned long long)line.units, (long long)line.ms);
	return (rc);
}

/* Notes that a transaction was committed. */
static void
note_well(struct writer *w)
{
	struct outage_line line;

	if (atomic_load_explicit(&w->trouble, memory_order_relaxed) != RC_OK)
		atomic_store(&w->trouble, RC_OK);
	if (outage_over(&w->outage, clk_mono_ms(w->clk), &line))
		log_event(LOG_EV_STORE_BACK, "tries=%llu units=%llu ms=%lld",
		    (unsigned long long)line.tries,
		    (unsigned long long)line.units, (long long)line.ms);
}

/* ---- batches ---- */

/* When this number of units of an abandoned batch have waited in vain for a
 * lock, with no success in between, the cause is not a row of one unit, and the
 * remaining units of the batch would wait as long: they are refused without a
 * try, with RC_BUSY or RC_UNCONFIRMED (note_outage()). */
#define SINGLY_BUSY_MOST 3

/* Returns true if ${unit}, which failed with ${rc} alone in its transaction, is
 * deferred instead of refused: it waited in vain for a lock, other units may
 * overtake it, and the database is multi-writer, because only there the writer
 * runs deferred units again. */
static bool
may_wait(const struct writer *w, const struct unit *unit, enum rc rc)
{

	return (
	    rc == RC_BUSY && unit->kind->any_order && db_multi_writer(w->db));
}

/* Runs each unit of an abandoned batch in a transaction of its own, so that a
 * bad unit does not make the others fail.  A unit whose rows are contended is
 * deferred.  A unit that fails is refused, or deferred if it waited in vain for
 * a lock and other units may overtake it (any_order).  After SINGLY_BUSY_MOST
 * such waits with no success in between, the remaining units are refused. */
static void
run_singly(struct writer *w)
{
	struct err err;
	size_t i, ready;
	int busy = 0;
	enum rc rc;

	for (i = 0; i < w->nbatch; i++) {
		err = (struct err)ERR_INIT;
		rc = w->failed ? RC_CLOSED
		     : busy == SINGLY_BUSY_MOST
			 ? err_set(&err, RC_BUSY, "others hold what is needed")
			 : writer_transact(
			       w, &w->batch[i], 1, true, &ready, &err);
		if (rc == RC_OK) {
			if (ready > 0)
				note_well(w);
			writer_defer(w, &w->batch[i], 1 - ready);
			busy = 0;
			continue;
		}
		if (rc == RC_BUSY && busy < SINGLY_BUSY_MOST) {
			busy++;
			if (may_wait(w, w->batch[i], rc)) {
				writer_defer(w, &w->batch[i], 1);
				continue;
			}
		}
		if (db_is_fatal(w->db, rc))
			commits_fail(w->commits, &err);
		else if (rc == RC_FULL)
			atomic_fetch_add(&w->full, 1);
		else if (rc_is_outage(rc))
			rc = note_outage(w, rc, 1, &err);
		else if (rc != RC_CLOSED)
			log_error(LOG_EV_STORE_FAIL, &err, "unit=%s",
			    w->batch[i]->kind->name);
		writer_refuse(&w->batch[i], 1, rc);
	}
}

static void
run_batch(struct writer *w)
{
	struct err err = ERR_INIT;
	size_t ready;
	enum rc rc;

	if (w->failed) {
		writer_refuse(w->batch, w->nbatch, RC_CLOSED);
		return;
	}
	writer_sort(w);
	rc = writer_transact(w, w->batch, w->nbatch, false, &ready, &err);
	if (rc == RC_OK) {
		if (ready > 0)
			note_well(w);
		writer_defer(w, w->batch + ready, w->nbatch - ready);
		return;
	}
	if (db_is_fatal(w->db, rc)) {
		commits_fail(w->commits, &err);
		writer_refuse(w->batch, w->nbatch, rc);
	} else if (rc == RC_FULL) {
		/* The disk is full.  All units are refused: one by one they
		 * would fail as well, each with its own rollback, until the
		 * disk has room again. */
		log_error(LOG_EV_STORE_FULL, &err, "units=%zu", w->nbatch);
		atomic_fetch_add(&w->full, 1);
		writer_refuse(w->batch, w->nbatch, rc);
	} else if (w->nbatch == 1 && may_wait(w, w->batch[0], rc)) {
		writer_defer(w, w->batch, 1);
	} else if (rc_is_outage(rc)) {
		/* Others have locked the database, or the database is away or
		 * has not confirmed the commit.  All units are refused: one by
		 * one, each would wait for the whole time-out.  Clients repeat
		 * a request whose outcome is unknown. */
		rc = note_outage(w, rc, w->nbatch, &err);
		writer_refuse(w->batch, w->nbatch, rc);
	} else {
		log_error(LOG_EV_STORE_ABANDON, &err, "units=%zu", w->nbatch);
		atomic_fetch_add(&w->abandoned, 1);
		run_singly(w);
	}
}

/* Moves SQLite's log into the database file when the log has reached its limit
 * (checkpoint_bytes); called after each batch, whose sync may still be under
 * way.  If a reader still needs a part of the log, or the checkpoint fails, the
 * next checkpoint waits until the log has grown by another quarter of that
 * limit; a fatal failure ends the store (commits_fail()). */
static void
maybe_checkpoint(struct writer *w)
{
	struct db_checkpoint cp;
	struct err err = ERR_INIT;
	int64_t bytes, began_us;
	enum rc rc;

	bytes = db_log_bytes(w->db);
	atomic_store_explicit(&w->log_bytes, bytes, memory_order_relaxed);
	if (w->failed || bytes < w->checkpoint_at)
		return;
	began_us = clk_mono_us(w->clk);
	rc = db_checkpoint(w->db, false, &cp, &err);
	if (db_is_fatal(w->db, rc)) {
		commits_fail(w->commits, &err);
		return;
	}
	atomic_fetch_add(&w->checkpoints, 1);
	w->checkpoint_at = rc == RC_OK && cp.done_frames == cp.log_frames
			       ? w->checkpoint_bytes
			       : bytes + w->checkpoint_bytes / 4;
	log_event(LOG_EV_STORE_CHECKPOINT, "frames=%lld done=%lld ms=%lld",
	    rc == RC_OK ? (long long)cp.log_frames : -1LL,
	    rc == RC_OK ? (long long)cp.done_frames : -1LL,
	    (long long)(clk_mono_us(w->clk) - began_us) / 1000);
}

/* The number of client units in the batch; 0 on a database without a batching
 * window (intake.c), which is SQLite. */
static size_t
clients(const struct writer *w)
{
	size_t i, n = 0;

	for (i = 0; i < w->nbatch && db_multi_writer(w->db); i++)
		if (w->batch[i]->kind->queue == UNIT_CLIENT)
			n++;
	return (n);
}

size_t
writer_work(struct writer *w)
{
	int64_t began_us = clk_mono_us(w->clk);

	thr_assert(THR_WRITER);
	w->intake.answered = clients(w);
	run_batch(w);
	w->intake.batch_us = clk_mono_us(w->clk) - began_us;
	maybe_checkpoint(w);
	return (w->nbatch);
}

/* Moves SQLite's log into the database file and truncates the log.  If a reader
 * uses the log, the log is not truncated, and the writer does not try again.
 * Early commits may not be synced yet here, as in maybe_checkpoint().  That is
 * safe: SQLite syncs the log before it moves anything, and the database file
 * before it truncates the log. */
static void
cut_log(struct writer *w)
{
	struct err err = ERR_INIT;
	enum rc rc;

	rc = db_log_cut(w->db, &err);
	if (db_is_fatal(w->db, rc))
		commits_fail(w->commits, &err);
	if (rc != RC_OK)
		return;
	atomic_fetch_add(&w->checkpoints, 1);
	atomic_store_explicit(
	    &w->log_bytes, db_log_bytes(w->db), memory_order_relaxed);
	w->checkpoint_at = w->checkpoint_bytes;
	log_event(LOG_EV_STORE_CHECKPOINT, "cut=1");
}

/* Does what was requested for a time when no unit waits. */
static void
idle(struct writer *w)
{
	const unsigned errands = intake_errands(&w->intake);
	struct err ignored = ERR_INIT;

	if (w->failed)
		return;
	if ((errands & ERRAND_BEGIN) != 0 && writer_begin(w, &ignored) == RC_OK)
		db_rollback(w->db);
	if ((errands & ERRAND_CUT) != 0)
		cut_log(w);
}

size_t
writer_run_once(struct writer *w)
{

	size_t n;

	writer_retry_deferred(w, false);
	if (!intake_take(&w->intake, w->batch, &w->nbatch, false) ||
	    w->nbatch == 0) {
		idle(w);
		return (0);
	}
	n = writer_work(w);
	writer_retry_deferred(w, false);
	return (n);
}

static void
loop(void *arg)
{
	struct writer *w = arg;

	while (intake_take(&w->intake, w->batch, &w->nbatch, true)) {
		if (w->nbatch > 0)
			(void)writer_work(w);
		else
			idle(w);
		writer_retry_deferred(w, false);
	}
	writer_retry_deferred(w, true);
}

/* Does the same in the calling thread, for the units that wait now. */
static void
loop_out(struct writer *w)
{

	while (intake_take(&w->intake, w->batch, &w->nbatch, false) &&
	       w->nbatch > 0)
		(void)writer_work(w);
	writer_retry_deferred(w, true);
}

/* ---- life ---- */

enum rc
writer_new(
    const struct writer_options *options, struct writer **ret, struct err *err)
{
	struct writer *w;

	w = mem_zalloc(1, sizeof(*w));
	if (w == NULL)
		return (err_set(err, RC_NO_MEMORY, "writer"));
	w->db = options->db;
	w->clk = options->clk;
	w->timing = timing_or_real(options->timing);
	w->hooks = options->hooks;
	deferred_init(&w->deferred);
	w->patience_ms = w->timing->db_patience_ms;
	db_set_lock_timeout(w->db, w->patience_ms);
	w->checkpoint_bytes = options->checkpoint_bytes;
	w->syncs_beside = options->syncs_beside;
	w->checkpoint_at = options->checkpoint_bytes;
	w->commits_hooks =
	    (struct commits_hooks){w, on_published, on_lost, on_fatal};
	w->commits = commits_new(w->db, w->clk, &w->commits_hooks);
	if (w->commits == NULL) {
		mem_free(w);
		return (err_set(err, RC_NO_MEMORY, "writer"));
	}
	intake_init(&w->intake, options->queue_limit);
	*ret = w;
	return (RC_OK);
}

void
writer_free(struct writer *w)
{

	if (w == NULL)
		return;
	assert(w->thread == NULL);
	commits_free(w->commits);
	intake_fini(&w->intake);
	mem_free(w);
}

enum rc
writer_start(struct writer *w, struct err *err)
{

	enum rc rc;

	rc = commits_start(w->commits, err);
	if (rc == RC_OK)
		rc = thr_start(THR_WRITER, 0, loop, w, &w->thread, err);
	if (rc != RC_OK)
		commits_stop(w->commits);
	return (rc);
}

void
writer_stop(struct writer *w)
{

	intake_stop(&w->intake);
	if (w->thread != NULL)
		thr_join(&w->thread);
	else
		loop_out(w);
	commits_stop(w->commits);
}

enum rc
writer_submit(struct writer *w, struct unit *unit)
{
	enum rc rc, trouble;

	assert(unit->finish != NULL);
	assert(unit->kind->locks != NULL);
	assert((unit->kind->apply == NULL) != (unit->kind->apply_one == NULL));
	rc = intake_put(&w->intake, unit);
	if (rc != RC_BUSY)
		return (rc);
	trouble = atomic_load(&w->trouble);
	return (trouble != RC_OK ? trouble : rc);
}

void
writer_truncate_log(struct writer *w)
{

	intake_ask(&w->intake, ERRAND_CUT);
}

bool
writer_can_begin(struct writer *w)
{

	if (!atomic_load_explicit(&w->no_begin, memory_order_relaxed))
		return (true);
	intake_ask(&w->intake, ERRAND_BEGIN);
	return (false);
}

struct commits *
writer_commits(struct writer *w)
{

	return (w->commits);
}

size_t
writer_waiting(const struct writer *w)
{

	return (intake_waiting(&w->intake));
}

struct writer_stats
writer_stats_get(const struct writer *w)
{
	struct writer_stats s;

	s.batches = atomic_load(&w->batches);
	s.units = atomic_load(&w->units);
	s.abandoned = atomic_load(&w->abandoned);
	s.checkpoints = atomic_load(&w->checkpoints);
	s.full = atomic_load(&w->full);
	s.deferred = atomic_load(&w->ndeferred);
	s.log_bytes = atomic_load(&w->log_bytes);
	return (s);
}
