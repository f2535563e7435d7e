/* SPDX-License-Identifier: MIT */
/*
 * The database seam over SQLite: files that it refuses to open, migrations,
 * what a reader sees, and checkpoints of the log.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "unit/db_fixture.h"

static void
outside(const char *path, const char *sql)
{
	sqlite3 *raw;

	assert_int_equal(sqlite3_open(path, &raw), SQLITE_OK);
	assert_int_equal(sqlite3_exec(raw, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(raw), SQLITE_OK);
}

/* ---- opening ---- */

static void
test_bad_urls(void **state)
{
	static const char *const urls[] = {"", "/tmp/db", "mysql:x",
	    "postgresql:x", "pg://x", "sqlite::memory:"};
	struct err err;
	struct db *db;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		err = (struct err)ERR_INIT;
		assert_int_equal(db_fixture_open(urls[i], DB_WRITER,
				     &db_fixture_schema, &db, &err),
		    RC_INVALID);
		assert_int_equal(err.rc, RC_INVALID);
		assert_true(err.text[0] != '\0');
	}
	/* The last URL is an in-memory database, which cannot have a
	 * write-ahead log. */
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
	    db_fixture_open(url, DB_WRITER, &db_fixture_schema, &db, &err),
	    RC_NOT_FOUND);
	assert_true(err.ext != 0);
	/* A reader does not create a file. */
	assert_int_equal(
	    db_fixture_open(s.url, DB_READER, &db_fixture_schema, &db, &err),
	    RC_NOT_FOUND);
	assert_int_equal(scratch_size(s.path, ""), -1);
	scratch_close(&s);
}

/* A file of another program is refused and stays byte for byte as it is. */
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
		assert_int_equal(db_fixture_open(s.url, DB_WRITER,
				     &db_fixture_schema, &db, &err),
		    RC_INVALID);
		assert_non_null(strstr(err.text, "not one of twinbox"));
		assert_int_equal(db_fixture_open(s.url, DB_READER,
				     &db_fixture_schema, &db, &err),
		    RC_INVALID);
		assert_true(scratch_same(s.path, copy));
	}
	f = fopen(s.path, "w");
	assert_non_null(f);
	for (i = 0; i < 500; i++)
		(void)fprintf(f, "this is a letter, not a database\n");
	(void)fclose(f);
	scratch_copy(s.path, copy);
	assert_int_equal(
	    db_fixture_open(s.url, DB_WRITER, &db_fixture_schema, &db, &err),
	    RC_CORRUPT);
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
	assert_int_equal(
	    db_fixture_open(s.url, DB_WRITER, &db_fixture_older, &db, &err),
	    RC_OK);
	assert_int_equal(db_migrate(db, 1, &from, &to, &err), RC_OK);
	assert_int_equal(from, 0);
	assert_int_equal(to, 1);
	assert_int_equal(db_fixture_insert(db, 1, 1, &err), RC_OK);
	db_close(db);
	/* Only the missing migration runs, and existing rows stay. */
	assert_int_equal(
	    db_fixture_open(s.url, DB_WRITER, &db_fixture_schema, &db, &err),
	    RC_OK);
	assert_int_equal(db_migrate(db, 1, &from, &to, &err), RC_OK);
	assert_int_equal(from, 1);
	assert_int_equal(to, 2);
	assert_int_equal(db_fixture_number(db, S_COUNT), 2);
	assert_int_equal(db_migrate(db, 1, &from, &to, &err), RC_OK);
	assert_int_equal(from, 2);
	assert_int_equal(to, 2);
	assert_int_equal(db_fixture_number(db, S_COUNT), 2);
	db_close(db);
	/* A database of a newer program is refused, with an error that says
	 * so. */
	assert_int_equal(
	    db_fixture_open(s.url, DB_WRITER, &db_fixture_older, &db, &err),
	    RC_OK);
	assert_int_equal(db_migrate(db, 1, &from, &to, &err), RC_INVALID);
	assert_non_null(strstr(err.text, "newer program"));
	db_close(db);
	/* A migration that fails leaves no change behind, and no version
	 * number. */
	assert_int_equal(
	    db_fixture_open(s.url, DB_WRITER, &db_fixture_broken, &db, &err),
	    RC_OK);
	assert_int_not_equal(db_migrate(db, 1, &from, &to, &err), RC_OK);
	assert_non_null(strstr(err.text, "migration 3 (third)"));
	assert_false(db_in_transaction(db));
	db_close(db);
	outside(s.path, "CREATE TABLE w (id)");
	db = db_fixture_ready(&s);
	assert_int_equal(db_fixture_number(db, S_COUNT), 2);
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

