/* SPDX-License-Identifier: MIT */
/*
 * The database seam over SQLite: what it refuses to open, what goes in and out
 * of a statement, which result a failure becomes, what a reader sees, and who
 * moves the log.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

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

static const struct sql_text statements[NSTMT] = {
    [S_INSERT] = {"insert", "INSERT INTO t (id, n, s, b) "
			    "VALUES ($1, $2, $3, $4)"},
    [S_GET] = {"get", "SELECT id, n, s, b FROM t WHERE id = $1"},
    [S_ALL] = {"all", "SELECT id FROM t ORDER BY id"},
    [S_COUNT] = {"count", "SELECT count(*) FROM t"},
    [S_SET] = {"set", "UPDATE t SET n = $2 WHERE id >= $1"},
    [S_ORDER] = {"order", "SELECT $2, $1, $2, $4"},
    [S_UNNAMED] = {"unnamed", "SELECT ?"},
    [S_FAR] = {"far", "SELECT $25"},
    [S_NO_SQL] = {"no_sql", "SELEC 1"},
    [S_PAGES] = {"pages", "PRAGMA max_page_count=40"},
    [S_IMPATIENT] = {"impatient", "PRAGMA busy_timeout=0"},
    [S_FILL] = {"fill", "INSERT INTO t (id, n, b) VALUES ($1, 0, "
			"randomblob(100000))"},
    [S_CHECK] = {"check", "PRAGMA integrity_check"},
    [S_SYNC] = {"sync", "PRAGMA synchronous"},
    [S_JOURNAL] = {"journal", "PRAGMA journal_mode"},
    [S_DROP] = {"drop", "DELETE FROM t"},
    [S_UPSERT] = {"upsert", "INSERT INTO t (id, n) VALUES ($1, 1) "
			    "ON CONFLICT (id) DO NOTHING"},
};

static const struct sql_migration migrations[] = {
    {1, "first", "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER NOT NULL "
		 "CHECK (n >= 0), s TEXT, b BLOB UNIQUE) STRICT;"},
    {2, "second", "CREATE TABLE u (id INTEGER PRIMARY KEY) STRICT;"
		  "INSERT INTO t (id, n) VALUES (1000, 7);"},
    {3, "third", "CREATE TABLE w (id INTEGER PRIMARY KEY) STRICT;"
		 "INSERT INTO nowhere (id) VALUES (1);"},
};

static const struct db_schema schema = {statements, NSTMT, migrations, 2};
static const struct db_schema older = {statements, NSTMT, migrations, 1};
static const struct db_schema broken = {statements, NSTMT, migrations, 3};

static enum rc
open_as(const char *url, enum db_mode mode, const struct db_schema *which,
    struct db **ret, struct err *err)
{
	struct db_options o = {0};

	o.url = url;
	o.mode = mode;
	o.sync = DB_SYNC_FULL;
	o.schema = which;
	return (db_open(&o, ret, err));
}

static struct db *
open_ready(const struct scratch *s)
{
	struct err err = ERR_INIT;
	struct db *db;
	int from, to;

	if (open_as(s->url, DB_WRITER, &schema, &db, &err) != RC_OK)
		fail_msg("%s", err.text);
	if (db_migrate(db, 1, &from, &to, &err) != RC_OK)
		fail_msg("%s", err.text);
	return (db);
}

static struct db *
open_reader(const struct scratch *s)
{
	struct err err = ERR_INIT;
	struct db *db;

	if (open_as(s->url, DB_READER, &schema, &db, &err) != RC_OK)
		fail_msg("%s", err.text);
	return (db);
}

static enum rc
take_number(void *arg, const struct db_row *row, struct err *err)
{

	(void)err;
	*(int64_t *)arg = db_row_i64(row, 0);
	return (RC_OK);
}

static int64_t
number(struct db *db, int stmt)
{
	struct err err = ERR_INIT;
	int64_t n = -1;

	if (db_run(db, stmt, NULL, 0, take_number, &n, NULL, &err) != RC_OK)
		fail_msg("%s", err.text);
	return (n);
}

static enum rc
insert(struct db *db, int64_t id, int64_t n, struct err *err)
{
	struct db_val v[4];

	v[0] = db_v_i64(id);
	v[1] = db_v_i64(n);
	v[2] = DB_V_NULL;
	v[3] = DB_V_NULL;
	return (db_run(db, S_INSERT, v, 4, NULL, NULL, NULL, err));
}

static void
outside(const char *path, const char *sql)
{
	sqlite3 *raw;

	assert_int_equal(sqlite3_open(path, &raw), SQLITE_OK);
	assert_int_equal(
	    sqlite3_exec(raw, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(raw), SQLITE_OK);
}

/* ---- opening ---- */

