/* SPDX-License-Identifier: MIT */
/*
 * The schema of a PostgreSQL database: its number, its migrations, which
 * several nodes may start at the same time, and the description of a statement
 * for tests.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clk.h"
#include "db/db_postgres_internal.h"

/* A node that migrates holds this advisory lock ("twinbox" in ASCII). */
#define MIGRATE_LOCK "32779049022645112"

/* *ret: the number of the newest migration that the database has run; 0: none,
 * or PostgreSQL's current_schema() has no tables.  RC_INVALID: current_schema()
 * has tables, but no table schema_migrations, so the tables belong to another
 * program.  Changes nothing. */
static enum rc
schema_now(struct db_postgres *p, int64_t *ret, struct err *err)
{
	int64_t n;
	enum rc rc;

	*ret = 0;
	/* One statement sees one snapshot.  With two statements another node
	 * could create the tables in between: the first would not find
	 * schema_migrations, and the second would count the new tables, so that
	 * they would seem to be those of another program. */
	rc = db_postgres_query_i64(p,
	    "SELECT CASE WHEN bool_or(tablename = 'schema_migrations') "
	    "THEN -1 ELSE count(*) END FROM pg_tables "
	    "WHERE schemaname = current_schema()",
	    &n, err);
	if (rc == RC_OK && n == -1)
		return (db_postgres_query_i64(p,
		    "SELECT coalesce(max(number), 0) FROM schema_migrations",
		    ret, err));
	if (rc == RC_OK && n != 0)
		return (err_set(err, RC_INVALID,
		    "the database has %lld tables, but none of twinbox: give it "
		    "a database or a schema of its own",
		    (long long)n));
	return (rc);
}

/* As db_postgres_schema_number(), on the existing connection. */
static enum rc
schema_number(struct db *db, int *ret_has, int *ret_newest, struct err *err)
{
	int64_t version;
	enum rc rc;

	rc = schema_now(db_postgres_of(db), &version, err);
	return (rc == RC_OK
		    ? db_schema_check(db, version, ret_has, ret_newest, err)
		    : rc);
}

enum rc
db_postgres_schema_number(
    struct db *db, int *ret_has, int *ret_newest, struct err *err)
{
	enum rc rc = db_postgres_connect(db_postgres_of(db), err);

	return (rc == RC_OK ? schema_number(db, ret_has, ret_newest, err) : rc);
}

/* ---- the migration lock ----
 *
 * The lock and the settings of a migration end with its transaction.  Therefore
 * no failure leaves a lock in a session that a pooler may give to another
 * client.  The node polls for the lock instead of waiting for it in the server,
 * so that it can log which session holds it. */

static const char begin_locked_sql[] =
    "BEGIN; SET LOCAL lock_timeout TO 0; SET LOCAL statement_timeout TO 0; "
    "SELECT CASE WHEN pg_try_advisory_xact_lock(" MIGRATE_LOCK
    ") THEN 1 ELSE 0 END";

/* A query for the session that holds the migration lock: its process id, the
 * address of its client, and whether its commit waits for a standby.  No row:
 * the lock has been released meanwhile. */
static const char holder_sql[] =
    "SELECT l.pid, coalesce(host(a.client_addr), 'this machine'), "
    "coalesce(a.wait_event = 'SyncRep', false) "
    "FROM pg_locks l LEFT JOIN pg_stat_activity a USING (pid) "
    "WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1 "
    "AND l.database = (SELECT oid FROM pg_database "
    "WHERE datname = current_database()) "
    "AND (l.classid::bigint << 32 | l.objid::bigint) = " MIGRATE_LOCK;

#define WHAT_SIZE 192

/* Describes the holder in ${ret}, in the transaction that failed to get the
 * lock. */
static enum rc
find_holder(struct db_postgres *p, char ret[WHAT_SIZE], struct err *err)
{
	PGresult *result;
	enum rc rc;

	(void)snprintf(ret, WHAT_SIZE, "the migration of another node");
	rc = db_postgres_exec(p, holder_sql, &result, err);
	if (rc != RC_OK)
		return (rc);
	if (PQntuples(result) > 0)
		(void)snprintf(ret, WHAT_SIZE,
		    "the migration of another node: PostgreSQL session %s from "
		    "%.64s%s",
		    PQgetvalue(result, 0, 0), PQgetvalue(result, 0, 1),
		    PQgetvalue(result, 0, 2)[0] == 't'
			? ", whose commit waits for a standby"
			: "");
	PQclear(result);
	return (RC_OK);
}

/* Begins a transaction that holds the migration lock.  While another session
 * holds the lock, tries again every DB_WAITS_MS, and calls ${p}->waits (unless
 * it is NULL) before each pause.  RC_BUSY: the lock was not free within
 * DB_POSTGRES_MIGRATE_MS (10 minutes).  After any error no transaction is
 * open. */
static enum rc
begin_locked(struct db_postgres *p, struct err *err)
{
	const int64_t until =
	    clk_mono_ms(clk_system()) + DB_POSTGRES_MIGRATE_MS;
	const struct timespec pause = {.tv_nsec = DB_WAITS_MS * 1000000L};
	char what[WHAT_SIZE];
	int64_t held;
	enum rc rc;

	for (;;) {
		rc = db_postgres_query_i64(p, begin_locked_sql, &held, err);
		if (rc == RC_OK && held == 1)
			return (RC_OK);
		if (rc == RC_OK)
			rc = find_holder(p, what, err);
		db_rollback(&p->db);
		if (rc != RC_OK)
			return (rc);
		if (clk_mono_ms(clk_system()) >= until)
			return (err_set(
			    err, RC_BUSY, "waited too long for %s", what));
		if (p->waits != NULL)
			p->waits(p->waits_arg, what);
		(void)nanosleep(&pause, NULL);
	}
}

