/* SPDX-License-Identifier: MIT */
/*
 * The VFS that buffers writes to the log, over a VFS that counts them and fails
 * on demand.  The log has the same bytes with and without the buffer; readers
 * see commits; large transactions are written before their commit; the error of
 * a buffered write is returned by the commit that it belongs to; and the sync
 * of a commit can be put off.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "unit/db_fixture.h"
#include "unit/shim.h"

/* ---- a VFS that counts and fails, below all others ---- */

static int log_writes, log_syncs, log_open_now;
static int write_fails, sync_fails; /* result codes, 0: no failure */
static int open_fails;
static int biggest_write;

static int
shim_close(sqlite3_file *file)
{

	log_open_now--;
	return (shim_below->xClose(file));
}

static int
shim_write(sqlite3_file *file, const void *p, int n, sqlite3_int64 at)
{
	int code;

	log_writes++;
	if (n > biggest_write)
		biggest_write = n;
	if (write_fails != 0) {
		/* Half of the bytes are on the disk. */
		code = shim_below->xWrite(file, p, n / 2, at);
		return (code != SQLITE_OK ? code : write_fails);
	}
	return (shim_below->xWrite(file, p, n, at));
}

static int
shim_sync(sqlite3_file *file, int flags)
{

	log_syncs++;
	if (sync_fails != 0)
		return (sync_fails);
	return (shim_below->xSync(file, flags));
}

static int
log_open(void)
{

	return (open_fails);
}

static void
log_opened(sqlite3_io_methods *calls)
{

	log_open_now++;
	calls->xClose = shim_close;
	calls->xWrite = shim_write;
	calls->xSync = shim_sync;
}

static int
setup(void **state)
{
	static const struct shim shim = {SQLITE_OPEN_WAL, log_open, log_opened};

	(void)state;
	shim_install(&shim);
	return (0);
}

static int
shim_reset(void **state)
{

	(void)state;
	log_writes = log_syncs = 0;
	write_fails = sync_fails = open_fails = 0;
	biggest_write = 0;
	return (0);
}

/* ---- a database ---- */

enum {
	G_INSERT,
	G_SET,
	G_ONE,
	G_COUNT,
	G_SUM,
	G_CHECK,
	G_SMALL_CACHE,
	G_NSTMT
};

static const struct sql_text statements[G_NSTMT] = {
    [G_INSERT] = {"insert",
	"INSERT INTO t (id, b) VALUES ($1, "
	"zeroblob(1000))",
	NULL},
    [G_SET] = {"set", "UPDATE t SET n = n + 1 WHERE id % 7 = $1", NULL},
    [G_ONE] = {"one", "UPDATE t SET b = zeroblob(1001) WHERE id = $1", NULL},
    [G_COUNT] = {"count", "SELECT count(*) FROM t", NULL},
    [G_SUM] = {"sum", "SELECT coalesce(sum(n), 0) FROM t", NULL},
    [G_CHECK] = {"check",
	"SELECT count(*) FROM pragma_integrity_check "
	"WHERE integrity_check <> 'ok'",
	NULL},
    [G_SMALL_CACHE] = {"small_cache", "PRAGMA cache_size=20", NULL},
};

static const struct sql_migration migrations[] = {
    {1, "first",
	"CREATE TABLE t (id INTEGER PRIMARY KEY, "
	"n INTEGER NOT NULL DEFAULT 0, b BLOB) STRICT;"
	"CREATE INDEX t_n ON t (n);"},
};

static const struct db_schema schema = {statements, G_NSTMT, migrations, 1};

static struct db_options
options_for(const char *url, enum db_mode mode, const char *vfs)
{

	return ((struct db_options){.url = url,
	    .mode = mode,
	    .sync = DB_SYNC_FULL,
	    .vfs = vfs,
	    .schema = &schema});
}

static struct db *
open_ready(const struct scratch *s, const char *vfs)
{
	const struct db_options o = options_for(s->url, DB_WRITER, vfs);

	return (db_fixture_with(&o));
}

static struct db *
open_reader(const struct scratch *s)
{
	const struct db_options o = options_for(s->url, DB_READER, NULL);

	return (db_fixture_with(&o));
}

