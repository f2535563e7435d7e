/* SPDX-License-Identifier: MIT */
/*
 * Verifies goals 1 to 4 of ARCHITECTURE.md on a database: every accepted
 * message has its outbox row, unless that row may have been purged; every event
 * is in its inbox only once and in order; lanes (queues of outbox rows) and
 * watermarks agree with the rows; and the digest chains are intact.  Each of
 * fsck_run() and fsck_schema() reads in one snapshot and writes nothing, so
 * they may run beside a server, on a connection of their own.
 */
#ifndef UPKEEP_FSCK_H
#define UPKEEP_FSCK_H

#include "crypt/digest.h"
#include "upkeep/check.h"

/* At most this many places are reported for each kind of violation. */
#define FSCK_PLACES 20

/* The extent of the checks, and the number of violations. */
struct fsck_report {
	int kinds; /* of violations that were checked */
	struct check_census census;
	int64_t links;      /* of the chains */
	int64_t violations; /* reported to ${found} */
};

/* Checks all rows of ${db}, which has no open transaction, and calls ${found}
 * for each violation, at most FSCK_PLACES times for each kind.  Returns RC_OK
 * with and without violations.  Damage to the file is a violation, too; if it
 * makes rows unreadable, fsck_run() leaves out the remaining checks and still
 * returns RC_OK.  After any other failure to read it returns an error: not
 * everything was checked. */
enum rc fsck_run(struct db *db, check_found_fn found, void *arg,
    struct fsck_report *ret, struct err *err) MUST_USE;

/* Checks only the schema of ${db} (check_schema_run()), and adds one kind and
 * the number of violations to ${report}, which fsck_run() has filled.  Calls
 * ${found} and returns as fsck_run() does.  The schema has a function of its
 * own because a test that checks the rows after each of a thousand crashes has
 * the same schema each time. */
enum rc fsck_schema(struct db *db, check_found_fn found, void *arg,
    struct fsck_report *report, struct err *err) MUST_USE;

/* Returns whether the digest of ${link} follows from ${before}, the digest of
 * the message before it (all zero for the first).  Of an erased message,
 * whose text is gone, checks only the length of the digest. */
bool fsck_link_holds(
    const struct check_link *link, const uint8_t before[DIGEST_LEN]);

#endif
