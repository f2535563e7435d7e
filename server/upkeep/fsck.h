/* SPDX-License-Identifier: MIT */
/*
 * Proves promises 1 to 4 on a database: nothing accepted is without its outbox
 * row, everything is once in the inboxes and in order, lanes and marks agree,
 * the digest chains are whole.  Reads in one snapshot and writes nothing, so
 * that it may run beside the server, on a connection of its own.
 */
#ifndef UPKEEP_FSCK_H
#define UPKEEP_FSCK_H

#include "crypt/digest.h"
#include "upkeep/check.h"

/* So many places of each kind of violation are named. */
#define FSCK_PLACES 20

/* What was looked at, and what was found. */
struct fsck_report {
	int kinds; /* of violations that were looked for */
	struct check_census census;
	int64_t links;      /* of the chains */
	int64_t violations; /* named */
};

/* Looks at all of ${db}, which has no open transaction; ${found} is told each
 * violation.  RC_OK whether there are any or not (a damaged file is one, after
 * which no more is looked at); an error means that not all could be read. */
enum rc fsck_run(struct db *db, check_found_fn found, void *arg,
    struct fsck_report *ret, struct err *err) MUST_USE;

/* Looks at the schema as well, and adds what it finds to ${report}; apart from
 * the rows, because a test that looks a thousand times at what a crash has left
 * has the same schema each time.  Results as of fsck_run(). */
enum rc fsck_schema(struct db *db, check_found_fn found, void *arg,
    struct fsck_report *report, struct err *err) MUST_USE;

/* Whether the digest of ${link} follows from ${before}, that of the message
 * before it (all zero before the first). */
bool fsck_link_holds(
    const struct check_link *link, const uint8_t before[DIGEST_LEN]);

#endif