/* ---- migrations ---- */

/* Applies ${m} in the open transaction, which holds the lock, and commits. */
static enum rc
apply_one(struct db_postgres *p, const struct sql_migration *m, int64_t now_ms,
    struct err *err)
{
	char insert[192];
	enum rc rc;

	rc = db_postgres_exec(p,
	    "CREATE TABLE IF NOT EXISTS schema_migrations (number BIGINT "
	    "PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL)",
	    NULL, err);
	if (rc == RC_OK)
		rc = db_postgres_exec(p, m->text, NULL, err);
	(void)snprintf(insert, sizeof(insert),
	    "INSERT INTO schema_migrations VALUES (%d, '%s', %lld)", m->number,
	    m->name, (long long)now_ms);
	if (rc == RC_OK)
		rc = db_postgres_exec(p, insert, NULL, err);
	/* The commit has the normal time-out (db_answer), not the 10 minutes of
	 * the other statements.  A commit that takes longer probably waits for
	 * a standby: it fails here; the start of the server logs whether
	 * commits wait for a standby, and tries again (main/opening.c). */
	p->patience_ms = p->timing->db_answer_ms;
	if (rc == RC_OK)
		rc = db_commit(&p->db, err);
	p->patience_ms = DB_POSTGRES_MIGRATE_MS;
	if (rc != RC_OK) {
		if (err != NULL && strlen(err->text) > 160)
			err->text[160] = '\0';
		(void)err_wrap(err, "migration %d (%s)", m->number, m->name);
	}
	return (rc);
}

/* The migration after number ${number}; the caller has checked that there is
 * one. */
static const struct sql_migration *
next_of(const struct db_schema *schema, int number)
{
	const struct sql_migration *m = schema->migrations;

	while (m->number <= number)
		m++;
	return (m);
}

/* Takes the migration lock, runs the first migration that the database lacks,
 * and commits.  Runs none if other nodes have run all of them meanwhile.
 * *ret_has, *ret_done: the schema number before and after, if RC_OK. */
static enum rc
migrate_next(
    struct db *db, int64_t now_ms, int *ret_has, int *ret_done, struct err *err)
{
	const struct sql_migration *m;
	int newest;
	enum rc rc;

	if ((rc = begin_locked(db_postgres_of(db), err)) != RC_OK)
		return (rc);
	rc = schema_number(db, ret_has, &newest, err);
	*ret_done = *ret_has;
	if (rc == RC_OK && *ret_has < newest) {
		m = next_of(db->schema, *ret_has);
		*ret_done = m->number;
		rc = apply_one(db_postgres_of(db), m, now_ms, err);
	}
	db_rollback(db);
	return (rc);
}

static enum rc
migrate_all(
    struct db *db, int64_t now_ms, int *ret_from, int *ret_to, struct err *err)
{
	int has, done = 0;
	bool first = true;
	enum rc rc;

	rc = schema_number(db, ret_from, ret_to, err);
	for (done = *ret_from; rc == RC_OK && done < *ret_to; first = false) {
		rc = migrate_next(db, now_ms, &has, &done, err);
		if (rc == RC_OK && first)
			*ret_from = has;
	}
	return (rc);
}

enum rc
db_postgres_migrate(
    struct db *db, int64_t now_ms, int *ret_from, int *ret_to, struct err *err)
{
	struct db_postgres *p = db_postgres_of(db);
	enum rc rc;

	if ((rc = db_postgres_connect(p, err)) != RC_OK)
		return (rc);
	p->patience_ms = DB_POSTGRES_MIGRATE_MS;
	rc = migrate_all(db, now_ms, ret_from, ret_to, err);
	p->patience_ms = p->timing->db_answer_ms;
	/* Statements that were prepared before may refer to tables that have
	 * changed. */
	db_postgres_drop(p);
	return (rc == RC_OK ? db_postgres_connect(p, err) : rc);
}

/* ---- for tests ---- */

/* Runs EXPLAIN for statement ${id}, with NULL for each parameter. */
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
db_postgres_describe(struct db *db, int id, struct db_description *ret,
    char *plan, size_t plan_size, struct err *err)
{
	const char *name = db->schema->statements[id].name;
	struct db_postgres *p = db_postgres_of(db);
	struct db_postgres_stmt *st;
	PGresult *result;
	enum rc rc;
	int i;

	rc = db_postgres_connect(p, err);
	if (rc == RC_OK)
		rc = db_postgres_prepare(p, id, &st, err);
	if (rc == RC_OK)
		rc = db_postgres_await_result(p,
		    PQsendDescribePrepared(p->conn, name) == 1, name, &result,
		    err);
	if (rc != RC_OK)
		return (rc);
	ret->nparams = PQnparams(result);
	for (i = 0; i < PQnfields(result); i++)
		db_describe_column(ret, PQfname(result, i));
	PQclear(result);
	return (plan == NULL
		    ? RC_OK
		    : explain(p, id, st->nparams, plan, plan_size, err));
}
