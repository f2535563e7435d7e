/* SPDX-License-Identifier: MIT */
/*
 * Proves that the databases of two servers that deliver to each other agree:
 * what one calls sent is in the other, as it was sent, once and in order; what
 * the recipient has acked is acked for the sender, unless the receipt is still
 * on its way; and nothing came from a server that has not sent it.
 *
 * It reports only what no later request puts right, if nothing goes from one to
 * the other between the two snapshots.  It reads in one snapshot of each
 * database and writes nothing.  Memory holds one page of rows, however large
 * the databases are: pages are read along an index, and the counterpart of each
 * row is found by a key.
 */
#ifndef UPKEEP_PAIR_H
#define UPKEEP_PAIR_H

#include "upkeep/check.h"

/* One of the two.  Both members are borrowed. */
struct pair_side {
	struct db *db; /* a reader without an open transaction; a statement of
			* it may take as long as usual */
	const char *domain; /* of its people; no database holds its own */
};

/* What was looked at, and what was found. */
struct pair_report {
	int kinds;        /* of violations that were looked for */
	int64_t messages; /* that one calls sent to the other */
	int64_t events;   /* that one remembers to have taken from the other */
	int64_t violations; /* named */
};

/* Compares ${sides} in both directions; ${found} is called for each violation,
 * of each kind at most FSCK_PLACES times.  Its ${what} is a name, a colon and a
 * sentence.  RC_OK whether there are any or not; RC_INVALID: neither database
 * knows the other's domain; any other error means that not all could be read.
 * Thread: the owner of both connections. */
enum rc pair_run(const struct pair_side sides[2], check_found_fn found,
    void *arg, struct pair_report *ret, struct err *err) MUST_USE;

#endif
