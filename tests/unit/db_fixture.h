/* SPDX-License-Identifier: MIT */
/*
 * A small schema of its own for the tests of the database seam.
 */
#ifndef TESTS_DB_FIXTURE_H
#define TESTS_DB_FIXTURE_H

#include "db/db.h"
#include "unit/scratch.h"

enum {
	S_INSERT,
	S_GET,
	S_ALL,
	S_COUNT,
	S_SET,
	S_ORDER,
	S_UNNAMED,
	S_FAR,
	S_NO_SQL,
	S_PAGES,
	S_IMPATIENT,
	S_FILL,
	S_CHECK,
	S_SYNC,
	S_JOURNAL,
	S_DROP,
	S_UPSERT,
	NSTMT
};

/* The schema; one migration less; and with a third that fails half-way. */
extern const struct db_schema db_fixture_schema;
extern const struct db_schema db_fixture_older;
extern const struct db_schema db_fixture_broken;

enum rc db_fixture_open(const char *url, enum db_mode mode,
    const struct db_schema *which, struct db **ret, struct err *err);

/* A connection with ${o}, a writer's on a migrated database, or the test fails.
 */
struct db *db_fixture_with(const struct db_options *o);

/* The same with the schema of this fixture: a writer; a reader. */
struct db *db_fixture_ready(const struct scratch *s);
struct db *db_fixture_reader(const struct scratch *s);

/* The first number that ${stmt} gives, -1 without a row. */
int64_t db_fixture_number(struct db *db, int stmt);

/* A row of t with this id and n. */
enum rc db_fixture_insert(
    struct db *db, int64_t id, int64_t n, struct err *err);

#endif
