/* SPDX-License-Identifier: MIT */
/*
 * Shared by the files of the writer.  Only writer*.c include this.
 */
#ifndef ENGINE_WRITER_INTERNAL_H
#define ENGINE_WRITER_INTERNAL_H

#include <stdatomic.h>

#include "base/thr.h"
#include "base/timing.h"
#include "engine/commits.h"
#include "engine/deferred.h"
#include "engine/intake.h"
#include "engine/outage.h"

struct writer {
	struct db *db;
	const struct clk *clk;
	const struct timing *timing;
	const struct writer_hooks *hooks;
	int64_t checkpoint_bytes;
	bool syncs_beside;
	struct intake intake;

	struct thr *thread;
	struct commits_hooks commits_hooks;
	struct commits *commits;
	atomic_bool failed;   /* the store is lost: every unit is refused */
	atomic_bool no_begin; /* the last transaction could not begin */
	struct deferred deferred;
	int64_t lock_us; /* how long a batch keeps its rows locked, smoothed */
	int64_t patience_ms; /* how long a batch waits for locks */
	atomic_size_t ndeferred;
	struct outage outage;
	struct outage deferring; /* units are being deferred */
	/* Why transactions fail now: RC_AWAY, RC_UNCONFIRMED; RC_OK: they do
	 * not, or for another reason. */
	_Atomic enum rc trouble;

	struct unit *batch[BATCH_UNITS];
	struct unit *sorted[BATCH_UNITS];
	size_t nbatch;

	atomic_uint_fast64_t batches, units, abandoned, checkpoints, full;
	atomic_int_fast64_t log_bytes;
	int64_t checkpoint_at; /* log size that starts the next one */
};

/* ---- writer.c ---- */

/* Finishes ${n} units with ${rc}; nothing was done for them. */
void writer_refuse(struct unit **units, size_t n, enum rc rc);

/* Runs the batch in w->batch; returns the number of its units. */
size_t writer_work(struct writer *w);

/* ---- writer_transact.c ---- */

/* Sorts w->batch by unit_kind.order, ascending; units of the same order keep
 * their sequence. */
void writer_sort(struct writer *w);

/* Begins a transaction, and stores whether that succeeded for
 * writer_can_begin(). */
enum rc writer_begin(struct writer *w, struct err *err) MUST_USE;

/* Runs ${n} units as one transaction, with up to 4 retries while other writers
 * are in the way.  Reorders ${units}.  On success the first *ret_ready units
 * were committed and no longer belong to the caller: a unit with unit->requeue
 * is in its queue again, and every other one was handed to commits.h and may be
 * finished already.  The units from *ret_ready on were deferred, changed
 * nothing and still belong to the caller.  On failure *ret_ready has no
 * meaning, all units belong to the caller, and everything is undone, unless the
 * outcome of the commit is not known (db_commit()).  RC_CONFLICT: the units may
 * succeed one by one.  ${alone} is true if ${n} is 1 and the unit is run again
 * because a batch with it was abandoned. */
enum rc writer_transact(struct writer *w, struct unit **units, size_t n,
    bool alone, size_t *ret_ready, struct err *err) MUST_USE;

/* ---- writer_deferred.c ---- */

/* Defers ${n} units until their rows are free, at most for db_lock_ms. */
void writer_defer(struct writer *w, struct unit **units, size_t n);

/* If it is time (every 0.1 s), probes the contended rows.  If one of them is
 * free, and every 1 to 4 s in any case, runs the deferred units again, except
 * that those first deferred db_lock_ms or longer ago are refused.  Sets
 * intake.wake_ms to the time of the next probe, or to 0 if no unit is deferred
 * and no row is contended.  ${last} (the writer stops): does this at once, and
 * also refuses the units that are deferred again. */
void writer_retry_deferred(struct writer *w, bool last);

#endif
