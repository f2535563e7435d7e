/* SPDX-License-Identifier: MIT */
/*
 * A small schema for the tests of the database seam.
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

/* The schema; the schema without its last migration; the schema with a third
 * migration, which fails half-way. */
extern const struct db_schema db_fixture_schema;
extern const struct db_schema db_fixture_older;
extern const struct db_schema db_fixture_broken;

enum rc db_fixture_open(const char *url, enum db_mode mode,
    const struct db_schema *which, struct db **ret, struct err *err);

/* Opens a writer's connection with ${o} on a migrated database, or fails the
 * test. */
struct db *db_fixture_with(const struct db_options *o);

/* The same with the schema of this fixture: a writer's connection; a
 * reader's. */
struct db *db_fixture_ready(const struct scratch *s);
struct db *db_fixture_reader(const struct scratch *s);

/* The first number that ${stmt} returns; -1 if it returns no row. */
int64_t db_fixture_number(struct db *db, int stmt);

/* Inserts a row into table t. */
enum rc db_fixture_insert(
    struct db *db, int64_t id, int64_t n, struct err *err);

#endif