static void
test_bad_urls(void **state)
{
	static const char *const urls[] = {"", "/tmp/db", "mysql:x",
	    "postgresql://localhost/x", "postgres://x", "sqlite::memory:"};
	struct err err;
	struct db *db;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		err = (struct err)ERR_INIT;
		assert_int_equal(
		    open_as(urls[i], DB_WRITER, &schema, &db, &err),
		    RC_INVALID);
		assert_int_equal(err.rc, RC_INVALID);
		assert_true(err.text[0] != '\0');
	}
	/* The last one was ours to open, but it keeps no log. */
	assert_non_null(strstr(err.text, "write-ahead log"));
	db_close(NULL);
}

static void
test_missing_file(void **state)
{
	struct err err = ERR_INIT;
	struct scratch s;
	struct db *db;
	char url[128];

	(void)state;
	scratch_open(&s);
	(void)snprintf(url, sizeof(url), "%s/no/such/folder", s.url);
	assert_int_equal(
	    open_as(url, DB_WRITER, &schema, &db, &err), RC_IO);
	assert_true(err.ext != 0);
	/* A reader makes no file. */
	assert_int_equal(
	    open_as(s.url, DB_READER, &schema, &db, &err), RC_IO);
	assert_int_equal(scratch_size(s.path, ""), -1);
	scratch_close(&s);
}

/* Somebody else's file is refused and stays as it is, byte by byte. */
static void
test_foreign_files(void **state)
{
	static const char *const made[] = {"CREATE TABLE theirs (x)",
	    "PRAGMA application_id=12345; PRAGMA user_version=3"};
	struct err err;
	struct scratch s;
	struct db *db;
	char copy[128];
	size_t i;
	FILE *f;

	(void)state;
	scratch_open(&s);
	(void)snprintf(copy, sizeof(copy), "%s/copy", s.dir);
	for (i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
		(void)unlink(s.path);
		outside(s.path, made[i]);
		scratch_copy(s.path, copy);
		err = (struct err)ERR_INIT;
		assert_int_equal(
		    open_as(s.url, DB_WRITER, &schema, &db, &err), RC_INVALID);
		assert_non_null(strstr(err.text, "not one of twinbox"));
		assert_int_equal(
		    open_as(s.url, DB_READER, &schema, &db, &err), RC_INVALID);
		assert_true(scratch_same(s.path, copy));
	}
	f = fopen(s.path, "w");
	assert_non_null(f);
	for (i = 0; i < 500; i++)
		(void)fprintf(f, "this is a letter, not a database\n");
	(void)fclose(f);
	scratch_copy(s.path, copy);
	assert_int_equal(
	    open_as(s.url, DB_WRITER, &schema, &db, &err), RC_CORRUPT);
	assert_true(scratch_same(s.path, copy));
	scratch_close(&s);
}