/* Both kinds of connection keep a log.  The writer syncs each commit. */
static void
test_settings(void **state)
{
	struct err err = ERR_INIT;
	struct scratch s;
	struct db *w, *r;
	char mode[16];

	(void)state;
	scratch_open(&s);
	w = db_fixture_ready(&s);
	r = db_fixture_reader(&s);
	assert_int_equal(db_fixture_number(w, S_SYNC), 2);
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

/* ---- readers ---- */

static void
test_reader_cannot_write(void **state)
{
	struct err err = ERR_INIT;
	struct scratch s;
	struct db *w, *r;

	(void)state;
	scratch_open(&s);
	w = db_fixture_ready(&s);
	r = db_fixture_reader(&s);
	assert_int_equal(db_fixture_number(r, S_COUNT), 1);
	assert_int_equal(db_fixture_insert(r, 1, 1, &err), RC_IO);
	assert_int_equal(
	    db_run(r, S_DROP, NULL, 0, NULL, NULL, NULL, &err), RC_IO);
	assert_int_not_equal(db_checkpoint(r, false, NULL, &err), RC_OK);
	assert_int_not_equal(db_checkpoint(r, true, NULL, &err), RC_OK);
	assert_int_equal(db_fixture_number(w, S_COUNT), 1);
	db_close(r);
	db_close(w);
	scratch_close(&s);
}

/* A reader sees committed rows, and within a transaction those of one
 * moment. */
static void
test_snapshot(void **state)
{
	struct err err = ERR_INIT;
	struct scratch s;
	struct db *w, *r;

	(void)state;
	scratch_open(&s);
	w = db_fixture_ready(&s);
	r = db_fixture_reader(&s);
	assert_int_equal(db_begin(w, &err), RC_OK);
	assert_int_equal(db_fixture_insert(w, 1, 1, &err), RC_OK);
	assert_int_equal(db_fixture_number(w, S_COUNT), 2);
	assert_int_equal(db_fixture_number(r, S_COUNT), 1);
	assert_int_equal(db_begin(r, &err), RC_OK);
	assert_int_equal(db_fixture_number(r, S_COUNT), 1);
	assert_int_equal(db_commit(w, &err), RC_OK);
	assert_int_equal(db_fixture_number(r, S_COUNT), 1);
	assert_int_equal(db_fixture_insert(w, 2, 1, &err), RC_OK);
	assert_int_equal(db_fixture_number(r, S_COUNT), 1);
	db_rollback(r);
	assert_int_equal(db_fixture_number(r, S_COUNT), 3);
	/* This moment is the begin, not the first query. */
	assert_int_equal(db_begin(r, &err), RC_OK);
	assert_int_equal(db_fixture_insert(w, 3, 1, &err), RC_OK);
	assert_int_equal(db_fixture_number(r, S_COUNT), 3);
	db_rollback(r);
	assert_int_equal(db_fixture_number(r, S_COUNT), 4);
	db_close(r);
	db_close(w);
	scratch_close(&s);
}

/* If a reader closes last, the log stays as it is. */
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
	w = db_fixture_ready(&s);
	for (id = 1; id <= 50; id++)
		assert_int_equal(db_fixture_insert(w, id, 1, &err), RC_OK);
	/* As after a crash: the file and its log, and no connection. */
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
	    db_fixture_open(url, DB_READER, &db_fixture_schema, &r, &err),
	    RC_OK);
	assert_int_equal(db_fixture_number(r, S_COUNT), 51);
	db_close(r);
	assert_true(scratch_same(path[0], path[1]));
	assert_true(scratch_same(log[0], log[1]));
	/* If the writer closes last, it moves the log into the file. */
	assert_int_equal(
	    db_fixture_open(url, DB_WRITER, &db_fixture_schema, &r, &err),
	    RC_OK);
	assert_int_equal(db_fixture_number(r, S_COUNT), 51);
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
	w = db_fixture_ready(&s);
	r = db_fixture_reader(&s);
	bytes = db_log_bytes(w);
	assert_true(bytes > 0);
	for (id = 1; id <= 20; id++)
		assert_int_equal(db_fixture_insert(w, id, 1, &err), RC_OK);
	assert_true(db_log_bytes(w) > bytes);
	/* No commit makes a checkpoint by itself. */
	assert_true(scratch_size(s.path, "-wal") >= db_log_bytes(w));
	/* A snapshot keeps later frames in the log. */
	assert_int_equal(db_begin(r, &err), RC_OK);
	assert_int_equal(db_fixture_number(r, S_COUNT), 21);
	for (id = 21; id <= 30; id++)
		assert_int_equal(db_fixture_insert(w, id, 1, &err), RC_OK);
	assert_int_equal(db_checkpoint(w, false, &cp, &err), RC_OK);
	assert_true(cp.done_frames > 0);
	assert_true(cp.done_frames < cp.log_frames);
	assert_int_equal(db_fixture_number(r, S_COUNT), 21);
	db_rollback(r);
	assert_int_equal(db_checkpoint(w, false, &cp, &err), RC_OK);
	assert_int_equal(cp.done_frames, cp.log_frames);
	/* Then the log starts again, and contains the new frames only. */
	assert_int_equal(db_fixture_insert(w, 31, 1, &err), RC_OK);
	assert_true(db_log_bytes(w) <= bytes);
	assert_int_equal(db_checkpoint(w, true, &cp, &err), RC_OK);
	assert_int_equal(scratch_size(s.path, "-wal"), 0);
	assert_int_equal(db_log_bytes(w), 0);
	assert_int_equal(db_fixture_number(r, S_COUNT), 32);
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
	struct db_description is;
	char plan[200];

	(void)state;
	scratch_open(&s);
	db = db_fixture_ready(&s);
	assert_int_equal(
	    db_describe(db, S_GET, &is, plan, sizeof(plan), &err), RC_OK);
	assert_int_equal(is.nparams, 1);
	assert_int_equal(is.ncolumns, 4);
	assert_string_equal(is.columns, "id, n, s, b");
	assert_non_null(strstr(plan, "SEARCH t USING INTEGER PRIMARY KEY"));
	assert_int_equal(db_describe(db, S_ALL, &is, plan, 6, &err), RC_OK);
	assert_string_equal(plan, "SCAN ");
	assert_string_equal(is.columns, "id");
	assert_int_equal(db_describe(db, S_INSERT, &is, NULL, 0, &err), RC_OK);
	assert_int_equal(is.nparams, 4);
	assert_int_equal(is.ncolumns, 0);
	assert_string_equal(is.columns, "");
	assert_int_equal(
	    db_describe(db, S_NO_SQL, &is, NULL, 0, &err), RC_INTERNAL);
	db_close(db);
	scratch_close(&s);
}

