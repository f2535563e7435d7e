/* SPDX-License-Identifier: MIT */
/*
 * SQLite without memory: a transaction that fails for want of memory ends
 * properly, and the connection works again when there is memory.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "unit/db_fixture.h"

/* SQLite's own allocator.  The test's allocator stands on it and fails on
 * demand. */
static sqlite3_mem_methods below;
static bool exhausted;

static void *
mem_malloc(int n)
{

	return (exhausted ? NULL : below.xMalloc(n));
}

static void *
mem_resize(void *p, int n)
{

	return (exhausted ? NULL : below.xRealloc(p, n));
}

static int
setup(void **state)
{
	sqlite3_mem_methods methods;

	(void)state;
	assert_int_equal(
	    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &below), SQLITE_OK);
	methods = below;
	methods.xMalloc = mem_malloc;
	methods.xRealloc = mem_resize;
	assert_int_equal(
	    sqlite3_config(SQLITE_CONFIG_MALLOC, &methods), SQLITE_OK);
	/* Without lookaside memory, each page and each cursor is allocated. */
	assert_int_equal(
	    sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0), SQLITE_OK);
	return (0);
}

/* Memory runs out in a writer's transaction, and the rollback works without
 * any. */
static void
test_writer(void **state)
{
	struct err err = ERR_INIT;
	struct scratch s;
	struct db_val v[2] = {db_v_i64(1), db_v_i64(1)};
	struct db *db;

	(void)state;
	scratch_open(&s);
	db = db_fixture_ready(&s);
	assert_int_equal(db_begin(db, &err), RC_OK);
	assert_int_equal(
	    db_run(db, S_SET, v, 2, NULL, NULL, NULL, &err), RC_OK);
	exhausted = true;
	assert_int_equal(
	    db_run(db, S_ALL, NULL, 0, NULL, NULL, NULL, &err), RC_NO_MEMORY);
	db_rollback(db);
	assert_false(db_in_transaction(db));
	exhausted = false;
	assert_int_equal(db_fixture_insert(db, 1, 1, &err), RC_OK);
	assert_int_equal(db_fixture_number(db, S_COUNT), 2);
	db_close(db);
	scratch_close(&s);
}

/* The same for a reader, at each place at which memory can run out. */
static void
test_reader(void **state)
{
	struct err err = ERR_INIT;
	struct scratch s;
	struct db *w, *r;
	int round;

	(void)state;
	scratch_open(&s);
	w = db_fixture_ready(&s);
	r = db_fixture_reader(&s);
	for (round = 0; round < 2; round++) {
		exhausted = round == 0;
		if (db_begin(r, &err) == RC_OK) {
			exhausted = true;
			assert_int_equal(
			    db_run(r, S_ALL, NULL, 0, NULL, NULL, NULL, &err),
			    RC_NO_MEMORY);
		}
		db_rollback(r);
		assert_false(db_in_transaction(r));
		exhausted = false;
		assert_int_equal(db_begin(r, &err), RC_OK);
		assert_int_equal(db_fixture_number(r, S_COUNT), 1);
		db_rollback(r);
	}
	db_close(r);
	db_close(w);
	scratch_close(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_writer),
	    cmocka_unit_test(test_reader),
	};

	return (cmocka_run_group_tests(tests, setup, NULL));
}