static void
run(struct db *db, int stmt, int64_t p)
{
	struct err err = ERR_INIT;
	struct db_val v;

	v = db_v_i64(p);
	if (db_run(db, stmt, &v, 1, NULL, NULL, NULL, &err) != RC_OK)
		fail_msg("%s", err.text);
}

static void
begin(struct db *db)
{
	struct err err = ERR_INIT;

	if (db_begin(db, &err) != RC_OK)
		fail_msg("%s", err.text);
}

static void
commit(struct db *db)
{
	struct err err = ERR_INIT;

	if (db_commit(db, &err) != RC_OK)
		fail_msg("%s", err.text);
}

/* Inserts ${id} and commits early.  Returns whether the commit still needs a
 * sync. */
static bool
insert_early(struct db *db, int64_t id)
{
	struct err err = ERR_INIT;
	bool owed = false;

	begin(db);
	run(db, G_INSERT, id);
	if (db_commit_early(db, &owed, &err) != RC_OK)
		fail_msg("%s", err.text);
	return (owed);
}

/* Transactions of many sizes, with a checkpoint among them. */
static void
work(struct db *db)
{
	struct err err = ERR_INIT;
	int64_t id;
	int i, k;

	id = 0;
	for (i = 0; i < 30; i++) {
		begin(db);
		for (k = 0; k < 1 + i * 3; k++)
			run(db, G_INSERT, ++id);
		run(db, G_SET, i % 7);
		if (i % 5 == 4)
			db_rollback(db);
		else
			commit(db);
		if (i % 5 == 4)
			id -= 1 + i * 3;
		if (i == 15)
			assert_int_equal(
			    db_checkpoint(db, false, NULL, &err), RC_OK);
	}
}

/* ---- tests ---- */

static void
test_same_bytes(void **state)
{
	struct scratch plain, buffered;
	struct err err = ERR_INIT;
	struct db *a, *b;
	int writes, syncs;

	(void)state;
	scratch_open(&plain);
	scratch_open(&buffered);
	a = open_ready(&plain, SHIM_NAME);
	work(a);
	writes = log_writes;
	syncs = log_syncs;
	(void)shim_reset(NULL);
	b = open_ready(&buffered, NULL);
	work(b);
	/* There are as many syncs, but far fewer writes, none of them too
	 * large. */
	assert_int_equal(log_syncs, syncs);
	assert_true(log_writes * 5 < writes);
	assert_true(biggest_write > 32768);
	assert_true(biggest_write <= 65536);
	assert_int_equal(db_log_bytes(a), db_log_bytes(b));
	assert_int_equal(scratch_size(plain.path, "-wal"),
	    scratch_size(buffered.path, "-wal"));
	assert_int_equal(db_checkpoint(a, true, NULL, &err), RC_OK);
	assert_int_equal(db_checkpoint(b, true, NULL, &err), RC_OK);
	assert_true(scratch_same(plain.path, buffered.path));
	assert_int_equal(db_fixture_number(b, G_CHECK), 0);
	/* With the buffer, commits can be early, also in a new file: only the
	 * header of the new log is synced. */
	(void)shim_reset(NULL);
	assert_false(insert_early(a, 5000));
	assert_int_equal(db_sync(a, &err), RC_OK);
	assert_int_equal(log_syncs, 2);
	assert_true(insert_early(b, 5000));
	assert_int_equal(log_syncs, 3);
	db_close(a);
	db_close(b);
	assert_int_equal(log_open_now, 0);
	scratch_close(&plain);
	scratch_close(&buffered);
}

/* When a commit returns, the file has its frames, for every other
 * connection. */
static void
test_readers_see_commits(void **state)
{
	struct scratch s;
	struct db *w, *r;
	int64_t id;

	(void)state;
	scratch_open(&s);
	w = open_ready(&s, NULL);
	r = open_reader(&s);
	for (id = 1; id <= 20; id++) {
		begin(w);
		run(w, G_INSERT, id);
		assert_int_equal(db_fixture_number(r, G_COUNT), id - 1);
		commit(w);
		assert_int_equal(db_fixture_number(r, G_COUNT), id);
	}
	db_close(r);
	db_close(w);
	scratch_close(&s);
}

/* A copy of the file and the log is the state that a crash at this moment would
 * leave.  Returns the number of rows after recovery. */
