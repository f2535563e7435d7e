/* SPDX-License-Identifier: MIT */
/*
 * See db_fixture.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/db_fixture.h"

static const struct sql_text statements[NSTMT] = {
    [S_INSERT] = {"insert",
	"INSERT INTO t (id, n, s, b) "
	"VALUES ($1, $2, $3, $4)",
	NULL},
    [S_GET] = {"get", "SELECT id, n, s, b FROM t WHERE id = $1", NULL},
    [S_ALL] = {"all", "SELECT id FROM t ORDER BY id", NULL},
    [S_COUNT] = {"count", "SELECT count(*) FROM t", NULL},
    [S_SET] = {"set", "UPDATE t SET n = $2 WHERE id >= $1", NULL},
    [S_ORDER] = {"order", "SELECT $2, $1, $2, $4", NULL},
    [S_UNNAMED] = {"unnamed", "SELECT ?", NULL},
    [S_FAR] = {"far", "SELECT $33", NULL},
    [S_NO_SQL] = {"no_sql", "SELEC 1", NULL},
    [S_PAGES] = {"pages", "PRAGMA max_page_count=40", NULL},
    [S_IMPATIENT] = {"impatient", "PRAGMA busy_timeout=0", NULL},
    [S_FILL] = {"fill",
	"INSERT INTO t (id, n, b) VALUES ($1, 0, "
	"randomblob(100000))",
	NULL},
    [S_CHECK] = {"check", "PRAGMA integrity_check", NULL},
    [S_SYNC] = {"sync", "PRAGMA synchronous", NULL},
    [S_JOURNAL] = {"journal", "PRAGMA journal_mode", NULL},
    [S_DROP] = {"drop", "DELETE FROM t", NULL},
    [S_UPSERT] = {"upsert",
	"INSERT INTO t (id, n) VALUES ($1, 1) "
	"ON CONFLICT (id) DO NOTHING",
	NULL},
};

static const struct sql_migration migrations[] = {
    {1, "first",
	"CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER NOT NULL "
	"CHECK (n >= 0), s TEXT, b BLOB UNIQUE) STRICT;"},
    {2, "second",
	"CREATE TABLE u (id INTEGER PRIMARY KEY) STRICT;"
	"INSERT INTO t (id, n) VALUES (1000, 7);"},
    {3, "third",
	"CREATE TABLE w (id INTEGER PRIMARY KEY) STRICT;"
	"INSERT INTO nowhere (id) VALUES (1);"},
};

const struct db_schema db_fixture_schema = {statements, NSTMT, migrations, 2};
const struct db_schema db_fixture_older = {statements, NSTMT, migrations, 1};
const struct db_schema db_fixture_broken = {statements, NSTMT, migrations, 3};

static struct db_options
options_for(const char *url, enum db_mode mode, const struct db_schema *which)
{

	return ((struct db_options){
	    .url = url, .mode = mode, .sync = DB_SYNC_FULL, .schema = which});
}

enum rc
db_fixture_open(const char *url, enum db_mode mode,
    const struct db_schema *which, struct db **ret, struct err *err)
{
	const struct db_options o = options_for(url, mode, which);

	return (db_open(&o, ret, err));
}

struct db *
db_fixture_with(const struct db_options *o)
{
	struct err err = ERR_INIT;
	struct db *db;
	int from, to;

	if (db_open(o, &db, &err) != RC_OK)
		fail_msg("%s", err.text);
	if (o->mode == DB_WRITER &&
	    db_migrate(db, 1, &from, &to, &err) != RC_OK)
		fail_msg("%s", err.text);
	return (db);
}

struct db *
db_fixture_ready(const struct scratch *s)
{
	const struct db_options o =
	    options_for(s->url, DB_WRITER, &db_fixture_schema);

	return (db_fixture_with(&o));
}

struct db *
db_fixture_reader(const struct scratch *s)
{
	const struct db_options o =
	    options_for(s->url, DB_READER, &db_fixture_schema);

	return (db_fixture_with(&o));
}

static enum rc
take_number(void *arg, const struct db_row *row, struct err *err)
{

	(void)err;
	*(int64_t *)arg = db_row_i64(row, 0);
	return (RC_OK);
}

int64_t
db_fixture_number(struct db *db, int stmt)
{
	struct err err = ERR_INIT;
	int64_t n = -1;

	if (db_run(db, stmt, NULL, 0, take_number, &n, NULL, &err) != RC_OK)
		fail_msg("%s", err.text);
	return (n);
}

enum rc
db_fixture_insert(struct db *db, int64_t id, int64_t n, struct err *err)
{
	struct db_val v[4];

	v[0] = db_v_i64(id);
	v[1] = db_v_i64(n);
	v[2] = DB_V_NULL;
	v[3] = DB_V_NULL;
	return (db_run(db, S_INSERT, v, 4, NULL, NULL, NULL, err));
}
