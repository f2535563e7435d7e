/* SPDX-License-Identifier: MIT */
/*
 * A disk that fails: the k-th sync, write or read, for each k; a full disk; no
 * memory.  Everything that was answered stays, the rest is refused, and a retry
 * by id gives each message exactly once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "fault/disks.h"
#include "fault/story.h"

/* The most steps of a sweep.  A sweep with more steps is a bug. */
#define MOST 20000
/* SQLite allocates several thousand times: the sweep tries every fifth one. */
#define HEAP_STEP 5
/* With a small cache SQLite writes several hundred times: every third one. */
#define SPILL_STEP 3

static struct story s;

/* The writer's connection, and the reasons of its rollbacks. */
static struct {
	sqlite3 *handle;
	bool committing;
	int before; /* changes before the transaction */
	size_t by_statement, halfway, by_commit; /* halfway: after changes */
} undone;

/* SQLite's own allocator, in which one call can be made to fail. */
static sqlite3_mem_methods heap;
static int64_t heap_fail_in; /* 0: never */

static bool
heap_fails(void)
{

	return (heap_fail_in > 0 && --heap_fail_in == 0);
}

static void *
heap_alloc(int n)
{

	return (heap_fails() ? NULL : heap.xMalloc(n));
}

static void *
heap_realloc(void *p, int n)
{

	return (heap_fails() ? NULL : heap.xRealloc(p, n));
}

/* SQLite calls this for each connection that opens. */
static int
on_open(sqlite3 *handle, char **ret_error, const struct sqlite3_api_routines *x)
{

	(void)ret_error;
	(void)x;
	if (sqlite3_db_readonly(handle, "main") == 0)
		undone.handle = handle;
	return (SQLITE_OK);
}

static int
setup(void **state)
{
	sqlite3_mem_methods m;

	assert_int_equal(
	    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &heap), SQLITE_OK);
	m = heap;
	m.xMalloc = heap_alloc;
	m.xRealloc = heap_realloc;
	assert_int_equal(sqlite3_config(SQLITE_CONFIG_MALLOC, &m), SQLITE_OK);
	(void)disks_setup(state);
	return (sqlite3_auto_extension((void (*)(void))on_open));
}

static void
begin(void)
{

	plvfs_clear(disk);
	story_begin(&s, disk, DB_SYNC_FULL);
}

/* Ends the process, normally or by a kill that leaves the disk as it is. */
static void
end(bool kill)
{

	plvfs_dead(disk, kill);
	rig_close(&s.rig);
	plvfs_dead(disk, false);
}

static void
verify(struct plvfs *on, bool adopt, const char *what, uint64_t k)
{
	const char *bad;

	bad = story_verify(&s, STORY_ALL, on, adopt, NULL);
	if (bad != NULL)
		fail_msg("%s %llu: %s", what, (unsigned long long)k, bad);
}

/* Starts after the fault, from what the kernel still shows.  Then cuts the
 * power: all that has been answered by now, also to retries, is still there. */
static void
verify_twice(const char *what, uint64_t k)
{

	verify(disk, true, what, k);
	assert_int_equal(story_answered(&s), s.nsends);
	plvfs_cut(disk, k, 0, 0, image);
	verify(image, false, what, k);
}

/* Checks that no unit has a result other than RC_OK, ${a} or ${b}. */
static void
check_results(enum rc a, enum rc b, const char *what, uint64_t k)
{
	size_t i;

	for (i = 0; i < RC_COUNT; i++)
		if (s.results[i] > 0 && i != RC_OK && i != a && i != b)
			fail_msg("%s %llu: %zu units came to %s", what,
			    (unsigned long long)k, s.results[i],
			    rc_name((enum rc)i));
}

/* The fault at ${k} is over: the refused sends are accepted now, and new ones,
 * and everything is there after the end. */
static void
go_on(const char *what, uint64_t k)
{

	story_retry(&s);
	story_deliver(&s);
	story_send(&s, ALICE, BOB, 3, 20);
	assert_int_equal(story_answered(&s), s.nsends);
	rig_check_promises(&s.rig);
	end(k % 2 == 0);
	verify_twice(what, k);
}

/* ---- errors after which the store cannot be trusted ---- */