static int64_t
count_after_crash(const struct scratch *s)
{
	char from[128], to[128];
	struct scratch crashed;
	int syncs = log_syncs;
	struct db *db;
	int64_t n;

	scratch_open(&crashed);
	scratch_copy(s->path, crashed.path);
	(void)snprintf(from, sizeof(from), "%s-wal", s->path);
	(void)snprintf(to, sizeof(to), "%s-wal", crashed.path);
	scratch_copy(from, to);
	db = open_ready(&crashed, NULL);
	assert_int_equal(db_fixture_number(db, G_CHECK), 0);
	n = db_fixture_number(db, G_COUNT);
	db_close(db);
	scratch_close(&crashed);
	log_syncs = syncs; /* the syncs of the copy do not count */
	return (n);
}

/* The transaction has more pages than the cache: pages are written to the log,
 * read back from it and written again, all before the commit. */
static void
test_spill(void **state)
{
	struct scratch s;
	struct db *w, *r;
	int64_t id, sum;
	int i;

	(void)state;
	scratch_open(&s);
	w = open_ready(&s, NULL);
	r = open_reader(&s);
	assert_int_equal(db_fixture_number(w, G_SMALL_CACHE), -1);
	begin(w);
	for (id = 1; id <= 300; id++)
		run(w, G_INSERT, id);
	commit(w);
	(void)shim_reset(NULL);
	begin(w);
	for (; id <= 900; id++)
		run(w, G_INSERT, id);
	for (i = 0; i < 14; i++)
		run(w, G_SET, i % 7);
	assert_true(log_writes > 0);
	assert_int_equal(log_syncs, 0);
	assert_int_equal(db_fixture_number(w, G_COUNT), 900);
	sum = db_fixture_number(w, G_SUM);
	assert_int_equal(sum, 2 * 900);
	assert_int_equal(db_fixture_number(r, G_COUNT), 300);
	assert_int_equal(count_after_crash(&s), 300);
	/* The transaction is rolled back, then repeated and committed. */
	db_rollback(w);
	assert_int_equal(db_fixture_number(w, G_COUNT), 300);
	assert_int_equal(db_fixture_number(w, G_CHECK), 0);
	begin(w);
	for (id = 301; id <= 900; id++)
		run(w, G_INSERT, id);
	run(w, G_SET, 3);
	commit(w);
	assert_int_equal(db_fixture_number(r, G_COUNT), 900);
	assert_int_equal(db_fixture_number(r, G_SUM), 129);
	assert_int_equal(db_fixture_number(w, G_CHECK), 0);
	assert_int_equal(count_after_crash(&s), 900);
	db_close(r);
	db_close(w);
	scratch_close(&s);
}

/* Uses a few more pages than the cache holds, in turn: each is needed again
 * when it has just been written, and is still in the buffer. */
static void
test_read_back(void **state)
{
	struct scratch s;
	struct db *w;
	int64_t id;
	int i, pages;

	(void)state;
	scratch_open(&s);
	w = open_ready(&s, NULL);
	assert_int_equal(db_fixture_number(w, G_SMALL_CACHE), -1);
	begin(w);
	for (id = 1; id <= 200; id++)
		run(w, G_INSERT, id);
	commit(w);
	for (pages = 15; pages < 30; pages++) {
		begin(w);
		for (i = 0; i < 2 * pages; i++)
			run(w, G_ONE, 1 + (i % pages) * 5);
		assert_int_equal(db_fixture_number(w, G_CHECK), 0);
		commit(w);
	}
	assert_int_equal(db_fixture_number(w, G_CHECK), 0);
	assert_int_equal(db_fixture_number(w, G_COUNT), 200);
	db_close(w);
	scratch_close(&s);
}

/* A failed commit has no effect: not for this connection, not for readers, not
 * after a crash; and later transactions work. */
