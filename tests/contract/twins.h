/* SPDX-License-Identifier: MIT */
/*
 * The same rows in an SQLite and in a PostgreSQL database: a small world in
 * which every statement finds something.
 */
#ifndef CONTRACT_TWINS_H
#define CONTRACT_TWINS_H

#include "contract/pg.h"
#include "contract/rig.h"
#include "schema/sql.h"

#define TWINS_TABLES 22

struct twins {
	struct rig rig;
	struct pg pg;
	struct db *lite, *post; /* writers */

	/* The statements of each database, followed by those that compare
	 * tables. */
	struct sql_text lite_text[SQL_STMT_COUNT + TWINS_TABLES];
	struct sql_text post_text[SQL_STMT_COUNT + TWINS_TABLES];
	struct db_schema lite_schema, post_schema;
	char probes[TWINS_TABLES][2][2400];
};

/* Makes both databases.  The test is skipped without PostgreSQL (see
 * pg_open). */
void twins_open(struct twins *t);

void twins_close(struct twins *t);

/* Sets PostgreSQL's sequences to SQLite's numbers, because a rollback does not
 * take a sequence back. */
void twins_number(struct twins *t);

/* Fails the test if a table that ${sql} names differs in the two current
 * transactions.  ${what} is part of the message.  Columns that only PostgreSQL
 * has are not compared. */
void twins_compare(struct twins *t, const char *sql, const char *what);

#endif