static void
test_migrate(void **state)
{
	struct err err = ERR_INIT;
	struct scratch s;
	struct db *db;
	int from, to;

	(void)state;
	scratch_open(&s);
	assert_int_equal(open_as(s.url, DB_WRITER, &older, &db, &err), RC_OK);
	assert_int_equal(db_migrate(db, 1, &from, &to, &err), RC_OK);
	assert_int_equal(from, 0);
	assert_int_equal(to, 1);
	assert_int_equal(insert(db, 1, 1, &err), RC_OK);
	db_close(db);
	/* Only what is missing is run, on what is there. */
	assert_int_equal(open_as(s.url, DB_WRITER, &schema, &db, &err), RC_OK);
	assert_int_equal(db_migrate(db, 1, &from, &to, &err), RC_OK);
	assert_int_equal(from, 1);
	assert_int_equal(to, 2);
	assert_int_equal(number(db, S_COUNT), 2);
	assert_int_equal(db_migrate(db, 1, &from, &to, &err), RC_OK);
	assert_int_equal(from, 2);
	assert_int_equal(to, 2);
	assert_int_equal(number(db, S_COUNT), 2);
	db_close(db);
	/* A newer database is refused in one sentence. */
	assert_int_equal(open_as(s.url, DB_WRITER, &older, &db, &err), RC_OK);
	assert_int_equal(db_migrate(db, 1, &from, &to, &err), RC_INVALID);
	assert_non_null(strstr(err.text, "newer program"));
	db_close(db);
	/* One that fails leaves nothing of itself, and no number. */
	assert_int_equal(open_as(s.url, DB_WRITER, &broken, &db, &err), RC_OK);
	assert_int_not_equal(db_migrate(db, 1, &from, &to, &err), RC_OK);
	assert_non_null(strstr(err.text, "migration 3 (third)"));
	assert_false(db_in_transaction(db));
	db_close(db);
	outside(s.path, "CREATE TABLE w (id)");
	db = open_ready(&s);
	assert_int_equal(number(db, S_COUNT), 2);
	db_close(db);
	scratch_close(&s);
}

static enum rc
take_mode(void *arg, const struct db_row *row, struct err *err)
{

	(void)err;
	db_row_copy_text(row, 0, arg, 16);
	return (RC_OK);
}

/* Both kinds keep a log; the writer syncs each commit. */
static void
test_settings(void **state)
{
	struct err err = ERR_INIT;
	struct scratch s;
	struct db *w, *r;
	char mode[16];

	(void)state;
	scratch_open(&s);
	w = open_ready(&s);
	r = open_reader(&s);
	assert_int_equal(number(w, S_SYNC), 2);
	assert_int_equal(
	    db_run(w, S_JOURNAL, NULL, 0, take_mode, mode, NULL, &err), RC_OK);
	assert_string_equal(mode, "wal");
	assert_int_equal(
	    db_run(r, S_JOURNAL, NULL, 0, take_mode, mode, NULL, &err), RC_OK);
	assert_string_equal(mode, "wal");
	assert_int_equal(
	    db_run(w, S_CHECK, NULL, 0, take_mode, mode, NULL, &err), RC_OK);
	assert_string_equal(mode, "ok");
	db_close(r);
	db_close(w);
	scratch_close(&s);
}

/* ---- values ---- */

struct got {
	int rows;
	bool null[4];
	int64_t id, n;
	char text[64];
	size_t text_len;
	uint8_t blob[64];
	size_t blob_len;
	struct uuid uuid;
	char cut[4];
};

static enum rc
take_all(void *arg, const struct db_row *row, struct err *err)
{
	struct got *g = arg;
	const void *p;
	int i;

	(void)err;
	g->rows++;
	for (i = 0; i < 4; i++)
		g->null[i] = db_row_null(row, i);
	g->id = db_row_i64(row, 0);
	g->n = db_row_i64(row, 1);
	p = db_row_text(row, 2, &g->text_len);
	if (p != NULL)
		memcpy(g->text, p, g->text_len + 1);
	p = db_row_blob(row, 3, &g->blob_len);
	if (p != NULL)
		memcpy(g->blob, p, g->blob_len);
	g->uuid = db_row_uuid(row, 3);
	db_row_copy_text(row, 2, g->cut, sizeof(g->cut));
	return (RC_OK);
}

