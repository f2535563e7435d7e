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

	/* The statements of both, and behind them those that compare. */
	struct sql_text lite_text[SQL_STMT_COUNT + TWINS_TABLES];
	struct sql_text post_text[SQL_STMT_COUNT + TWINS_TABLES];
	struct db_schema lite_schema, post_schema;
	char probes[TWINS_TABLES][2][2400];
};

/* Makes both (see pg_open: it may skip the test). */
void twins_open(struct twins *t);

void twins_close(struct twins *t);

/* Sets PostgreSQL's sequences to where SQLite's are, which a rollback takes
 * back. */
void twins_number(struct twins *t);

/* Dies where the tables that ${sql} speaks of do not hold the same in both
 * transactions now; ${what} is said.  (What only PostgreSQL has is left out.)
 */
void twins_compare(struct twins *t, const char *sql, const char *what);

#endif
