/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the writer share.  Only writer*.c include this.
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
	atomic_bool failed;   /* the store is gone: every unit is refused */
	atomic_bool no_begin; /* the last transaction could not begin */
	struct deferred deferred;
	int64_t lock_us;     /* how long a batch holds its rows, smoothed */
	int64_t patience_ms; /* how long it waits for them */
	atomic_size_t ndeferred;
	struct outage outage;
	struct outage deferring; /* units are deferred */
	/* Why transactions fail now, if that is known: RC_AWAY,
	 * RC_UNCONFIRMED; else RC_OK. */
	_Atomic enum rc trouble;

	struct unit *batch[BATCH_UNITS];
	struct unit *sorted[BATCH_UNITS];
	size_t nbatch;

	atomic_uint_fast64_t batches, units, abandoned, checkpoints, full;
	atomic_int_fast64_t log_bytes;
	int64_t checkpoint_at; /* log size at which to checkpoint next */
};

/* ---- writer.c ---- */

/* Gives ${n} units back, which nothing was done for. */
void writer_refuse(struct unit **units, size_t n, enum rc rc);

/* Does what is in w->batch; how many units that were. */
size_t writer_work(struct writer *w);

/* ---- writer_transact.c ---- */

/* Sorts w->batch by kind, keeping arrival order within a kind. */
void writer_sort(struct writer *w);

/* Begins a transaction, and notes whether it could. */
enum rc writer_begin(struct writer *w, struct err *err) MUST_USE;

/* Runs ${n} units as one transaction, several times where other writers are in
 * the way.  On failure everything is undone and the units are still the
 * caller's, as on success those are that were deferred: *ret_ready and all
 * after it.  ${alone}: the one unit's batch was abandoned. */
enum rc writer_transact(struct writer *w, struct unit **units, size_t n,
    bool alone, size_t *ret_ready, struct err *err) MUST_USE;

/* ---- writer_deferred.c ---- */

/* Keeps ${n} units until what they need is free, or for db_lock_ms. */
void writer_defer(struct writer *w, struct unit **units, size_t n);

/* Tries what is deferred when it is time; ${last}: now, and no more. */
void writer_retry_deferred(struct writer *w, bool last);

#endif
