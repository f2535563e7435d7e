/* SPDX-License-Identifier: MIT */
/*
 * Runs the SQL statements that return the violations of the invariants of the
 * database.  Also reads the links of the digest chains, for callers that then
 * compute the digests themselves.  Thread: the owner of the connection.
 */
#ifndef UPKEEP_CHECK_H
#define UPKEEP_CHECK_H

#include "db/db.h"

/* A violation of invariant ${what} at ${place}. */
typedef void (*check_found_fn)(void *arg, const char *what, const char *place);

/* Calls ${found} for each violation, of each kind at most ${limit} times.
 * ${ret_kinds}: how many kinds were checked. */
enum rc check_run(struct db *db, int64_t limit, check_found_fn found, void *arg,
    int *ret_kinds, struct err *err) MUST_USE;

/* Calls ${found} for each object of the schema of ${db} that is missing,
 * differs or is unknown, compared with a fresh database of the same version
 * (PostgreSQL: with schema/postgres/catalogue.sql, which lists the newest one);
 * at most ${limit} times. */
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

/* Calls ${each} with every link, conversation by conversation, in order.  An
 * error of ${each} ends the walk and is returned. */
enum rc check_links(
    struct db *db, check_link_fn each, void *arg, struct err *err) MUST_USE;

/* Calls ${each} with the link in ${row}: conversation, number, id, sender,
 * salt, body and digest. */
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
