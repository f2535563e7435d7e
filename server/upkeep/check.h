/* SPDX-License-Identifier: MIT */
/*
 * Runs the SQL statements that return the violations of the invariants of the
 * database, and compares its schema with the right one.  Also reads the links
 * of the digest chains, for callers that then verify the digests themselves:
 * each released message is a link, and its digest covers that of the message
 * before it.
 * Thread: the owner of the connection.
 */
#ifndef UPKEEP_CHECK_H
#define UPKEEP_CHECK_H

#include "db/db.h"

/* A violation of invariant ${what} at ${place}. */
typedef void (*check_found_fn)(void *arg, const char *what, const char *place);

/* Checks each kind of invariant (the table in check.c), and calls ${found} for
 * each violation, for each kind at most ${limit} times.  Returns RC_OK with and
 * without violations, and sets *ret_kinds to the number of kinds.  After an
 * error *ret_kinds is not set, and not all kinds were checked. */
enum rc check_run(struct db *db, int64_t limit, check_found_fn found, void *arg,
    int *ret_kinds, struct err *err) MUST_USE;

/* Compares the schema of ${db} with that of a fresh database of the same schema
 * number (PostgreSQL: with schema/postgres/catalogue.sql, which lists the
 * newest schema, so that an older one shows differences), and calls ${found}
 * for each object, such as a table, that is missing, differs or is unknown, in
 * total at most ${limit} times.  Returns RC_OK with and without differences. */
enum rc check_schema_run(struct db *db, int64_t limit, check_found_fn found,
    void *arg, struct err *err) MUST_USE;

/* A released message as a link of its conversation's chain; borrowed. */
struct check_link {
	int64_t conversation_id;
	int64_t conversation_seq;
	struct uuid id;
	const char *sender; /* NUL-terminated */
	const void *salt;   /* NULL: salt and body are erased */
	size_t salt_len;
	const char *body;
	size_t body_len;
	const void *digest;
	size_t digest_len;
};

typedef enum rc (*check_link_fn)(
    void *arg, const struct check_link *link, struct err *err);

/* Calls ${each} with every link (released message) of ${db}, conversation by
 * conversation, and in each conversation in the order of conversation_seq.  An
 * error of ${each} ends the walk and is returned. */
enum rc check_links(
    struct db *db, check_link_fn each, void *arg, struct err *err) MUST_USE;

/* Makes a link of ${row}, whose first columns are those of the row type `link`
 * (schema/common/check.sql), calls ${each} with it once, and returns the result
 * of ${each}.  The link points into ${row} and is valid only during the
 * call. */
enum rc check_link_call(const struct db_row *row, check_link_fn each, void *arg,
    struct err *err) MUST_USE;

/* Numbers of rows. */
struct check_census {
	int64_t users, messages, outbox_rows, events;
};

/* Counts the rows. */
enum rc check_census(
    struct db *db, struct check_census *ret, struct err *err) MUST_USE;

#endif