/* A copy shows one instant and includes rows that are only in the log.  If the
 * log gets too long the copy is given up, and no file is left. */
static void
test_backup(void **state)
{
	struct err err = ERR_INIT;
	struct db *db, *copier, *copy;
	char path[160], url[180];
	struct scratch s;
	int64_t before, i;

	(void)state;
	scratch_open(&s);
	db = db_fixture_ready(&s);
	before = db_fixture_number(db, S_COUNT);
	assert_int_equal(db_begin(db, &err), RC_OK);
	for (i = 1001; i <= 6000; i++)
		if (db_fixture_insert(db, i, i, &err) != RC_OK)
			fail_msg("%s", err.text);
	assert_int_equal(db_commit(db, &err), RC_OK);
	assert_true(db_log_bytes(db) > 0);
	(void)snprintf(path, sizeof(path), "%s/copy", s.dir);
	(void)snprintf(url, sizeof(url), "sqlite:%s", path);
	assert_int_equal(db_fixture_open(s.url, DB_COPIER, &db_fixture_schema,
			     &copier, &err),
	    RC_OK);
	assert_int_equal(db_backup(copier, path, 1, &err), RC_BUSY);
	assert_non_null(strstr(err.text, "the log has grown beyond"));
	assert_int_equal(access(path, F_OK), -1);
	err = (struct err)ERR_INIT;
	assert_int_equal(
	    db_backup(copier, path, INT64_C(1) << 40, &err), RC_OK);
	assert_int_equal(db_fixture_insert(db, i, i, &err), RC_OK);
	assert_int_equal(
	    db_fixture_open(url, DB_READER, &db_fixture_schema, &copy, &err),
	    RC_OK);
	assert_int_equal(db_fixture_number(copy, S_COUNT), before + 5000);
	db_close(copy);
	/* The copying connection cannot write anywhere else, and does not
	 * overwrite a file. */
	assert_int_not_equal(
	    db_backup(copier, path, INT64_C(1) << 40, &err), RC_OK);
	assert_int_not_equal(db_fixture_insert(copier, 9999, 1, &err), RC_OK);
	db_close(copier);
	assert_int_equal(db_fixture_number(db, S_COUNT), before + 5001);
	db_close(db);
	(void)unlink(path);
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
	    cmocka_unit_test(test_reader_cannot_write),
	    cmocka_unit_test(test_snapshot),
	    cmocka_unit_test(test_reader_leaves_log),
	    cmocka_unit_test(test_checkpoint),
	    cmocka_unit_test(test_describe),
	    cmocka_unit_test(test_backup),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
