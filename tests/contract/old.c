/* SPDX-License-Identifier: MIT */
/*
 * Old databases: runs only the old migrations, then copies the columns that
 * they know.  See old.h.
 */
#include <sqlite3.h>
#include <stdio.h>

#include "contract/old.h"
#include "db/db.h"
#include "schema/sql.h"

static char failure[400];

static const char *
say(sqlite3 *db, const char *what)
{

	(void)snprintf(failure, sizeof(failure), "%.150s: %.200s", what,
	    sqlite3_errmsg(db));
	return (failure);
}

static int
run(sqlite3 *db, const char *sql)
{

	return (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK);
}

/* Copies the columns that the old table ${name} has.  Rows that the old
 * migrations add themselves are in the newer database, too, and are not copied
 * twice. */
static int
copy_table(sqlite3 *db, const char *name)
{
	sqlite3_stmt *st;
	char *sql;
	int failed;

	sql = sqlite3_mprintf(
	    "SELECT 'INSERT OR REPLACE INTO main.%s (' || group_concat(name) ||"
	    " ') SELECT ' || group_concat(name) || ' FROM src.%s'"
	    " FROM pragma_table_info(%Q)",
	    name, name, name);
	failed = sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK ||
		 sqlite3_step(st) != SQLITE_ROW ||
		 run(db, (const char *)sqlite3_column_text(st, 0));
	(void)sqlite3_finalize(st);
	sqlite3_free(sql);
	return (failed);
}

static const char *
copy_all(sqlite3 *db, const char *from)
{
	sqlite3_stmt *st;
	char *sql;
	int failed = 0;

	sql = sqlite3_mprintf("ATTACH %Q AS src", from);
	failed = run(db, sql);
	sqlite3_free(sql);
	if (failed ||
	    sqlite3_prepare_v2(db,
		"SELECT name FROM main.sqlite_schema WHERE type = 'table'"
		" ORDER BY rowid",
		-1, &st, NULL) != SQLITE_OK)
		return (say(db, from));
	while (!failed && sqlite3_step(st) == SQLITE_ROW)
		failed =
		    copy_table(db, (const char *)sqlite3_column_text(st, 0));
	if (failed)
		(void)say(db, (const char *)sqlite3_column_text(st, 0));
	(void)sqlite3_finalize(st);
	return (failed ? failure : NULL);
}

const char *
old_schema_make(const char *from, const char *to, int number)
{
	const char *failed = NULL;
	char pragma[96];
	sqlite3 *db;
	int i;

	if (sqlite3_open(to, &db) != SQLITE_OK)
		return (say(db, to));
	if (run(db, "PRAGMA auto_vacuum=INCREMENTAL"))
		failed = say(db, to);
	for (i = 0; i < number && failed == NULL; i++)
		if (run(db, sql_sqlite_schema.migrations[i].text))
			failed = say(db, sql_sqlite_schema.migrations[i].name);
	(void)snprintf(pragma, sizeof(pragma),
	    "PRAGMA user_version=%d;PRAGMA application_id=%d", number,
	    0x54774278);
	if (failed == NULL && run(db, pragma))
		failed = say(db, pragma);
	if (failed == NULL)
		failed = copy_all(db, from);
	(void)sqlite3_close(db);
	return (failed);
}