/* Each ${k}-th call of ${calls} fails once with ${code}: nothing is answered
 * after it, and the fatal hook is called once.  ${half}: the fault comes in the
 * second half, after a restart with a cold cache. */
static void
sweep_fatal(unsigned calls, int code, bool partly, bool half, const char *what)
{
	struct plvfs_fault f = {calls, 0, code, false, partly};
	size_t answered = 0;

	for (f.at = 1; f.at < MOST; f.at += story_stride()) {
		begin();
		if (half) {
			story_first_half(&s);
			rig_restart(&s.rig);
		}
		plvfs_fail(disk, &f);
		if (half)
			story_second_half(&s);
		else
			story_first_half(&s);
		if (!plvfs_failed(disk))
			break;
		plvfs_fail(disk, NULL);
		if (s.rig.fatal != 1)
			fail_msg("%s %llu: fatal %d times", what,
			    (unsigned long long)f.at, s.rig.fatal);
		assert_int_equal(s.ok_after_fatal, 0);
		check_results(RC_IO, RC_CLOSED, what, f.at);
		/* Later sends are refused, although the disk works again. */
		story_send(&s, ALICE, BOB, 1, 20);
		assert_int_equal(s.sends[s.nsends - 1].unit.unit.rc, RC_CLOSED);
		answered += story_answered(&s);
		end(f.at % 2 == 0);
		verify_twice(what, f.at);
	}
	assert_true(f.at > 1 && f.at < MOST);
	end(false);
	assert_int_equal(story_answered(&s), s.nsends);
	print_message("# %s: %llu places, %zu sends answered before it\n", what,
	    (unsigned long long)f.at - 1, answered);
}

static void
test_sync_fails(void **state)
{

	(void)state;
	sweep_fatal(PLVFS_SYNC, SQLITE_IOERR_FSYNC, false, false, "fsync EIO");
	sweep_fatal(PLVFS_SYNC, SQLITE_IOERR_FSYNC, false, true,
	    "fsync EIO after a restart");
}

/* Control: a start without the start sequence believes the pages that the
 * kernel shows after a failed sync.  It answers a retry with "known" and loses
 * the message with the power. */
static void
test_unsafe_start_loses(void **state)
{
	struct plvfs_fault f = {
	    PLVFS_SYNC, 0, SQLITE_IOERR_FSYNC, false, false};
	size_t lost = 0;

	(void)state;
	for (f.at = 1; f.at < MOST; f.at += story_stride()) {
		begin();
		plvfs_fail(disk, &f);
		story_first_half(&s);
		if (!plvfs_failed(disk))
			break;
		plvfs_fail(disk, NULL);
		end(true);
		s.unsafe_start = true;
		verify(disk, true, "unsafe start", f.at);
		plvfs_cut(disk, f.at, 0, 0, image);
		s.unsafe_start = false;
		lost += story_verify(&s, STORY_ALL, image, false, NULL) != NULL;
	}
	end(false);
	assert_true(lost > 0);
	print_message("# without the start sequence: lost after %zu of %llu\n",
	    lost, (unsigned long long)f.at - 1);
}

static void
test_write_fails(void **state)
{

	(void)state;
	sweep_fatal(PLVFS_WRITE, SQLITE_IOERR_WRITE, false, false, "write EIO");
	sweep_fatal(
	    PLVFS_WRITE, SQLITE_IOERR_WRITE, true, false, "half a write EIO");
}

/* The relay and the test read, too: they get the error back.  Only an error in
 * the writer is fatal. */
static void
test_read_fails(void **state)
{
	struct plvfs_fault f = {PLVFS_READ, 0, SQLITE_IOERR_READ, false, false};
	size_t fatal = 0;

	(void)state;
	for (f.at = 1; f.at < MOST; f.at += story_stride()) {
		begin();
		story_first_half(&s);
		rig_restart(&s.rig);
		plvfs_fail(disk, &f);
		story_second_half(&s);
		if (!plvfs_failed(disk))
			break;
		plvfs_fail(disk, NULL);
		assert_int_equal(s.ok_after_fatal, 0);
		check_results(RC_IO, RC_CLOSED, "read EIO", f.at);
		assert_true(s.results[RC_IO] > 0 || s.rig.fatal == 1);
		fatal += (size_t)s.rig.fatal;
		end(f.at % 2 == 0);
		verify_twice("read EIO", f.at);
	}
	assert_true(f.at > 1 && f.at < MOST);
	end(false);
	assert_true(fatal > 0);
	print_message("# read EIO: %llu places, %zu fatal\n",
	    (unsigned long long)f.at - 1, fatal);
}