static struct got
round_trip(struct db *db, int64_t n, struct db_val text, struct db_val blob)
{
	struct err err = ERR_INIT;
	struct db_val v[4];
	struct got g;
	int64_t changed;

	assert_int_equal(
	    db_run(db, S_DROP, NULL, 0, NULL, NULL, NULL, &err), RC_OK);
	v[0] = db_v_i64(INT64_MIN);
	v[1] = db_v_i64(n);
	v[2] = text;
	v[3] = blob;
	changed = -1;
	if (db_run(db, S_INSERT, v, 4, NULL, NULL, &changed, &err) != RC_OK)
		fail_msg("%s", err.text);
	assert_int_equal(changed, 1);
	memset(&g, 0, sizeof(g));
	assert_int_equal(
	    db_run(db, S_GET, v, 1, take_all, &g, NULL, &err), RC_OK);
	assert_int_equal(g.rows, 1);
	assert_true(g.id == INT64_MIN);
	return (g);
}

static void
test_values(void **state)
{
	struct uuid u, nil;
	struct scratch s;
	struct got g;
	struct db *db;

	(void)state;
	memset(&u, 7, sizeof(u));
	memset(&nil, 0, sizeof(nil));
	scratch_open(&s);
	db = open_ready(&s);
	g = round_trip(
	    db, INT64_MAX, db_v_text("a\0b", 3), db_v_uuid(&u));
	assert_true(g.n == INT64_MAX);
	assert_int_equal(g.text_len, 3);
	assert_memory_equal(g.text, "a\0b", 4);
	assert_int_equal(g.blob_len, 16);
	assert_true(uuid_equal(&g.uuid, &u));
	g = round_trip(db, 0, db_v_str("caf\xc3\xa9"), db_v_blob("xyz", 3));
	assert_string_equal(g.text, "caf\xc3\xa9");
	assert_string_equal(g.cut, "caf");
	assert_int_equal(g.blob_len, 3);
	assert_true(uuid_equal(&g.uuid, &nil));
	/* Empty is not absent. */
	g = round_trip(db, 0, db_v_str(""), db_v_blob(NULL, 0));
	assert_false(g.null[2]);
	assert_false(g.null[3]);
	assert_int_equal(g.text_len, 0);
	assert_int_equal(g.blob_len, 0);
	g = round_trip(db, 0, db_v_text(NULL, 0), db_v_i64_or_null(4, 4));
	assert_false(g.null[2]);
	assert_true(g.null[3]);
	g = round_trip(db, 0, db_v_str(NULL), DB_V_NULL);
	assert_false(g.null[0]);
	assert_true(g.null[2]);
	assert_true(g.null[3]);
	assert_int_equal(g.text_len, 0);
	assert_int_equal(g.blob_len, 0);
	assert_string_equal(g.cut, "");
	assert_true(uuid_equal(&g.uuid, &nil));
	db_close(db);
	scratch_close(&s);
}

static enum rc
take_four(void *arg, const struct db_row *row, struct err *err)
{
	int64_t *v = arg;
	int i;

	(void)err;
	for (i = 0; i < 4; i++)
		v[i] = db_row_i64(row, i);
	return (RC_OK);
}

/* $n is params[n - 1], wherever and however often it stands. */
static void
test_parameters(void **state)
{
	struct err err = ERR_INIT;
	struct db_val v[25];
	int64_t got[4];
	struct scratch s;
	struct db *db;
	size_t i;

	(void)state;
	for (i = 0; i < 25; i++)
		v[i] = db_v_i64((int64_t)i + 1);
	scratch_open(&s);
	db = open_ready(&s);
	assert_int_equal(
	    db_run(db, S_ORDER, v, 4, take_four, got, NULL, &err), RC_OK);
	assert_int_equal(got[0], 2);
	assert_int_equal(got[1], 1);
	assert_int_equal(got[2], 2);
	assert_int_equal(got[3], 4);
	assert_int_equal(db_run(db, S_ORDER, v, 3, NULL, NULL, NULL, &err),
	    RC_INTERNAL);
	assert_non_null(strstr(err.text, "order: 3 parameters for 4"));
	assert_int_equal(db_run(db, S_UNNAMED, v, 1, NULL, NULL, NULL, &err),
	    RC_INTERNAL);
	assert_int_equal(
	    db_run(db, S_FAR, v, 25, NULL, NULL, NULL, &err), RC_INTERNAL);
	assert_int_equal(db_run(db, S_NO_SQL, NULL, 0, NULL, NULL, NULL, &err),
	    RC_INTERNAL);
	assert_non_null(strstr(err.text, "no_sql"));
	db_close(db);
	scratch_close(&s);
}

