/* SPDX-License-Identifier: MIT */
/*
 * A schema of its own in the PostgreSQL database that TWINBOX_TEST_POSTGRES
 * names (a url), with all migrations, for one test.
 */
#ifndef CONTRACT_PG_H
#define CONTRACT_PG_H

#include <libpq-fe.h>

#include "db/db.h"

struct pg {
	PGconn *conn; /* a second pair of eyes, in the same schema */
	char schema[48];
	char url[512];
};

/* Makes the schema.  Where the variable is not set the test is skipped, with a
 * line that says so. */
void pg_open(struct pg *pg);

/* Drops the schema and closes. */
void pg_close(struct pg *pg);

/* A connection of the server's own kind, or dies; the caller closes it.
 * ${settings} (may be NULL) is added to its options: " -cNAME=VALUE". */
struct db *pg_db(const struct pg *pg, enum db_mode mode, const char *settings);

/* The same with statements of one's own. */
struct db *pg_db_with(const struct pg *pg, const struct db_schema *schema);

/* Two writers of one schema, as nodes 7 and 8. */
struct pg_two {
	struct pg pg;
	struct db *a, *b;
};
void pg_two_open(struct pg_two *t);
void pg_two_close(struct pg_two *t);

/* The test fails with the text of its ${err} unless ${call} is RC_OK. */
#define must(call)                                                             \
	do {                                                                   \
		if ((call) != RC_OK)                                           \
			fail_msg("%s: %s", #call, err.text);                   \
	} while (0)

/* Runs ${sql}, or dies. */
void pg_exec(struct pg *pg, const char *sql);

/* The SQLSTATE that ${sql} fails with, "" if it does not; static storage. */
const char *pg_state(struct pg *pg, const char *sql);

/* The number that ${sql} gives; 0 for NULL and for no row. */
int64_t pg_number(struct pg *pg, const char *sql);

/* The text that ${sql} gives, "(null)" for NULL; static storage. */
const char *pg_text(struct pg *pg, const char *sql);

/* The first column of all rows, with blanks between; static storage. */
const char *pg_list(struct pg *pg, const char *sql);

/* Numbers by SQL, at most ${max}; how many. */
size_t pg_numbers(struct pg *pg, const char *sql, int64_t *ret, size_t max);

/* Runs statements; rows that the last one has changed. */
int64_t pg_change(struct pg *pg, const char *sql);

#endif
