/* SPDX-License-Identifier: MIT */
/*
 * The schema of an SQLite database: its number, its migrations, and the
 * description of a statement (parameters, columns, query plan).
 */
#include <stdio.h>
#include <string.h>

#include "db/db_sqlite_internal.h"

enum rc
db_sqlite_migrate_one(
    struct db_sqlite *s, const struct sql_migration *m, struct err *err)
{
	char pragma[96];
	enum rc rc;

	rc = db_sqlite_exec(s, "BEGIN IMMEDIATE", err);
	if (rc != RC_OK)
		return (rc);
	rc = db_sqlite_exec(s, m->text, err);
	snprintf(pragma, sizeof(pragma),
	    "PRAGMA user_version=%d;PRAGMA application_id=%d", m->number,
	    DB_SQLITE_APPLICATION_ID);
	if (rc == RC_OK)
		rc = db_sqlite_exec(s, pragma, err);
	if (rc == RC_OK)
		rc = db_sqlite_exec(s, "COMMIT", err);
	if (rc != RC_OK) {
		s->db.driver->rollback(&s->db);
		(void)err_wrap(err, "migration %d (%s)", m->number, m->name);
	}
	return (rc);
}

enum rc
db_sqlite_schema_number(
    struct db *db, int *ret_has, int *ret_newest, struct err *err)
{
	int64_t version;
	enum rc rc;

	rc = db_sqlite_query_value(
	    db_sqlite_of(db), "PRAGMA user_version", &version, NULL, 0, err);
	return (rc == RC_OK
		    ? db_schema_check(db, version, ret_has, ret_newest, err)
		    : rc);
}

enum rc
db_sqlite_migrate(
    struct db *db, int64_t now_ms, int *ret_from, int *ret_to, struct err *err)
{
	struct db_sqlite *s = db_sqlite_of(db);
	const struct db_schema *schema = db->schema;
	int i, version, newest;
	enum rc rc;

	(void)now_ms;
	rc = db_sqlite_schema_number(db, &version, &newest, err);
	if (rc != RC_OK)
		return (rc);
	for (i = 0; i < schema->nmigrations; i++) {
		if (schema->migrations[i].number <= version)
			continue;
		rc = db_sqlite_migrate_one(s, &schema->migrations[i], err);
		if (rc != RC_OK)
			return (rc);
	}
	*ret_from = version;
	*ret_to = newest;
	return (RC_OK);
}

enum rc
db_sqlite_describe(struct db *db, int id, struct db_description *ret,
    char *plan, size_t plan_size, struct err *err)
{
	struct db_sqlite *s = db_sqlite_of(db);
	struct db_sqlite_stmt *st;
	sqlite3_stmt *ex;
	char *sql;
	size_t used;
	enum rc rc;
	int i, code;

	rc = db_sqlite_prepare(s, id, &st, err);
	if (rc != RC_OK)
		return (rc);
	ret->nparams = (int)st->nparams;
	for (i = 0; i < sqlite3_column_count(st->handle); i++)
		db_describe_column(ret, sqlite3_column_name(st->handle, i));
	if (plan == NULL)
		return (RC_OK);
	sql = sqlite3_mprintf(
	    "EXPLAIN QUERY PLAN %s", db->schema->statements[id].text);
	if (sql == NULL)
		return (err_set(err, RC_NO_MEMORY, "describe"));
	code = sqlite3_prepare_v2(s->handle, sql, -1, &ex, NULL);
	sqlite3_free(sql);
	if (code != SQLITE_OK)
		return (db_sqlite_fail(s, code, "explain", err));
	used = 0;
	plan[0] = '\0';
	while (sqlite3_step(ex) == SQLITE_ROW && used + 1 < plan_size) {
		snprintf(plan + used, plan_size - used, "%s\n",
		    (const char *)sqlite3_column_text(ex, 3));
		used += strlen(plan + used);
	}
	sqlite3_finalize(ex);
	return (RC_OK);
}
