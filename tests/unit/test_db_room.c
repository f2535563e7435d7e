/* SPDX-License-Identifier: MIT */
/*
 * Which errors of the system mean "no room" to a caller (RC_FULL: the caller
 * goes on when there is room) and which mean that the disk has failed (RC_IO:
 * no state of the store is certain).  A VFS gives these errors on demand.
 */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "unit/db_fixture.h"
#include "unit/shim.h"

enum call { NO_CALL, WRITE, SYNC, MAP };

/* The call that fails, its result, and errno; after how many calls without a
 * failure, and how many times (0: always). */
static struct {
	enum call call;
	int code, sys, after, times;
} fault;

static int
fails(enum call call)
{

	if (fault.call != call || fault.after-- > 0)
		return (SQLITE_OK);
	if (fault.times > 0 && --fault.times == 0)
		fault.call = NO_CALL;
	errno = fault.sys;
	return (fault.code);
}

static int
shim_write(sqlite3_file *file, const void *p, int n, sqlite3_int64 at)
{
	int code = fails(WRITE);

	return (code != SQLITE_OK ? code : shim_below->xWrite(file, p, n, at));
}

static int
shim_sync(sqlite3_file *file, int flags)
{
	int code = fails(SYNC);

	return (code != SQLITE_OK ? code : shim_below->xSync(file, flags));
}

static int
shim_map(
    sqlite3_file *file, int block, int size, int extend, void volatile **ret)
{
	int code = fails(MAP);

	return (code != SQLITE_OK
		    ? code
		    : shim_below->xShmMap(file, block, size, extend, ret));
}

static void
opened(sqlite3_io_methods *calls)
{

	calls->xWrite = shim_write;
	calls->xSync = shim_sync;
	calls->xShmMap = shim_map;
}

static int
setup(void **state)
{
	static const struct shim shim = {SQLITE_OPEN_MAIN_DB, NULL, opened};

	(void)state;
	shim_install(&shim);
	return (0);
}

static void
well(void)
{

	fault.call = NO_CALL;
	fault.times = 0;
}

static void
check_text(const struct err *err, enum rc rc, int sys)
{
	const char *cure = "free room on the disk of the database";

	assert_int_equal(err->rc, rc);
	assert_int_equal(err->sys, sys);
	assert_non_null(strstr(err->text, strerror(sys)));
	assert_int_equal(strstr(err->text, cure) != NULL, rc == RC_FULL);
}

/* A checkpoint, which writes to the database file. */
static void
test_checkpoint(void **state)
{
	static const struct {
		enum call call;
		int code, sys;
		enum rc rc;
	} rows[] = {
	    {WRITE, SQLITE_IOERR_WRITE, EDQUOT, RC_FULL},
	    {WRITE, SQLITE_IOERR_WRITE, ENOSPC, RC_FULL},
	    {WRITE, SQLITE_IOERR_WRITE, EIO, RC_IO},
	    {WRITE, SQLITE_IOERR_WRITE, EROFS, RC_IO},
	    /* A failed sync has lost the pages that it was for. */
	    {SYNC, SQLITE_IOERR_FSYNC, ENOSPC, RC_IO},
	    {SYNC, SQLITE_IOERR_FSYNC, EDQUOT, RC_IO},
	    {SYNC, SQLITE_IOERR_FSYNC, EIO, RC_IO},
	};
	struct err err;
	struct scratch s;
	struct db *db;
	int64_t id;
	size_t i;

	(void)state;
	scratch_open(&s);
	db = db_fixture_ready(&s);
	assert_int_equal(db_checkpoint(db, true, NULL, &err), RC_OK);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		err = (struct err)ERR_INIT;
		id = (int64_t)i + 1;
		assert_int_equal(db_fixture_insert(db, id, 1, &err), RC_OK);
		fault.call = rows[i].call;
		fault.code = rows[i].code;
		fault.sys = rows[i].sys;
		fault.after = 0;
		assert_int_equal(
		    db_checkpoint(db, true, NULL, &err), rows[i].rc);
		well();
		check_text(&err, rows[i].rc, rows[i].sys);
		/* The failure loses nothing. */
		assert_int_equal(db_checkpoint(db, true, NULL, &err), RC_OK);
		assert_int_equal(db_fixture_number(db, S_COUNT), id + 1);
	}
	db_close(db);
	scratch_close(&s);
}

/* Signals interrupt a sync of the database file: the checkpoint is repeated,
 * but not for ever. */
