/* SPDX-License-Identifier: MIT */
/*
 * The start of the store, step by step.  The log is moved into the file before
 * the schema is read.  The boot row is written last, with a different value
 * each time, and is durable when the start returns.  Errors and waits leave
 * later steps undone.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fault/disks.h"
#include "fault/story.h"
#include "schema/sql.h"
#include "store/account.h"
#include "store/recovery.h"

#define WAITS 2

static struct story s;

/* The steps that a start has done.  The values are positions in the order of
 * steps. */
struct steps {
	struct db *db;
	int n;
	int synced, truncated; /* the last such call */
	int migrated, entered, rested;
	int rests;
	char row_before[24], entered_before[24];
	enum rc migrate_rc, enter_rc;
};

/* ---- a database that was killed, and a start of it ---- */

static void
leave_log(void)
{

	plvfs_clear(disk);
	story_begin(&s, disk, DB_SYNC_FULL);
	story_send(&s, ALICE, BOB, 5, 400);
	story_kill_rig(disk, &s.rig);
}

static struct db *
open_db(const struct plvfs *on)
{
	struct db_options o = {.mode = DB_WRITER, .schema = &sql_sqlite_schema};
	struct err err = ERR_INIT;
	struct db *db;
	char url[96];

	(void)snprintf(url, sizeof(url), "sqlite:%s", plvfs_path(on));
	o.url = url;
	if (db_open(&o, &db, &err) != RC_OK)
		fail_msg("open: %s", err.text);
	return (db);
}

static const char *
meta(struct db *db, const char *key)
{
	static char text[24];
	struct err err = ERR_INIT;

	if (store_meta_get(db, key, text, sizeof(text), &err) != RC_OK)
		text[0] = '\0';
	return (text);
}

static void
at_call(void *arg, enum plvfs_call call)
{
	struct steps *t = arg;

	if (call == PLVFS_SYNC)
		t->synced = ++t->n;
	if (call == PLVFS_TRUNCATE)
		t->truncated = ++t->n;
}

static enum rc
migrate(void *arg, struct db *db, struct err *err)
{
	struct steps *t = arg;
	int from, to;

	t->migrated = ++t->n;
	assert_false(db_in_transaction(db));
	if (t->migrate_rc != RC_OK)
		return (err_set(err, t->migrate_rc, "as the test wants"));
	return (db_migrate(db, 1, &from, &to, err));
}

static enum rc
enter(void *arg, struct db *db, bool *ret_wait, struct err *err)
{
	struct steps *t = arg;

	t->entered = ++t->n;
	assert_true(db_in_transaction(db));
	assert_string_equal(meta(db, "booted_at"), t->row_before);
	assert_string_equal(meta(db, "entered"), t->entered_before);
	assert_false(*ret_wait);
	*ret_wait = t->rests < WAITS;
	if (store_meta_set(db, "entered", "yes", err) != RC_OK)
		fail_msg("meta: %s", err->text);
	return (t->enter_rc == RC_OK
		    ? RC_OK
		    : err_set(err, t->enter_rc, "as the test wants"));
}

static void
rest(void *arg)
{
	struct steps *t = arg;

	t->rested = ++t->n;
	t->rests++;
	assert_false(db_in_transaction(t->db));
}

static enum rc
start(struct steps *t, struct db *db, int64_t now_ms, struct err *err)
{
	struct store_recovery how = {NULL, t, migrate, enter, rest};
	struct clk_fake clk;
	enum rc rc;

	t->db = db;
	clk_fake_init(&clk, now_ms);
	how.clk = &clk.clk;
	(void)snprintf(
	    t->row_before, sizeof(t->row_before), "%s", meta(db, "booted_at"));
	(void)snprintf(t->entered_before, sizeof(t->entered_before), "%s",
	    meta(db, "entered"));
	plvfs_watch(disk, at_call, t);
	rc = store_recover(db, &how, err);
	plvfs_watch(disk, NULL, NULL);
	return (rc);
}

/* Checks what is durable now: cuts the power with no unsynced sector kept. */
static void
check_durable(const char *row)
{
	struct db *db;

	plvfs_cut(disk, 1, 0, 0, image);
	db = open_db(image);
	assert_string_equal(meta(db, "booted_at"), row);
	db_close(db);
}

/* ---- tests ---- */

static void
test_order(void **state)
{
	struct steps t = {0};
	struct err err = ERR_INIT;
	struct db *db;

	(void)state;
	leave_log();
	db = open_db(disk);
	assert_int_equal(start(&t, db, RIG_START_MS + 5, &err), RC_OK);
	/* The order of the steps: the file is synced and the log emptied, then
	 * the schema, then the boot row. */
	assert_int_equal(t.migrated, t.truncated + 1);
	assert_true(t.truncated > 2);
	assert_int_equal(t.rests, WAITS);
	assert_int_equal(t.entered, t.rested + 1);
	assert_true(t.migrated < t.rested && t.entered < t.synced);
	assert_string_equal(meta(db, "entered"), "yes");
	assert_string_equal(meta(db, "booted_at"), "1700000000005");
	check_durable("1700000000005");
	db_close(db);
	assert_null(story_verify(&s, STORY_ALL, disk, false, NULL));
}

/* Several starts in one millisecond, and a start after the clock was put back:
 * each of them writes and syncs another boot row. */
static void
test_row_differs(void **state)
{
	static const struct {
		int64_t now_ms;
		const char *row;
	} starts[] = {{RIG_START_MS + 7, "1700000000007"},
	    {RIG_START_MS + 7, "1700000000008"},
	    {RIG_START_MS + 7, "1700000000007"},
	    {RIG_START_MS - 1, "1699999999999"}};
	struct steps t;
	struct err err = ERR_INIT;
	struct db *db;
	size_t i;

	(void)state;
	leave_log();
	for (i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		t = (struct steps){.rests = WAITS};
		db = open_db(disk);
		assert_int_equal(start(&t, db, starts[i].now_ms, &err), RC_OK);
		assert_true(t.entered < t.synced);
		check_durable(starts[i].row);
		db_close(db);
	}
}

/* No step runs after a step that has failed. */
static void
test_errors_end_it(void **state)
{
	static const struct plvfs_fault full = {
	    .calls = PLVFS_WRITE, .at = 1, .code = SQLITE_FULL};
	struct steps t;
	struct err err = ERR_INIT;
	struct db *db;

	(void)state;
	leave_log();
	db = open_db(disk);
	t = (struct steps){0};
	plvfs_fail(disk, &full);
	assert_int_equal(start(&t, db, RIG_START_MS, &err), RC_FULL);
	assert_true(plvfs_failed(disk));
	plvfs_fail(disk, NULL);
	assert_int_equal(t.migrated, 0);
	t = (struct steps){.migrate_rc = RC_INVALID};
	assert_int_equal(start(&t, db, RIG_START_MS, &err), RC_INVALID);
	assert_true(t.migrated > 0 && t.entered == 0);
	t = (struct steps){.enter_rc = RC_CONFLICT, .rests = WAITS};
	assert_int_equal(start(&t, db, RIG_START_MS, &err), RC_CONFLICT);
	assert_true(t.entered > 0);
	assert_false(db_in_transaction(db));
	assert_string_equal(meta(db, "booted_at"), t.row_before);
	assert_string_equal(meta(db, "entered"), "");
	db_close(db);
	assert_null(story_verify(&s, STORY_ALL, disk, false, NULL));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_order),
	    cmocka_unit_test(test_row_differs),
	    cmocka_unit_test(test_errors_end_it),
	};

	return (cmocka_run_group_tests(tests, disks_setup, disks_teardown));
}