static void
check_failed_commit(int write_code, int sync_code, enum rc expect)
{
	struct err err = ERR_INIT;
	struct scratch s;
	struct db *w, *r;
	int64_t id;

	scratch_open(&s);
	w = open_ready(&s, NULL);
	r = open_reader(&s);
	begin(w);
	for (id = 1; id <= 10; id++)
		run(w, G_INSERT, id);
	commit(w);
	begin(w);
	for (; id <= 15; id++)
		run(w, G_INSERT, id);
	write_fails = write_code;
	sync_fails = sync_code;
	assert_int_equal(db_commit(w, &err), expect);
	assert_int_equal(err.rc, expect);
	(void)shim_reset(NULL);
	db_rollback(w);
	assert_false(db_in_transaction(w));
	assert_int_equal(db_fixture_number(w, G_COUNT), 10);
	assert_int_equal(db_fixture_number(r, G_COUNT), 10);
	if (write_code != 0)
		assert_int_equal(count_after_crash(&s), 10);
	/* After a failed sync the state of the log is unknown: no commit
	 * succeeds any more on this connection. */
	if (sync_code != 0) {
		begin(w);
		run(w, G_INSERT, 11);
		assert_int_equal(db_commit(w, &err), expect);
		db_rollback(w);
		assert_int_equal(db_fixture_number(r, G_COUNT), 10);
		db_close(w);
		w = open_ready(&s, NULL);
	}
	begin(w);
	run(w, G_INSERT, 11);
	commit(w);
	assert_int_equal(db_fixture_number(r, G_COUNT), 11);
	assert_int_equal(db_fixture_number(w, G_CHECK), 0);
	assert_int_equal(count_after_crash(&s), 11);
	db_close(r);
	db_close(w);
	assert_int_equal(log_open_now, 0);
	scratch_close(&s);
}

static void
test_failed_commit(void **state)
{

	(void)state;
	check_failed_commit(SQLITE_IOERR_WRITE, 0, RC_IO);
	check_failed_commit(SQLITE_FULL, 0, RC_FULL);
	check_failed_commit(0, SQLITE_IOERR_FSYNC, RC_IO);
}

/* The write fails within a transaction, when the 64 KiB of the buffer are
 * full. */
static void
test_error_before_commit(void **state)
{
	struct err err = ERR_INIT;
	struct scratch s;
	struct db_val v;
	struct db *w;
	int64_t id;
	enum rc rc;

	(void)state;
	scratch_open(&s);
	w = open_ready(&s, NULL);
	assert_int_equal(db_fixture_number(w, G_SMALL_CACHE), -1);
	begin(w);
	write_fails = SQLITE_FULL;
	rc = RC_OK;
	for (id = 1; id <= 2000 && rc == RC_OK; id++) {
		v = db_v_i64(id);
		rc = db_run(w, G_INSERT, &v, 1, NULL, NULL, NULL, &err);
	}
	assert_int_equal(rc, RC_FULL);
	(void)shim_reset(NULL);
	db_rollback(w);
	assert_int_equal(db_fixture_number(w, G_COUNT), 0);
	begin(w);
	run(w, G_INSERT, 1);
	commit(w);
	assert_int_equal(db_fixture_number(w, G_CHECK), 0);
	assert_int_equal(count_after_crash(&s), 1);
	db_close(w);
	scratch_close(&s);
}

static void
test_log_cannot_be_opened(void **state)
{
	struct err err = ERR_INIT;
	struct db_options o;
	struct scratch s;
	struct db *db;

	(void)state;
	scratch_open(&s);
	db_close(open_ready(&s, NULL));
	open_fails = SQLITE_CANTOPEN;
	o = options_for(s.url, DB_WRITER, NULL);
	assert_int_not_equal(db_open(&o, &db, &err), RC_OK);
	assert_int_equal(log_open_now, 0);
	(void)shim_reset(NULL);
	db = open_ready(&s, NULL);
	assert_int_equal(log_open_now, 1);
	db_close(db);
	scratch_close(&s);
}

/* ---- early commits ---- */

/* Opens an existing file with row 1, whose log is synced. */
static struct db *
open_early(struct scratch *s)
{
	struct db *db;

	scratch_open(s);
	db_close(open_ready(s, NULL));
	db = open_ready(s, NULL);
	begin(db);
	run(db, G_INSERT, 1);
	commit(db);
	(void)shim_reset(NULL);
	return (db);
}

/* An early commit is visible to readers and survives the process, without a
 * sync.  Then one sync makes all of them durable. */