static void
test_interrupted(void **state)
{
	struct err err = ERR_INIT;
	struct scratch s;
	struct db *db;

	(void)state;
	scratch_open(&s);
	db = db_fixture_ready(&s);
	assert_int_equal(db_fixture_insert(db, 1, 1, &err), RC_OK);
	fault.call = SYNC;
	fault.code = SQLITE_IOERR_FSYNC;
	fault.sys = EINTR;
	fault.after = 0;
	fault.times = 3;
	assert_int_equal(db_checkpoint(db, true, NULL, &err), RC_OK);
	assert_int_equal(fault.times, 0);
	assert_int_equal(db_fixture_insert(db, 2, 1, &err), RC_OK);
	fault.call = SYNC;
	fault.times = INT_MAX;
	assert_int_equal(db_checkpoint(db, true, NULL, &err), RC_IO);
	well();
	check_text(&err, RC_IO, EINTR);
	db_close(db);
	scratch_close(&s);
}

/* Opening a database, which makes the index of the log. */
static void
test_open(void **state)
{
	static const struct {
		int sys;
		enum rc rc;
	} rows[] = {{ENOSPC, RC_FULL}, {EDQUOT, RC_FULL}, {EIO, RC_IO}};
	struct err err;
	struct scratch s;
	struct db *db;
	size_t i;

	(void)state;
	scratch_open(&s);
	db_close(db_fixture_ready(&s));
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		err = (struct err)ERR_INIT;
		fault.call = MAP;
		fault.code = SQLITE_IOERR_SHMSIZE;
		fault.sys = rows[i].sys;
		fault.after = 0;
		assert_int_equal(db_fixture_open(s.url, DB_WRITER,
				     &db_fixture_schema, &db, &err),
		    rows[i].rc);
		well();
		check_text(&err, rows[i].rc, rows[i].sys);
		assert_int_equal(db_fixture_open(s.url, DB_WRITER,
				     &db_fixture_schema, &db, &err),
		    RC_OK);
		db_close(db);
	}
	scratch_close(&s);
}

/* Commits more frames than one block of the log's index holds.  ${after}
 * mappings of blocks succeed, and the next one fails with ${code}. */
static void
commit_much(struct db *db, int after, int code, enum rc want)
{
	struct err err = ERR_INIT;
	struct db_val v;
	int64_t id;

	assert_int_equal(db_begin(db, &err), RC_OK);
	for (id = 101; id <= 200; id++) {
		v = db_v_i64(id);
		assert_int_equal(
		    db_run(db, S_FILL, &v, 1, NULL, NULL, NULL, &err), RC_OK);
	}
	fault.call = MAP;
	fault.code = code;
	fault.sys = ENOSPC;
	fault.after = after;
	assert_int_equal(db_commit(db, &err), want);
	well();
	assert_int_equal(err.rc, want);
	db_rollback(db);
}

/* If there is no room for the index when a commit begins, the commit is refused
 * and writes nothing.  If its frames are in the log already, the commit must
 * not be reported as refused, whatever errors came before. */
static void
test_commit(void **state)
{
	struct err err = ERR_INIT;
	struct scratch s;
	struct db *db;

	(void)state;
	scratch_open(&s);
	db = db_fixture_ready(&s);
	commit_much(db, 0, SQLITE_IOERR_SHMSIZE, RC_FULL);
	assert_int_equal(db_fixture_number(db, S_COUNT), 1);
	assert_int_equal(db_fixture_insert(db, 1, 1, &err), RC_OK);
	fault.call = WRITE;
	fault.code = SQLITE_IOERR_WRITE;
	assert_int_equal(db_checkpoint(db, true, NULL, &err), RC_FULL);
	well();
	assert_int_equal(db_checkpoint(db, true, NULL, &err), RC_OK);
	assert_int_equal(db_fixture_insert(db, 2, 1, &err), RC_OK);
	commit_much(db, 1, SQLITE_IOERR_SHMSIZE, RC_IO);
	db_close(db);
	scratch_close(&s);
}

/* A failed allocation of the list of the index's blocks is not a failure of the
 * disk: the commit writes nothing, and the next one succeeds. */
static void
test_no_memory(void **state)
{
	struct err err = ERR_INIT;
	struct scratch s;
	struct db *db;

	(void)state;
	scratch_open(&s);
	db = db_fixture_ready(&s);
	commit_much(db, 0, SQLITE_IOERR_NOMEM, RC_NO_MEMORY);
	assert_false(db_is_fatal(db, RC_NO_MEMORY));
	assert_int_equal(db_fixture_number(db, S_COUNT), 1);
	assert_int_equal(db_fixture_insert(db, 1, 1, &err), RC_OK);
	assert_int_equal(db_checkpoint(db, true, NULL, &err), RC_OK);
	db_close(db);
	scratch_close(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_checkpoint),
	    cmocka_unit_test(test_interrupted),
	    cmocka_unit_test(test_open),
	    cmocka_unit_test(test_commit),
	    cmocka_unit_test(test_no_memory),
	};

	return (cmocka_run_group_tests(tests, setup, NULL));
}
