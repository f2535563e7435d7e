/* SPDX-License-Identifier: MIT */
/*
 * Writes and syncs of the log that fail, by error of the system: EDQUOT counts
 * as a full disk, a sync that a signal interrupts is repeated, and every other
 * error means that the disk has failed.
 */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "unit/db_fixture.h"
#include "unit/shim.h"

/* If not 0, every write or sync of the log fails with this errno. */
static int write_sys, sync_sys;
static int interrupts; /* syncs that a signal will interrupt */
static int syncs;      /* syncs of the commit */
static int all_syncs;
static int last_sys;

static int
shim_write(sqlite3_file *file, const void *p, int n, sqlite3_int64 at)
{

	if (write_sys == 0)
		return (shim_below->xWrite(file, p, n, at));
	last_sys = write_sys;
	return (SQLITE_IOERR_WRITE);
}

static int
shim_sync(sqlite3_file *file, int flags)
{

	all_syncs++;
	if (sync_sys == 0 && interrupts == 0)
		return (shim_below->xSync(file, flags));
	last_sys = interrupts > 0 ? EINTR : sync_sys;
	interrupts -= interrupts > 0;
	return (SQLITE_IOERR_FSYNC);
}

static int
shim_control(sqlite3_file *file, int op, void *arg)
{

	if (op != SQLITE_FCNTL_LAST_ERRNO)
		return (shim_below->xFileControl(file, op, arg));
	*(int *)arg = last_sys;
	return (SQLITE_OK);
}

static void
opened(sqlite3_io_methods *calls)
{

	calls->xWrite = shim_write;
	calls->xSync = shim_sync;
	calls->xFileControl = shim_control;
}

static int
setup(void **state)
{
	static const struct shim shim = {SQLITE_OPEN_WAL, NULL, opened};

	(void)state;
	shim_install(&shim);
	return (0);
}

/* Commits a row on a fresh database while writes and syncs fail as given.
 * Returns the result of the commit. */
static enum rc
commit_with(int write, int sync, int signals)
{
	struct err err = ERR_INIT;
	const struct db_val id = db_v_i64(1);
	struct scratch s;
	struct db *db;
	enum rc rc;
	int before;

	scratch_open(&s);
	db = db_fixture_ready(&s);
	assert_int_equal(db_begin(db, &err), RC_OK);
	assert_int_equal(
	    db_run(db, S_FILL, &id, 1, NULL, NULL, NULL, &err), RC_OK);
	write_sys = write;
	sync_sys = sync;
	interrupts = signals;
	before = all_syncs;
	rc = db_commit(db, &err);
	syncs = all_syncs - before;
	write_sys = sync_sys = interrupts = 0;
	db_rollback(db);
	assert_int_equal(db_fixture_number(db, S_COUNT), rc == RC_OK ? 2 : 1);
	db_close(db);
	scratch_close(&s);
	return (rc);
}

static void
test_writes(void **state)
{

	(void)state;
	assert_int_equal(commit_with(0, 0, 0), RC_OK);
	assert_int_equal(commit_with(EDQUOT, 0, 0), RC_FULL);
	assert_int_equal(commit_with(EIO, 0, 0), RC_IO);
	assert_int_equal(commit_with(EROFS, 0, 0), RC_IO);
}

static void
test_syncs(void **state)
{

	(void)state;
	/* A failed sync has lost the pages that it was for, so no error of a
	 * sync counts as a full disk. */
	assert_int_equal(commit_with(0, EDQUOT, 0), RC_IO);
	assert_int_equal(syncs, 1);
	assert_int_equal(commit_with(0, EIO, 0), RC_IO);
	assert_int_equal(syncs, 1);
	assert_int_equal(commit_with(0, 0, 3), RC_OK);
	assert_int_equal(syncs, 4);
	/* The sync is not repeated for ever. */
	assert_int_equal(commit_with(0, 0, INT_MAX), RC_IO);
	assert_true(syncs > 10 && syncs <= 1000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_writes),
	    cmocka_unit_test(test_syncs),
	};

	return (cmocka_run_group_tests(tests, setup, NULL));
}
