/* SPDX-License-Identifier: MIT */
/*
 * What must not be in the database, as statements that name the places where
 * it is; and the links of the digest chains, for whoever can compute them.
 * Thread: the owner of the connection.
 */
#ifndef UPKEEP_CHECK_H
#define UPKEEP_CHECK_H

#include "db/db.h"

/* ${what} must not be, and is at ${place}. */
typedef void (*store_found_fn)(void *arg, const char *what, const char *place);

/* Tells each violation, of each kind at most ${limit}.  ${ret_kinds}: how many
 * kinds were looked for. */
enum rc store_check(struct db *db, int64_t limit, store_found_fn found,
    void *arg, int *ret_kinds, struct err *err) MUST_USE;

/* Tells how the schema of ${db} differs from that of a fresh database with the
 * same number: what is missing, is another, or is not one of ours. */
enum rc store_check_schema(struct db *db, int64_t limit, store_found_fn found,
    void *arg, struct err *err) MUST_USE;

/* A released message in its chain; borrowed. */
struct store_link {
	int64_t conversation_id;
	int64_t conversation_seq;
	struct uuid id;
	const char *sender; /* NUL-terminated */
	const void *salt;   /* NULL: erased, as the body */
	size_t salt_len;
	const char *body;
	size_t body_len;
	const void *digest;
	size_t digest_len;
};

typedef enum rc (*store_link_fn)(
    void *arg, const struct store_link *link, struct err *err);

/* Every link, conversation by conversation, in order. */
enum rc store_links(
    struct db *db, store_link_fn each, void *arg, struct err *err) MUST_USE;

/* Tells ${each} of the link in ${row}: conversation, number, id, sender, salt,
 * body and digest. */
enum rc store_link_tell(const struct db_row *row, store_link_fn each, void *arg,
    struct err *err) MUST_USE;

/* How many rows there are. */
struct store_census {
	int64_t users, messages, outbox_rows, events;
};

/* Counts. */
enum rc store_census(
    struct db *db, struct store_census *ret, struct err *err) MUST_USE;

#endif
