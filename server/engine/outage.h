/* SPDX-License-Identifier: MIT */
/*
 * Limits the log lines about a repeated failure.  The caller writes a line when
 * an outage begins, then at most one in quiet_ms (callers pass a minute), and
 * one when the outage is over; each has the counts since the line before it.
 * An outage that begins within quiet_ms after the last line about a failure has
 * its first line only when quiet_ms have passed, and no line at all if it ends
 * earlier; then the next line counts its failures.  A line for each of many
 * short outages would hide everything else.
 *
 * Thread: the functions do not lock, so one thread uses a struct outage.
 */
#ifndef ENGINE_OUTAGE_H
#define ENGINE_OUTAGE_H

#include <stdbool.h>
#include <stdint.h>

/* All zero: nothing has failed yet. */
struct outage {
	int64_t began_ms; /* monotonic: the first failure; 0: no outage now */
	int64_t told_ms;  /* monotonic: last line about any outage; 0: none */
	bool told;        /* a line about this outage was written */
	uint64_t tries;   /* failed since the last line */
	uint64_t units;   /* refused since the last line */
};

/* The counts of one log line. */
struct outage_line {
	uint64_t tries;
	uint64_t units;
	int64_t ms; /* since the outage began */
};

/* An attempt to serve ${units} units has failed at ${now_ms} (monotonic).
 * Returns true, with ${ret} filled, if the caller has to write a line: this
 * function has never returned true before, in any outage, or did so last at
 * least ${quiet_ms} ago.  Otherwise only counts the failure. */
bool outage_failed(struct outage *o, int64_t now_ms, int64_t quiet_ms,
    uint64_t units, struct outage_line *ret);

/* An attempt has succeeded, which ends the outage, if there is one.  Returns
 * true, with ${ret} filled, if the caller has to write a line: an outage has
 * ended now, and outage_failed() had asked for a line about it. */
bool outage_over(struct outage *o, int64_t now_ms, struct outage_line *ret);

#endif
