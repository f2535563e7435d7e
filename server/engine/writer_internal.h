/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the writer share.  Only writer*.c include this.
 */
#ifndef ENGINE_WRITER_INTERNAL_H
#define ENGINE_WRITER_INTERNAL_H

#include <stdatomic.h>

#include "base/outage.h"
#include "base/thr.h"
#include "base/timing.h"
#include "engine/aside.h"
#include "engine/commits.h"
#include "engine/intake.h"

struct writer {
	struct db *db;
	const struct clk *clk;
	const struct timing *timing;
	const struct writer_hooks *hooks;
	int64_t checkpoint_bytes;
	struct intake intake;

	struct thr *thread;
	struct commits_hooks commits_hooks;
	struct commits *commits;
	atomic_bool failed;   /* the store is gone: every unit is refused */
	atomic_bool no_begin; /* the last transaction could not begin */
	struct aside aside;
	int64_t hold_us; /* how long a batch holds its rows, smoothed */
	atomic_size_t naside;
	struct outage outage;
	struct outage held; /* units are laid aside */
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

/* Begins a transaction, and notes whether it could. */
enum rc writer_begin(struct writer *w, struct err *err) MUST_USE;

/* Gives ${n} units back, which nothing was done for. */
void writer_refuse(struct unit **units, size_t n, enum rc rc);

/* Does what is in w->batch; how many units that were. */
size_t writer_work(struct writer *w);

/* ---- writer_aside.c ---- */

/* Keeps ${n} units until what they need is free, or for db_lock_ms. */
void writer_lay_aside(struct writer *w, struct unit **units, size_t n);

/* Tries what is laid aside when it is time; ${last}: now, and no more. */
void writer_look_aside(struct writer *w, bool last);

#endif
