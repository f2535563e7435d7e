/* SPDX-License-Identifier: MIT */
/*
 * The scrubber: reads every row of every table, round after round, so that
 * damage is found while there still are back-ups without it.  It proves the
 * digest chains of conversations and that inboxes have no holes; a page that
 * cannot be read is met on the way.  What it finds is logged and counted, and
 * no more: it is for an operator to judge.
 *
 * Its pieces are small and paced, so that no snapshot is held long; the
 * position is in memory, and a new start begins anew.  It owns no thread.
 */
#ifndef UPKEEP_SCRUB_H
#define UPKEEP_SCRUB_H

#include "base/clk.h"
#include "metrics/metrics.h"
#include "upkeep/check.h"

/* Rows that one piece reads at most. */
#define SCRUB_ROWS 200

struct scrub_options {
	const struct clk *clk;
	struct db *db; /* DB_READER, for nobody else; kept */
	struct metrics *metrics;
	int64_t rate;    /* rows a second */
	int64_t rest_ms; /* between two rounds */

	/* Is told what it finds, besides the log; may be NULL. */
	check_found_fn found;
	void *arg;
};

struct scrub;

/* Makes one; ${options} is copied. */
enum rc scrub_new(const struct scrub_options *options, struct scrub **ret,
    struct err *err) MUST_USE;

/* Frees.  NULL is allowed. */
void scrub_free(struct scrub *s);

/* Reads a piece if one is due.  Gives the (monotonic) time at which to call
 * again. */
int64_t scrub_turn(struct scrub *s);

/* How many rounds have been finished. */
int64_t scrub_rounds(const struct scrub *s);

#endif