static void
test_exec_many(void **state)
{
	struct db_val v[4 * 4], two[2];
	struct err err = ERR_INIT;
	struct scratch s;
	struct db *db;
	int64_t changed;
	uint64_t before;
	int i;

	(void)state;
	scratch_open(&s);
	db = open_ready(&s);
	for (i = 0; i < 4; i++) {
		v[i * 4] = db_v_i64(i + 1);
		v[i * 4 + 1] = db_v_i64(0);
		v[i * 4 + 2] = DB_V_NULL;
		v[i * 4 + 3] = DB_V_NULL;
	}
	before = db_statements(db);
	changed = -1;
	assert_int_equal(
	    db_exec_many(db, S_INSERT, v, 4, 0, &changed, &err), RC_OK);
	assert_int_equal(changed, 0);
	assert_int_equal(
	    db_exec_many(db, S_INSERT, v, 4, 4, &changed, &err), RC_OK);
	assert_int_equal(changed, 4);
	assert_int_equal(db_statements(db) - before, 4);
	/* Rows changed in all, not by the last: 5, 4, 3 and the one of 1000. */
	for (i = 0; i < 3; i++) {
		v[i * 2] = db_v_i64(i + 1);
		v[i * 2 + 1] = db_v_i64(9);
	}
	assert_int_equal(
	    db_exec_many(db, S_SET, v, 2, 3, &changed, &err), RC_OK);
	assert_int_equal(changed, 5 + 4 + 3);
	/* The first error ends it; what was before it stays to be undone. */
	assert_int_equal(db_begin(db, &err), RC_OK);
	for (i = 0; i < 3; i++) {
		v[i * 4] = db_v_i64(i == 1 ? 4 : 10 + i);
		v[i * 4 + 1] = db_v_i64(0);
		v[i * 4 + 2] = DB_V_NULL;
		v[i * 4 + 3] = DB_V_NULL;
	}
	assert_int_equal(
	    db_exec_many(db, S_INSERT, v, 4, 3, NULL, &err), RC_EXISTS);
	assert_int_equal(number(db, S_COUNT), 6);
	assert_true(db_in_transaction(db));
	db_rollback(db);
	assert_int_equal(number(db, S_COUNT), 5);
	/* A row that changes nothing counts as nothing. */
	two[0] = db_v_i64(1);
	two[1] = db_v_i64(20);
	assert_int_equal(
	    db_exec_many(db, S_UPSERT, two, 1, 2, &changed, &err), RC_OK);
	assert_int_equal(changed, 1);
	db_close(db);
	scratch_close(&s);
}

/* ---- results ---- */

static void
test_constraints(void **state)
{
	struct err err = ERR_INIT;
	struct db_val v[4];
	struct scratch s;
	struct db *db;

	(void)state;
	scratch_open(&s);
	db = open_ready(&s);
	v[0] = db_v_i64(1);
	v[1] = db_v_i64(1);
	v[2] = DB_V_NULL;
	v[3] = db_v_blob("x", 1);
	assert_int_equal(
	    db_run(db, S_INSERT, v, 4, NULL, NULL, NULL, &err), RC_OK);
	/* The primary key, and another unique column. */
	assert_int_equal(
	    db_run(db, S_INSERT, v, 4, NULL, NULL, NULL, &err), RC_EXISTS);
	assert_int_equal(err.rc, RC_EXISTS);
	assert_int_equal(err.ext & 0xff, SQLITE_CONSTRAINT);
	v[0] = db_v_i64(2);
	assert_int_equal(
	    db_run(db, S_INSERT, v, 4, NULL, NULL, NULL, &err), RC_EXISTS);
	/* Any other constraint is our own mistake. */
	v[1] = db_v_i64(-1);
	v[3] = DB_V_NULL;
	assert_int_equal(
	    db_run(db, S_INSERT, v, 4, NULL, NULL, NULL, &err), RC_INTERNAL);
	v[1] = DB_V_NULL;
	assert_int_equal(
	    db_run(db, S_INSERT, v, 4, NULL, NULL, NULL, &err), RC_INTERNAL);
	/* STRICT: a text is no number. */
	v[1] = db_v_str("many");
	assert_int_equal(
	    db_run(db, S_INSERT, v, 4, NULL, NULL, NULL, &err), RC_INTERNAL);
	assert_int_equal(number(db, S_COUNT), 2);
	db_close(db);
	scratch_close(&s);
}

