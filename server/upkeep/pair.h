/* SPDX-License-Identifier: MIT */
/*
 * Verifies that the databases of two servers that deliver to each other agree
 * about the direct conversations between their users:
 * - A message that its sender's server records as sent is in the other database
 *   with the same sender and body, once in the inbox of its recipient, and in
 *   the order of sending.
 * - The sender's server records a message as acked only if the recipient's
 *   server does.  The recipient's server records a message as acked only if the
 *   sender's server does, or if the receipt is still on its way to that server.
 * - Each message and each other event that one server records as received from
 *   the other server was made on that other server.
 *
 * The check reads each database in one snapshot and writes nothing.  It reports
 * only differences that no later request repairs, provided that the servers
 * exchange nothing between the two snapshots.  Memory holds one page of rows,
 * however large the databases are: pages are read along an index, and the
 * counterpart of each row is found by a key.
 */
#ifndef UPKEEP_PAIR_H
#define UPKEEP_PAIR_H

#include "upkeep/check.h"

/* One of the two databases.  Both members are borrowed. */
struct pair_side {
	/* A reader without an open transaction, and with the usual time-out for
	 * statements. */
	struct db *db;
	/* The domain of its users.  A database does not hold its own domain. */
	const char *domain;
};

/* The extent of the checks, and the number of differences. */
struct pair_report {
	int kinds;        /* of violations that were checked */
	int64_t messages; /* that one side calls sent to the other */
	/* That one side remembers to have taken from the other. */
	int64_t events;
	int64_t violations; /* reported to ${found} */
};

/* Compares ${sides} in both directions and calls ${found} for each violation,
 * for each kind at most FSCK_PLACES times in total.  The argument ${what} of
 * ${found} is the name of the kind, a colon and a sentence ("pair-changed: its
 * sender or ...").  Returns RC_OK with and without violations.  RC_INVALID:
 * neither database knows the other's domain; any other error means that not
 * everything could be read.  Thread: the owner of both connections. */
enum rc pair_run(const struct pair_side sides[2], check_found_fn found,
    void *arg, struct pair_report *ret, struct err *err) MUST_USE;

#endif
