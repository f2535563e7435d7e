/* SPDX-License-Identifier: MIT */
/*
 * Limits the log lines about a repeated failure: one when it begins, then at
 * most one in quiet_ms (a minute) with a count, and one when it is over.
 * Failures that begin within quiet_ms after the last line get no line of their
 * own, because a line for each would hide everything else: the next line counts
 * them.
 *
 * Thread: the owner's.
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
 * Returns true if the caller has to write the line ${ret}: there was none yet,
 * or the last one is at least ${quiet_ms} old. */
bool outage_failed(struct outage *o, int64_t now_ms, int64_t quiet_ms,
    uint64_t units, struct outage_line *ret);

/* An attempt has succeeded.  Returns true if the caller has to write the line
 * ${ret}: the outage is over, and an earlier line has reported it. */
bool outage_over(struct outage *o, int64_t now_ms, struct outage_line *ret);

#endif