static enum rc
give_up(void *arg, const struct db_row *row, struct err *err)
{

	(void)row;
	++*(int *)arg;
	return (err_set(err, RC_LIMIT, "enough"));
}

/* What a callback returns comes out, and the statement can be run again. */
static void
test_callback_result(void **state)
{
	struct err err = ERR_INIT;
	struct scratch s;
	struct db *db;
	int i, rows;

	(void)state;
	scratch_open(&s);
	db = open_ready(&s);
	assert_int_equal(insert(db, 1, 1, &err), RC_OK);
	for (i = 0; i < 2; i++) {
		rows = 0;
		assert_int_equal(
		    db_run(db, S_ALL, NULL, 0, give_up, &rows, NULL, &err),
		    RC_LIMIT);
		assert_int_equal(rows, 1);
		assert_string_equal(err.text, "enough");
	}
	/* It holds no snapshot: the log can be emptied. */
	assert_int_equal(insert(db, 2, 1, &err), RC_OK);
	assert_int_equal(db_checkpoint(db, true, NULL, &err), RC_OK);
	db_close(db);
	scratch_close(&s);
}

/* No room: RC_FULL, and the database has rolled back by itself. */
static void
test_full(void **state)
{
	struct err err = ERR_INIT;
	struct scratch s;
	struct db_val v;
	struct db *db;
	int64_t i;
	enum rc rc;

	(void)state;
	scratch_open(&s);
	db = open_ready(&s);
	assert_int_equal(number(db, S_PAGES), 40);
	assert_int_equal(db_begin(db, &err), RC_OK);
	assert_true(db_in_transaction(db));
	rc = RC_OK;
	for (i = 1; i < 10 && rc == RC_OK; i++) {
		v = db_v_i64(i);
		rc = db_run(db, S_FILL, &v, 1, NULL, NULL, NULL, &err);
	}
	assert_int_equal(rc, RC_FULL);
	assert_false(db_in_transaction(db));
	db_rollback(db);
	assert_int_equal(number(db, S_COUNT), 1);
	assert_int_equal(insert(db, 1, 1, &err), RC_OK);
	db_close(db);
	scratch_close(&s);
}

static void
test_busy(void **state)
{
	struct err err = ERR_INIT;
	struct scratch s;
	struct db *a, *b;

	(void)state;
	scratch_open(&s);
	a = open_ready(&s);
	assert_int_equal(
	    open_as(s.url, DB_WRITER, &schema, &b, &err), RC_OK);
	assert_int_equal(number(b, S_IMPATIENT), 0);
	assert_int_equal(db_begin(a, &err), RC_OK);
	/* BEGIN IMMEDIATE: it is refused at once, not at the first write. */
	assert_int_equal(db_begin(b, &err), RC_BUSY);
	assert_false(db_in_transaction(b));
	assert_int_equal(insert(b, 1, 1, &err), RC_BUSY);
	assert_int_equal(db_commit(a, &err), RC_OK);
	assert_int_equal(db_begin(b, &err), RC_OK);
	/* A second begin is a mistake of ours, and leaves the first open. */
	assert_int_equal(db_begin(b, &err), RC_INTERNAL);
	assert_true(db_in_transaction(b));
	assert_int_equal(db_commit(b, &err), RC_OK);
	assert_int_equal(db_commit(b, &err), RC_INTERNAL);
	db_close(b);
	db_close(a);
	scratch_close(&s);
}

static void
test_close_rolls_back(void **state)
{
	struct err err = ERR_INIT;
	struct scratch s;
	struct db *db;

	(void)state;
	scratch_open(&s);
	db = open_ready(&s);
	assert_int_equal(db_begin(db, &err), RC_OK);
	assert_int_equal(insert(db, 1, 1, &err), RC_OK);
	db_close(db);
	db = open_ready(&s);
	assert_int_equal(number(db, S_COUNT), 1);
	db_rollback(db);
	db_close(db);
	scratch_close(&s);
}

