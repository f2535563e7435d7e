/* SPDX-License-Identifier: MIT */
/*
 * The schema of a PostgreSQL database: which one there is, and bringing it up
 * to date while other nodes start as well.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "db/db_postgres_internal.h"

/* Whoever migrates holds this advisory lock ("twinbox" in ASCII). */
#define MIGRATE_LOCK "32779049022645112"

static struct db_postgres *
of(struct db *db)
{

	return ((struct db_postgres *)(void *)db);
}

/* The single number that ${sql} gives. */
static enum rc
ask(struct db_postgres *p, const char *sql, int64_t *ret, struct err *err)
{
	PGresult *result;
	enum rc rc;

	rc = db_postgres_exec(p, sql, &result, err);
	if (rc != RC_OK)
		return (rc);
	*ret = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
	PQclear(result);
	return (RC_OK);
}

/* The number of the schema; 0: an empty database.  One that holds something
 * else is left alone. */
static enum rc
schema_now(struct db_postgres *p, int64_t *ret, struct err *err)
{
	int64_t n;
	enum rc rc;

	*ret = 0;
	/* One statement, one snapshot: another node may make the tables at this
	 * moment, and a second look would see them without having seen ours. */
	rc = ask(p,
	    "SELECT CASE WHEN bool_or(tablename = 'schema_migrations') "
	    "THEN -1 ELSE count(*) END FROM pg_tables "
	    "WHERE schemaname = current_schema()",
	    &n, err);
	if (rc == RC_OK && n == -1)
		return (ask(p,
		    "SELECT coalesce(max(number), 0) FROM schema_migrations",
		    ret, err));
	if (rc == RC_OK && n != 0)
		return (err_set(err, RC_INVALID,
		    "the database has %lld tables, but none of twinbox: give it "
		    "a database or a schema of its own",
		    (long long)n));
	return (rc);
}

/* On the connection that there is. */
static enum rc
schema_number(struct db *db, int *ret_has, int *ret_newest, struct err *err)
{
	const struct db_schema *schema = db->schema;
	int64_t version;
	enum rc rc;

	rc = schema_now(of(db), &version, err);
	if (rc != RC_OK)
		return (rc);
	*ret_has = (int)version;
	*ret_newest = schema->migrations[schema->nmigrations - 1].number;
	if (version > *ret_newest)
		return (err_set(err, RC_INVALID,
		    "the database has schema %d, this program knows %d: use the "
		    "newer program",
		    (int)version, *ret_newest));
	return (RC_OK);
}

enum rc
db_postgres_schema_number(
    struct db *db, int *ret_has, int *ret_newest, struct err *err)
{
	enum rc rc = db_postgres_connect(of(db), err);

	return (rc == RC_OK ? schema_number(db, ret_has, ret_newest, err) : rc);
}

static enum rc
migrate_one(struct db_postgres *p, const struct sql_migration *m,
    int64_t now_ms, struct err *err)
{
	char note[192];
	enum rc rc;

	rc = db_postgres_exec(p, "BEGIN", NULL, err);
	if (rc != RC_OK)
		return (rc);
	rc = db_postgres_exec(p,
	    "CREATE TABLE IF NOT EXISTS schema_migrations (number BIGINT "
	    "PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL)",
	    NULL, err);
	if (rc == RC_OK)
		rc = db_postgres_exec(p, m->text, NULL, err);
	(void)snprintf(note, sizeof(note),
	    "INSERT INTO schema_migrations VALUES (%d, '%s', %lld)", m->number,
	    m->name, (long long)now_ms);
	if (rc == RC_OK)
		rc = db_postgres_exec(p, note, NULL, err);
	if (rc == RC_OK)
		rc = db_commit(&p->db, err);
	if (rc != RC_OK) {
		db_rollback(&p->db);
		if (err != NULL && strlen(err->text) > 160)
			err->text[160] = '\0';
		(void)err_wrap(err, "migration %d (%s)", m->number, m->name);
	}
	return (rc);
}

/* With the lock held, so that another node may have done it meanwhile, and on
 * the connection that holds it. */
static enum rc
migrate_all(
    struct db *db, int64_t now_ms, int *ret_from, int *ret_to, struct err *err)
{
	const struct db_schema *schema = db->schema;
	enum rc rc;
	int i;

	rc = schema_number(db, ret_from, ret_to, err);
	for (i = 0; i < schema->nmigrations && rc == RC_OK; i++)
		if (schema->migrations[i].number > *ret_from)
			rc = migrate_one(
			    of(db), &schema->migrations[i], now_ms, err);
	return (rc);
}

enum rc
db_postgres_migrate(
    struct db *db, int64_t now_ms, int *ret_from, int *ret_to, struct err *err)
{
	struct db_postgres *p = of(db);
	enum rc rc;

	p->patience_ms = DB_POSTGRES_MIGRATE_MS;
	rc = db_postgres_exec(p,
	    "SET lock_timeout TO 0; SET statement_timeout TO 0; SELECT pg_advisory_lock(" MIGRATE_LOCK
	    ")",
	    NULL, err);
	if (rc == RC_OK)
		rc = migrate_all(db, now_ms, ret_from, ret_to, err);
	p->patience_ms = p->timing->db_answer_ms;
	/* A new connection has neither the lock nor the settings. */
	db_postgres_drop(p);
	return (rc == RC_OK ? db_postgres_connect(p, err) : rc);
}

/* ---- for tests ---- */

/* EXPLAIN of statement ${id}, with any parameters, as text. */
static enum rc
explain(struct db_postgres *p, int id, int nparams, char *plan, size_t size,
    struct err *err)
{
	struct buf sql = BUF_INIT;
	PGresult *result;
	size_t used = 0;
	enum rc rc;
	int i;

	buf_addf(&sql, "EXPLAIN (COSTS OFF) EXECUTE %s",
	    p->db.schema->statements[id].name);
	for (i = 0; i < nparams; i++)
		buf_adds(&sql, i == 0 ? " (NULL" : ", NULL");
	buf_adds(&sql, nparams > 0 ? ")" : "");
	buf_addc(&sql, '\0');
	rc = db_postgres_exec(p, sql.data, &result, err);
	buf_fini(&sql);
	if (rc != RC_OK)
		return (rc);
	plan[0] = '\0';
	for (i = 0; i < PQntuples(result) && used + 1 < size; i++) {
		(void)snprintf(
		    plan + used, size - used, "%s\n", PQgetvalue(result, i, 0));
		used += strlen(plan + used);
	}
	PQclear(result);
	return (RC_OK);
}

enum rc
db_postgres_describe(struct db *db, int id, int *ret_params, int *ret_columns,
    char *plan, size_t plan_size, struct err *err)
{
	struct db_postgres *p = of(db);
	struct db_postgres_stmt *st;
	enum rc rc;

	rc = db_postgres_connect(p, err);
	if (rc == RC_OK)
		rc = db_postgres_prepare(p, id, &st, err);
	if (rc != RC_OK)
		return (rc);
	*ret_params = st->nparams;
	*ret_columns = st->ncolumns;
	return (plan == NULL
		    ? RC_OK
		    : explain(p, id, st->nparams, plan, plan_size, err));
}