/* ---- full disk ---- */

static int
on_statement(unsigned event, void *arg, void *statement, void *sql)
{

	(void)event;
	(void)arg;
	(void)statement;
	undone.committing = false;
	if (strncmp(sql, "BEGIN", 5) == 0)
		undone.before = sqlite3_total_changes(undone.handle);
	return (0);
}

static int
on_commit(void *arg)
{

	(void)arg;
	undone.committing = true;
	return (0);
}

static void
on_rollback(void *arg)
{

	(void)arg;
	undone.by_commit += undone.committing;
	undone.by_statement += !undone.committing;
	undone.halfway += !undone.committing &&
			  sqlite3_total_changes(undone.handle) > undone.before;
}

/* Sets a pragma of the writer's connection, or only reads it if ${value} is
 * negative.  Returns its value. */
static int64_t
pragma(const char *name, int64_t value)
{
	sqlite3_stmt *st;
	char sql[64];

	(void)snprintf(sql, sizeof(sql),
	    value < 0 ? "PRAGMA %s" : "PRAGMA %s=%lld", name, (long long)value);
	assert_int_equal(
	    sqlite3_prepare_v2(undone.handle, sql, -1, &st, NULL), SQLITE_OK);
	value =
	    sqlite3_step(st) == SQLITE_ROW ? sqlite3_column_int64(st, 0) : -1;
	assert_int_equal(sqlite3_finalize(st), SQLITE_OK);
	return (value);
}

/* Checks the state after a batch of the first half was refused at ${k}, and
 * after there is room again. */
static void
after_full(const char *what, uint64_t k)
{
	const char *bad;
	size_t n;

	assert_int_equal(s.rig.fatal, 0);
	check_results(RC_FULL, RC_FULL, what, k);
	/* Reads still work, and show no partial batch. */
	bad = rig_broken_promise(&s.rig);
	if (bad != NULL)
		fail_msg("%s %llu: %s", what, (unsigned long long)k, bad);
	n = (size_t)rig_number(&s.rig, "SELECT count(*) FROM messages");
	assert_int_equal(n, story_answered(&s));
	plvfs_fail(disk, NULL);
	(void)pragma("max_page_count", INT32_MAX);
	go_on(what, k);
}

/* Watches the transactions of the writer from now on.  Called after begin(). */
static void
watch_undone(void)
{

	assert_ptr_equal(
	    sqlite3_commit_hook(undone.handle, on_commit, NULL), NULL);
	assert_ptr_equal(
	    sqlite3_rollback_hook(undone.handle, on_rollback, NULL), NULL);
	assert_int_equal(sqlite3_trace_v2(undone.handle, SQLITE_TRACE_STMT,
			     on_statement, NULL),
	    SQLITE_OK);
}

/* The disk is full from the k-th write on, or only at the k-th. */
static void
sweep_full(bool stays, bool partly, const char *what)
{
	struct plvfs_fault f = {PLVFS_WRITE, 0, SQLITE_FULL, stays, partly};
	size_t refused = 0;

	for (f.at = 1; f.at < MOST; f.at += story_stride()) {
		begin();
		plvfs_fail(disk, &f);
		story_first_half(&s);
		if (!plvfs_failed(disk))
			break;
		refused += s.results[RC_FULL];
		after_full(what, f.at);
	}
	assert_true(f.at > 1 && f.at < MOST);
	end(false);
	assert_true(refused > 0);
	print_message("# %s: %llu places, %zu units refused\n", what,
	    (unsigned long long)f.at - 1, refused);
}

static void
test_full(void **state)
{

	(void)state;
	sweep_full(true, false, "no room");
	sweep_full(false, true, "half a write, once");
}

/* The database may grow by ${k} pages, for each k.  The limit is hit by a
 * statement, before anything of the batch is written. */