/* ---- readers ---- */

static void
test_reader_cannot_write(void **state)
{
	struct err err = ERR_INIT;
	struct scratch s;
	struct db *w, *r;

	(void)state;
	scratch_open(&s);
	w = open_ready(&s);
	r = open_reader(&s);
	assert_int_equal(number(r, S_COUNT), 1);
	assert_int_equal(insert(r, 1, 1, &err), RC_IO);
	assert_int_equal(
	    db_run(r, S_DROP, NULL, 0, NULL, NULL, NULL, &err), RC_IO);
	assert_int_not_equal(db_checkpoint(r, false, NULL, &err), RC_OK);
	assert_int_not_equal(db_checkpoint(r, true, NULL, &err), RC_OK);
	assert_int_equal(number(w, S_COUNT), 1);
	db_close(r);
	db_close(w);
	scratch_close(&s);
}

/* A reader sees what is committed, and within a transaction one moment. */
static void
test_snapshot(void **state)
{
	struct err err = ERR_INIT;
	struct scratch s;
	struct db *w, *r;

	(void)state;
	scratch_open(&s);
	w = open_ready(&s);
	r = open_reader(&s);
	assert_int_equal(db_begin(w, &err), RC_OK);
	assert_int_equal(insert(w, 1, 1, &err), RC_OK);
	assert_int_equal(number(w, S_COUNT), 2);
	assert_int_equal(number(r, S_COUNT), 1);
	assert_int_equal(db_begin(r, &err), RC_OK);
	assert_int_equal(number(r, S_COUNT), 1);
	assert_int_equal(db_commit(w, &err), RC_OK);
	assert_int_equal(number(r, S_COUNT), 1);
	assert_int_equal(insert(w, 2, 1, &err), RC_OK);
	assert_int_equal(number(r, S_COUNT), 1);
	db_rollback(r);
	assert_int_equal(number(r, S_COUNT), 3);
	db_close(r);
	db_close(w);
	scratch_close(&s);
}

/* A reader that is the last to close leaves the log as it is. */
static void
test_reader_leaves_log(void **state)
{
	char path[2][128], log[2][128], url[160];
	struct err err = ERR_INIT;
	struct scratch s;
	struct db *w, *r;
	int64_t id;

	(void)state;
	scratch_open(&s);
	w = open_ready(&s);
	for (id = 1; id <= 50; id++)
		assert_int_equal(insert(w, id, 1, &err), RC_OK);
	/* As after a crash: the file and its log, and nobody there. */
	(void)snprintf(path[0], sizeof(path[0]), "%s/crashed", s.dir);
	(void)snprintf(log[0], sizeof(log[0]), "%s/crashed-wal", s.dir);
	(void)snprintf(path[1], sizeof(path[1]), "%s/copy", s.dir);
	(void)snprintf(log[1], sizeof(log[1]), "%s/copy-wal", s.dir);
	scratch_copy(s.path, path[0]);
	scratch_copy(s.path, path[1]);
	(void)snprintf(url, sizeof(url), "%s-wal", s.path);
	scratch_copy(url, log[0]);
	scratch_copy(url, log[1]);
	assert_true(scratch_size(log[0], "") > 50 * 4096);
	(void)snprintf(url, sizeof(url), "sqlite:%s", path[0]);
	assert_int_equal(
	    open_as(url, DB_READER, &schema, &r, &err), RC_OK);
	assert_int_equal(number(r, S_COUNT), 51);
	db_close(r);
	assert_true(scratch_same(path[0], path[1]));
	assert_true(scratch_same(log[0], log[1]));
	/* The writer, closing last, moves it. */
	assert_int_equal(
	    open_as(url, DB_WRITER, &schema, &r, &err), RC_OK);
	assert_int_equal(number(r, S_COUNT), 51);
	db_close(r);
	assert_false(scratch_same(path[0], path[1]));
	assert_int_equal(scratch_size(log[0], ""), -1);
	db_close(w);
	scratch_close(&s);
}

