/* SPDX-License-Identifier: MIT */
/*
 * The scrubber reads every row of every table, round after round, so that
 * damage is found while there are still backups without it.  It verifies the
 * digest chains of conversations, and that conversations and inboxes have no
 * holes in their numbering.  Reading also finds damaged pages; after a row that
 * cannot be read, some rows are skipped until the next round.  The scrubber
 * counts all that it finds, logs at most 20 findings of a round, and changes
 * nothing: an operator must decide.
 *
 * It reads in small pieces at a limited rate, so that no snapshot is held long.
 * Its position is in memory only, so a restart begins a new round.  It owns no
 * thread.
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
	struct db *db; /* DB_READER, not shared; kept */
	struct metrics *metrics;
	int64_t rate;    /* rows per second */
	int64_t rest_ms; /* the pause between two rounds */

	/* Called for each finding, besides the log.  May be NULL. */
	check_found_fn found;
	void *arg;
};

struct scrub;

/* Makes a scrubber.  ${options} is copied. */
enum rc scrub_new(const struct scrub_options *options, struct scrub **ret,
    struct err *err) MUST_USE;

/* Frees ${s}.  NULL is allowed. */
void scrub_free(struct scrub *s);

/* Reads the next piece, at most SCRUB_ROWS rows, if it is due.  Logs and counts
 * damage and does not return it.  Returns the monotonic time in ms at which the
 * next piece is due. */
int64_t scrub_turn(struct scrub *s);

/* Returns how many rounds have been finished. */
int64_t scrub_rounds(const struct scrub *s);

#endif
