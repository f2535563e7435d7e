/* SPDX-License-Identifier: MIT */
/*
 * Deferred units: pieces of work for the writer that need rows which another
 * transaction has locked.  The writer keeps up to queue_limit of them and
 * refuses further ones.  Every 0.1 s (db_look_ms) it tests, without waiting,
 * whether the contended rows are free (a probe).  It runs all deferred units
 * again when one of these rows is free, and in any case every 1 to 4 s.  A unit
 * that was first deferred db_lock_ms (5 s) or longer ago is then refused
 * instead.
 */
#include "base/thr.h"
#include "engine/writer_internal.h"
#include "log/log.h"

/* While a batch of deferred units waits in the database for locks, the writer
 * runs nothing else.  So after the end of one such wait the next is due at the
 * earliest after WAIT_SHARE times the lock time-out (patience_ms). */
#define WAIT_SHARE 5

/* Returns the result with which a deferred unit is refused.  RC_UNCONFIRMED
 * while commits fail because no standby confirms them: such a commit keeps its
 * rows locked, so it is the likely cause.  Otherwise RC_BUSY. */
static enum rc
reason(const struct writer *w)
{

	return (atomic_load(&w->trouble) == RC_UNCONFIRMED ? RC_UNCONFIRMED
							   : RC_BUSY);
}

void
writer_defer(struct writer *w, struct unit **units, size_t n)
{
	const int64_t now_ms = clk_mono_ms(w->clk);
	struct outage_line line;
	size_t i;

	thr_assert(THR_WRITER);
	for (i = 0; i < n; i++)
		if (w->deferred.n < w->intake.queue_limit)
			deferred_put(&w->deferred, units[i], now_ms);
		else
			writer_refuse(&units[i], 1, reason(w));
	atomic_store_explicit(
	    &w->ndeferred, w->deferred.n, memory_order_relaxed);
	if (n > 0 && outage_failed(&w->deferring, now_ms,
			 w->timing->log_outage_ms, n, &line))
		log_event(LOG_EV_STORE_HELD, "units=%llu ms=%lld",
		    (unsigned long long)line.units, (long long)line.ms);
}

/* Probes the contended rows in a transaction that changes nothing, and removes
 * those that are free from the set of contended rows.  With ${forget} instead
 * empties the set without a probe, so that the next batch waits for the locks.
 * Returns true if a row was removed, false also if the transaction (then the
 * set is unchanged) or the probe failed. */
static bool
is_freed(struct writer *w, bool forget)
{
	struct err err = ERR_INIT;
	struct tx tx = {.db = w->db, .now_ms = clk_wall_ms(w->clk)};
	bool freed = false;
	enum rc rc;

	if (writer_begin(w, &err) != RC_OK)
		return (false);
	rc = w->hooks->begin(w->hooks->arg, &tx, &err);
	if (rc == RC_OK)
		rc = w->hooks->probe(w->hooks->arg, &tx, forget, &freed, &err);
	db_rollback(w->db);
	w->hooks->aborted(w->hooks->arg, &tx);
	return (rc == RC_OK && freed);
}

/* Refuses the deferred units that were first deferred db_lock_ms or longer ago,
 * and runs the others, in the order of the list and at most 512 in a batch.
 * Units that are deferred again return to the end of the list, but with ${last}
 * (the writer stops) they are refused. */
static void
run_deferred(struct writer *w, int64_t now_ms, bool last)
{
	size_t i, n, left;

	for (left = w->deferred.n; left > 0; left -= n) {
		n = deferred_take(&w->deferred, w->batch,
		    left < BATCH_UNITS ? left : BATCH_UNITS);
		for (i = w->nbatch = 0; i < n; i++)
			if (now_ms - w->batch[i]->deferred_ms <
			    w->timing->db_lock_ms)
				w->batch[w->nbatch++] = w->batch[i];
			else
				writer_refuse(&w->batch[i], 1, reason(w));
		if (w->nbatch > 0)
			(void)writer_work(w);
	}
	while (last &&
	       (n = deferred_take(&w->deferred, w->batch, BATCH_UNITS)) > 0)
		writer_refuse(w->batch, n, reason(w));
	atomic_store_explicit(
	    &w->ndeferred, w->deferred.n, memory_order_relaxed);
}

/* The time from one wait for locked rows to the next, milliseconds. */
static int64_t
wait_again_ms(const struct writer *w)
{
	const int64_t least = WAIT_SHARE * w->patience_ms;

	return (least > w->timing->db_wait_again_ms
		    ? least
		    : w->timing->db_wait_again_ms);
}

void
writer_retry_deferred(struct writer *w, bool last)
{
	const int64_t now_ms = clk_mono_ms(w->clk);
	struct deferred *a = &w->deferred;
	struct outage_line line;
	bool again;

	thr_assert(THR_WRITER);
	if (!db_multi_writer(w->db) ||
	    (a->n == 0 && !w->hooks->contended(w->hooks->arg))) {
		w->intake.wake_ms = 0;
		if (outage_over(&w->deferring, now_ms, &line))
			log_event(LOG_EV_STORE_FREE, "units=%llu ms=%lld",
			    (unsigned long long)line.units, (long long)line.ms);
		return;
	}
	if (w->intake.wake_ms == 0 && !last) {
		a->look_ms = now_ms + w->timing->db_look_ms;
		a->try_ms = now_ms + wait_again_ms(w);
	} else if (now_ms >= a->look_ms || last) {
		/* A probe hardly ever finds a row free that other nodes lock
		 * one after another, and the lock on a name (lockset_name(), an
		 * advisory lock) is not probed.  Therefore every
		 * wait_again_ms() (1 to 4 s) the units wait for their rows, up
		 * to the lock time-out, in the lock queue of the database
		 * server, as other transactions do; that queue is served in the
		 * order of arrival. */
		again = now_ms >= a->try_ms || last;
		if (is_freed(w, again) || again)
			run_deferred(w, now_ms, last);
		a->look_ms = clk_mono_ms(w->clk) + w->timing->db_look_ms;
		if (again)
			a->try_ms = a->look_ms - w->timing->db_look_ms +
				    wait_again_ms(w);
	}
	w->intake.wake_ms = a->look_ms;
}
