/* SPDX-License-Identifier: MIT */
/*
 * A schema of its own for one test, with all migrations, in the PostgreSQL
 * database that TWINBOX_TEST_POSTGRES names (a url).
 */
#ifndef CONTRACT_PG_H
#define CONTRACT_PG_H

#include <libpq-fe.h>

#include "db/db.h"

struct pg {
	PGconn *conn; /* the test's own connection, in the same schema */
	char schema[48];
	char url[512];
};

/* Makes the schema.  Without the variable the test is skipped, with a line that
 * says so. */
void pg_open(struct pg *pg);

/* Drops the schema and closes the connection. */
void pg_close(struct pg *pg);

/* Opens a connection as the server does.  The test fails if that fails.  The
 * caller closes it.  ${settings} (may be NULL) is added to its options: "
 * -cNAME=VALUE". */
struct db *pg_db(const struct pg *pg, enum db_mode mode, const char *settings);

/* Opens a writer's connection with the test's own statements. */
struct db *pg_db_with(const struct pg *pg, const struct db_schema *schema);

/* Two writers of one schema, nodes 7 and 8. */
struct pg_two {
	struct pg pg;
	struct db *a, *b;
};
void pg_two_open(struct pg_two *t);
void pg_two_close(struct pg_two *t);

/* Fails the test with the text of ${err} unless ${call} returns RC_OK. */
#define must(call)                                                             \
	do {                                                                   \
		if ((call) != RC_OK)                                           \
			fail_msg("%s: %s", #call, err.text);                   \
	} while (0)

/* Runs ${sql}, which must succeed. */
void pg_exec(struct pg *pg, const char *sql);

/* Returns the SQLSTATE with which ${sql} fails, or "" if it succeeds, in static
 * storage. */
const char *pg_state(struct pg *pg, const char *sql);

/* Returns the number that ${sql} gives, or 0 for NULL and for no row. */
int64_t pg_number(struct pg *pg, const char *sql);

/* Returns the text that ${sql} gives, "(null)" for NULL, in static storage. */
const char *pg_text(struct pg *pg, const char *sql);

/* Returns the first column of all rows, separated by spaces, in static
 * storage. */
const char *pg_list(struct pg *pg, const char *sql);

/* Reads at most ${max} numbers.  Returns how many there were. */
size_t pg_numbers(struct pg *pg, const char *sql, int64_t *ret, size_t max);

/* Runs statements.  Returns the number of rows that the last one changed. */
int64_t pg_change(struct pg *pg, const char *sql);

#endif