static void
test_full_by_statement(void **state)
{
	const char *what = "no more pages";
	size_t refused = 0;
	int64_t k;

	(void)state;
	undone.by_statement = undone.halfway = undone.by_commit = 0;
	for (k = 0; k < MOST; k += (int64_t)story_stride()) {
		begin();
		watch_undone();
		(void)pragma("max_page_count", pragma("page_count", -1) + k);
		story_first_half(&s);
		if (s.results[RC_FULL] == 0)
			break;
		refused += s.results[RC_FULL];
		after_full(what, (uint64_t)k);
	}
	assert_true(k > 1 && k < MOST);
	end(false);
	assert_int_equal(undone.by_commit, 0);
	assert_true(undone.halfway > 1);
	print_message(
	    "# %s: %lld limits, %zu units refused, %zu batches undone "
	    "by a statement, %zu of them halfway\n",
	    what, (long long)k, refused, undone.by_statement, undone.halfway);
}

/* The writer's cache is so small that pages are written in the middle of a
 * batch, and the disk is full then. */
static void
test_full_by_spill(void **state)
{
	struct plvfs_fault f = {PLVFS_WRITE, 0, SQLITE_FULL, true, true};
	const char *what = "no room for a page of the cache";
	size_t refused = 0;

	(void)state;
	undone.by_statement = undone.halfway = undone.by_commit = 0;
	for (f.at = 1; f.at < MOST; f.at += SPILL_STEP * story_stride()) {
		begin();
		watch_undone();
		(void)pragma("cache_size", 1);
		plvfs_fail(disk, &f);
		story_first_half(&s);
		if (!plvfs_failed(disk))
			break;
		refused += s.results[RC_FULL];
		after_full(what, f.at);
	}
	assert_true(f.at > 1 && f.at < MOST);
	end(false);
	print_message(
	    "# %s: %llu places, every %dth, %zu units refused, %zu batches undone "
	    "by a statement, %zu of them halfway, %zu by COMMIT\n",
	    what, (unsigned long long)f.at - 1, SPILL_STEP, refused,
	    undone.by_statement, undone.halfway, undone.by_commit);
	assert_true(undone.halfway > 1);
}

/* ---- no memory ---- */

/* After the failure at ${k} the store works as before. */
static void
after_no_memory(const char *what, uint64_t k)
{

	assert_int_equal(s.rig.fatal, 0);
	check_results(RC_NO_MEMORY, RC_NO_MEMORY, what, k);
	rig_check_promises(&s.rig);
	go_on(what, k);
}

static void
test_no_memory(void **state)
{
	uint64_t k;

	(void)state;
	for (k = 1; k < MOST; k += story_stride()) {
		begin();
		mem_fail_at((int64_t)k);
		story_first_half(&s);
		if (mem_fail_pending())
			break;
		mem_fail_at(0);
		after_no_memory("allocation", k);
	}
	mem_fail_at(0);
	assert_true(k > 1 && k < MOST);
	end(false);
	print_message("# %llu allocations\n", (unsigned long long)k - 1);
}

/* The same with failures of SQLite's own allocations. */
static void
test_no_memory_for_sqlite(void **state)
{
	uint64_t k;

	(void)state;
	for (k = 1; k < MOST; k += HEAP_STEP * story_stride()) {
		begin();
		heap_fail_in = (int64_t)k;
		story_first_half(&s);
		if (heap_fail_in > 0)
			break;
		after_no_memory("SQLite's allocation", k);
	}
	heap_fail_in = 0;
	assert_true(k > 1 && k < MOST);
	end(false);
	print_message("# %llu allocations of SQLite, every %dth\n",
	    (unsigned long long)k - 1, HEAP_STEP);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_sync_fails),
	    cmocka_unit_test(test_unsafe_start_loses),
	    cmocka_unit_test(test_write_fails),
	    cmocka_unit_test(test_read_fails),
	    cmocka_unit_test(test_full),
	    cmocka_unit_test(test_full_by_statement),
	    cmocka_unit_test(test_full_by_spill),
	    cmocka_unit_test(test_no_memory),
	    cmocka_unit_test(test_no_memory_for_sqlite),
	};

	return (cmocka_run_group_tests(tests, setup, disks_teardown));
}
