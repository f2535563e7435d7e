/* SPDX-License-Identifier: MIT */
/*
 * How often a failure that repeats is logged: once when it begins, then at most
 * once a minute with a count, and once when it is over.  Failures that come and
 * go within a minute are one outage for the log: a line for each of them would
 * hide everything else.
 *
 * Thread: the owner's.
 */
#ifndef ENGINE_OUTAGE_H
#define ENGINE_OUTAGE_H

#include <stdbool.h>
#include <stdint.h>

/* All zero: none. */
struct outage {
	int64_t began_ms; /* monotonic: its first failure; 0: none is on */
	int64_t told_ms;  /* monotonic: the last line about any; 0: none */
	bool told;        /* a line was written about this one */
	uint64_t tries;   /* that failed since that line */
	uint64_t units;   /* and what was refused in them */
};

/* The counts of one log line. */
struct outage_line {
	uint64_t tries;
	uint64_t units;
	int64_t ms; /* since the outage began */
};

/* A try that was for ${units} has failed at ${now_ms} (monotonic).  True: write
 * the line ${ret}, because the last one is ${quiet_ms} old. */
bool outage_failed(struct outage *o, int64_t now_ms, int64_t quiet_ms,
    uint64_t units, struct outage_line *ret);

/* A try has succeeded.  True: write the line ${ret}: the outage is over, and
 * the log has said that it began. */
bool outage_over(struct outage *o, int64_t now_ms, struct outage_line *ret);

#endif