/* ---- the log ---- */

static void
test_checkpoint(void **state)
{
	struct err err = ERR_INIT;
	struct db_checkpoint cp;
	struct scratch s;
	struct db *w, *r;
	int64_t id, bytes;

	(void)state;
	scratch_open(&s);
	w = open_ready(&s);
	r = open_reader(&s);
	bytes = db_log_bytes(w);
	assert_true(bytes > 0);
	for (id = 1; id <= 20; id++)
		assert_int_equal(insert(w, id, 1, &err), RC_OK);
	assert_true(db_log_bytes(w) > bytes);
	/* No commit moves the log by itself. */
	assert_true(
	    scratch_size(s.path, "-wal") >= db_log_bytes(w));
	/* A snapshot holds back what came after it. */
	assert_int_equal(db_begin(r, &err), RC_OK);
	assert_int_equal(number(r, S_COUNT), 21);
	for (id = 21; id <= 30; id++)
		assert_int_equal(insert(w, id, 1, &err), RC_OK);
	assert_int_equal(db_checkpoint(w, false, &cp, &err), RC_OK);
	assert_true(cp.done_frames > 0);
	assert_true(cp.done_frames < cp.log_frames);
	assert_int_equal(number(r, S_COUNT), 21);
	db_rollback(r);
	assert_int_equal(db_checkpoint(w, false, &cp, &err), RC_OK);
	assert_int_equal(cp.done_frames, cp.log_frames);
	/* Then the log begins anew, and is no longer than what is new. */
	assert_int_equal(insert(w, 31, 1, &err), RC_OK);
	assert_true(db_log_bytes(w) <= bytes);
	assert_int_equal(db_checkpoint(w, true, &cp, &err), RC_OK);
	assert_int_equal(scratch_size(s.path, "-wal"), 0);
	assert_int_equal(db_log_bytes(w), 0);
	assert_int_equal(number(r, S_COUNT), 32);
	db_close(r);
	db_close(w);
	scratch_close(&s);
}

static void
test_describe(void **state)
{
	struct err err = ERR_INIT;
	struct scratch s;
	struct db *db;
	char plan[200];
	int params, columns;

	(void)state;
	scratch_open(&s);
	db = open_ready(&s);
	assert_int_equal(db_describe(db, S_GET, &params, &columns, plan,
			     sizeof(plan), &err),
	    RC_OK);
	assert_int_equal(params, 1);
	assert_int_equal(columns, 4);
	assert_non_null(strstr(plan, "SEARCH t USING INTEGER PRIMARY KEY"));
	assert_int_equal(
	    db_describe(db, S_ALL, &params, &columns, plan, 6, &err), RC_OK);
	assert_string_equal(plan, "SCAN ");
	assert_int_equal(
	    db_describe(db, S_INSERT, &params, &columns, NULL, 0, &err),
	    RC_OK);
	assert_int_equal(params, 4);
	assert_int_equal(columns, 0);
	assert_int_equal(
	    db_describe(db, S_NO_SQL, &params, &columns, NULL, 0, &err),
	    RC_INTERNAL);
	db_close(db);
	scratch_close(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_bad_urls),
	    cmocka_unit_test(test_missing_file),
	    cmocka_unit_test(test_foreign_files),
	    cmocka_unit_test(test_migrate),
	    cmocka_unit_test(test_settings),
	    cmocka_unit_test(test_values),
	    cmocka_unit_test(test_parameters),
	    cmocka_unit_test(test_exec_many),
	    cmocka_unit_test(test_constraints),
	    cmocka_unit_test(test_callback_result),
	    cmocka_unit_test(test_full),
	    cmocka_unit_test(test_busy),
	    cmocka_unit_test(test_close_rolls_back),
	    cmocka_unit_test(test_reader_cannot_write),
	    cmocka_unit_test(test_snapshot),
	    cmocka_unit_test(test_reader_leaves_log),
	    cmocka_unit_test(test_checkpoint),
	    cmocka_unit_test(test_describe),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
