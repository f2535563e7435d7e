/* SPDX-License-Identifier: MIT */
/*
 * The database seam over SQLite: the parameters and results of a statement, and
 * the result code of each failure.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "unit/db_fixture.h"

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
	db = db_fixture_ready(&s);
	g = round_trip(db, INT64_MAX, db_v_text("a\0b", 3), db_v_uuid(&u));
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
	/* An empty value is not NULL. */
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

/* $n is params[n - 1], wherever and however often the statement uses it. */
static void
test_parameters(void **state)
{
	struct err err = ERR_INIT;
	struct db_val v[33];
	int64_t got[4];
	struct scratch s;
	struct db *db;
	size_t i;

	(void)state;
	for (i = 0; i < 33; i++)
		v[i] = db_v_i64((int64_t)i + 1);
	scratch_open(&s);
	db = db_fixture_ready(&s);
	assert_int_equal(
	    db_run(db, S_ORDER, v, 4, take_four, got, NULL, &err), RC_OK);
	assert_int_equal(got[0], 2);
	assert_int_equal(got[1], 1);
	assert_int_equal(got[2], 2);
	assert_int_equal(got[3], 4);
	assert_int_equal(
	    db_run(db, S_ORDER, v, 3, NULL, NULL, NULL, &err), RC_INTERNAL);
	assert_non_null(strstr(err.text, "order: 3 parameters for 4"));
	assert_int_equal(
	    db_run(db, S_UNNAMED, v, 1, NULL, NULL, NULL, &err), RC_INTERNAL);
	assert_int_equal(
	    db_run(db, S_FAR, v, 33, NULL, NULL, NULL, &err), RC_INTERNAL);
	assert_int_equal(
	    db_run(db, S_NO_SQL, NULL, 0, NULL, NULL, NULL, &err), RC_INTERNAL);
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
	db = db_fixture_ready(&s);
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
	/* The count is of all rows that changed, not of the last statement's:
	 * 5, 4, 3 and the one with 1000. */
	for (i = 0; i < 3; i++) {
		v[i * 2] = db_v_i64(i + 1);
		v[i * 2 + 1] = db_v_i64(9);
	}
	assert_int_equal(
	    db_exec_many(db, S_SET, v, 2, 3, &changed, &err), RC_OK);
	assert_int_equal(changed, 5 + 4 + 3);
	/* The first error stops the call.  Rows before it stay until the
	 * rollback. */
	assert_int_equal(db_begin(db, &err), RC_OK);
	for (i = 0; i < 3; i++) {
		v[i * 4] = db_v_i64(i == 1 ? 4 : 10 + i);
		v[i * 4 + 1] = db_v_i64(0);
		v[i * 4 + 2] = DB_V_NULL;
		v[i * 4 + 3] = DB_V_NULL;
	}
	assert_int_equal(
	    db_exec_many(db, S_INSERT, v, 4, 3, NULL, &err), RC_EXISTS);
	assert_int_equal(db_fixture_number(db, S_COUNT), 6);
	assert_true(db_in_transaction(db));
	db_rollback(db);
	assert_int_equal(db_fixture_number(db, S_COUNT), 5);
	/* A row without a change does not count. */
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
	db = db_fixture_ready(&s);
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
	/* A violation of any other constraint is a mistake of the program. */
	v[1] = db_v_i64(-1);
	v[3] = DB_V_NULL;
	assert_int_equal(
	    db_run(db, S_INSERT, v, 4, NULL, NULL, NULL, &err), RC_INTERNAL);
	v[1] = DB_V_NULL;
	assert_int_equal(
	    db_run(db, S_INSERT, v, 4, NULL, NULL, NULL, &err), RC_INTERNAL);
	/* In a STRICT table a text is not a number. */
	v[1] = db_v_str("many");
	assert_int_equal(
	    db_run(db, S_INSERT, v, 4, NULL, NULL, NULL, &err), RC_INTERNAL);
	assert_int_equal(db_fixture_number(db, S_COUNT), 2);
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

/* The result of a callback is returned, and the statement can be run again. */
static void
test_callback_result(void **state)
{
	struct err err = ERR_INIT;
	struct scratch s;
	struct db *db;
	int i, rows;

	(void)state;
	scratch_open(&s);
	db = db_fixture_ready(&s);
	assert_int_equal(db_fixture_insert(db, 1, 1, &err), RC_OK);
	for (i = 0; i < 2; i++) {
		rows = 0;
		assert_int_equal(
		    db_run(db, S_ALL, NULL, 0, give_up, &rows, NULL, &err),
		    RC_LIMIT);
		assert_int_equal(rows, 1);
		assert_string_equal(err.text, "enough");
	}
	/* The stopped statement holds no snapshot: the log can be emptied. */
	assert_int_equal(db_fixture_insert(db, 2, 1, &err), RC_OK);
	assert_int_equal(db_checkpoint(db, true, NULL, &err), RC_OK);
	db_close(db);
	scratch_close(&s);
}

/* No room: RC_FULL, and SQLite has rolled the transaction back itself. */
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
	db = db_fixture_ready(&s);
	assert_int_equal(db_fixture_number(db, S_PAGES), 40);
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
	assert_int_equal(db_fixture_number(db, S_COUNT), 1);
	assert_int_equal(db_fixture_insert(db, 1, 1, &err), RC_OK);
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
	a = db_fixture_ready(&s);
	assert_int_equal(
	    db_fixture_open(s.url, DB_WRITER, &db_fixture_schema, &b, &err),
	    RC_OK);
	assert_int_equal(db_fixture_number(b, S_IMPATIENT), 0);
	assert_int_equal(db_begin(a, &err), RC_OK);
	/* BEGIN IMMEDIATE: the second writer is refused at once, not at its
	 * first write. */
	assert_int_equal(db_begin(b, &err), RC_BUSY);
	assert_false(db_in_transaction(b));
	assert_int_equal(db_fixture_insert(b, 1, 1, &err), RC_BUSY);
	assert_int_equal(db_commit(a, &err), RC_OK);
	assert_int_equal(db_begin(b, &err), RC_OK);
	/* A second begin is an error of the caller.  It ends the first
	 * transaction, and the next one does not have its rows. */
	assert_int_equal(db_fixture_insert(b, 1, 1, &err), RC_OK);
	assert_int_equal(db_begin(b, &err), RC_INTERNAL);
	assert_false(db_in_transaction(b));
	assert_int_equal(db_begin(b, &err), RC_OK);
	assert_int_equal(db_commit(b, &err), RC_OK);
	assert_int_equal(db_fixture_number(b, S_COUNT), 1);
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
	db = db_fixture_ready(&s);
	assert_int_equal(db_begin(db, &err), RC_OK);
	assert_int_equal(db_fixture_insert(db, 1, 1, &err), RC_OK);
	db_close(db);
	db = db_fixture_ready(&s);
	assert_int_equal(db_fixture_number(db, S_COUNT), 1);
	db_rollback(db);
	db_close(db);
	scratch_close(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_values),
	    cmocka_unit_test(test_parameters),
	    cmocka_unit_test(test_exec_many),
	    cmocka_unit_test(test_constraints),
	    cmocka_unit_test(test_callback_result),
	    cmocka_unit_test(test_full),
	    cmocka_unit_test(test_busy),
	    cmocka_unit_test(test_close_rolls_back),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