static void
test_early(void **state)
{
	struct err err = ERR_INIT;
	struct scratch s;
	struct db *w, *r;
	bool owed;
	int64_t id;

	(void)state;
	w = open_early(&s);
	r = open_reader(&s);
	for (id = 2; id <= 4; id++) {
		assert_true(insert_early(w, id));
		assert_int_equal(db_fixture_number(r, G_COUNT), id);
		assert_int_equal(count_after_crash(&s), id);
	}
	assert_int_equal(log_syncs, 0);
	assert_int_equal(db_sync(w, &err), RC_OK);
	assert_int_equal(log_syncs, 1);
	/* An ordinary commit is synced as before, also after an early one that
	 * failed. */
	begin(w);
	run(w, G_INSERT, 5);
	write_fails = SQLITE_FULL;
	assert_int_equal(db_commit_early(w, &owed, &err), RC_FULL);
	(void)shim_reset(NULL);
	db_rollback(w);
	begin(w);
	run(w, G_INSERT, 5);
	commit(w);
	assert_int_equal(log_syncs, 1);
	assert_int_equal(db_fixture_number(r, G_COUNT), 5);
	db_close(r);
	/* A checkpoint syncs first.  Then the log starts again: its header is
	 * synced before new frames follow, because old frames may lie behind
	 * it. */
	for (id = 6; id < 15; id += 3) {
		assert_true(insert_early(w, id));
		(void)shim_reset(NULL);
		assert_int_equal(db_checkpoint(w, id == 9, NULL, &err), RC_OK);
		assert_int_equal(log_syncs, 1);
		assert_true(insert_early(w, id + 1));
		assert_int_equal(log_syncs, 2);
		assert_true(insert_early(w, id + 2));
		assert_int_equal(log_syncs, 2);
		assert_int_equal(count_after_crash(&s), id + 2);
		assert_int_equal(db_sync(w, &err), RC_OK);
		assert_int_equal(log_syncs, 3);
	}
	db_close(w);
	scratch_close(&s);
}

/* Whichever call gets the error, no later sync succeeds, and frames that are
 * not durable in the log do not get into the file. */
static void
check_early_lost(bool in_checkpoint)
{
	struct scratch s, before;
	struct err err = ERR_INIT;
	struct db *w;

	scratch_open(&before);
	w = open_early(&s);
	assert_true(insert_early(w, 2));
	scratch_copy(s.path, before.path);
	sync_fails = SQLITE_IOERR_FSYNC;
	assert_int_equal(in_checkpoint ? db_checkpoint(w, false, NULL, &err)
				       : db_sync(w, &err),
	    RC_IO);
	assert_int_equal(err.rc, RC_IO);
	(void)shim_reset(NULL);
	assert_int_equal(db_sync(w, &err), RC_IO);
	begin(w);
	run(w, G_INSERT, 3);
	assert_int_equal(db_commit(w, &err), RC_IO);
	db_rollback(w);
	assert_int_equal(db_checkpoint(w, false, NULL, &err), RC_IO);
	assert_int_equal(db_sync(w, &err), RC_IO);
	db_close(w);
	assert_int_equal(log_syncs, 0);
	assert_int_equal(log_open_now, 0);
	assert_true(scratch_same(s.path, before.path));
	/* The next process starts with a fresh state. */
	w = open_ready(&s, NULL);
	assert_int_equal(db_fixture_number(w, G_CHECK), 0);
	(void)insert_early(w, 4);
	assert_int_equal(db_sync(w, &err), RC_OK);
	db_close(w);
	scratch_close(&before);
	scratch_close(&s);
}

static void
test_early_lost(void **state)
{

	(void)state;
	check_early_lost(false);
	check_early_lost(true);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup(test_readers_see_commits, shim_reset),
	    cmocka_unit_test_setup(test_spill, shim_reset),
	    cmocka_unit_test_setup(test_read_back, shim_reset),
	    cmocka_unit_test_setup(test_failed_commit, shim_reset),
	    cmocka_unit_test_setup(test_error_before_commit, shim_reset),
	    cmocka_unit_test_setup(test_log_cannot_be_opened, shim_reset),
	    cmocka_unit_test_setup(test_early, shim_reset),
	    cmocka_unit_test_setup(test_early_lost, shim_reset),
	    cmocka_unit_test_setup(test_same_bytes, shim_reset),
	};

	return (cmocka_run_group_tests(tests, setup, NULL));
}
