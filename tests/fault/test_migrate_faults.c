/* SPDX-License-Identifier: MIT */
/*
 * Interrupts the first start at every place: by an error of the disk, by a
 * kill, by a power cut.  A schema step is there completely, with its version
 * number, or not at all, and the next start works.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fault/disks.h"
#include "fault/story.h"
#include "schema/sql.h"

#define MOST 20000
#define SENDS 20

/* The earlier schemas, the current one, and a later one. */
static struct sql_migration steps[16];
static struct db_schema oldest, older, old, before, later;

static int
setup(void **state)
{
	int n = sql_sqlite_schema.nmigrations;

	assert_true(n > 0 && n < 16);
	memcpy(
	    steps, sql_sqlite_schema.migrations, (size_t)n * sizeof(steps[0]));
	steps[n] = (struct sql_migration){steps[n - 1].number + 1, "later",
	    "CREATE TABLE later_a (a INTEGER) STRICT;"
	    "INSERT INTO later_a VALUES (1), (2);"
	    "ALTER TABLE meta ADD COLUMN later TEXT;"
	    "CREATE INDEX later_b ON later_a (a);"};
	oldest = sql_sqlite_schema;
	oldest.nmigrations = 1;
	older = sql_sqlite_schema;
	older.nmigrations = 2;
	old = sql_sqlite_schema;
	old.nmigrations = 3;
	before = sql_sqlite_schema;
	before.nmigrations = 4;
	later = sql_sqlite_schema;
	later.migrations = steps;
	later.nmigrations = n + 1;
	return (disks_setup(state));
}

/* Opens the database, runs the start sequence and closes it. */
static enum rc
start(const struct plvfs *on, const struct db_schema *schema, struct err *err)
{
	struct db_options o = {0};
	char url[96];
	struct db *db;
	enum rc rc;

	(void)snprintf(url, sizeof(url), "sqlite:%s", plvfs_path(on));
	o.url = url;
	o.mode = DB_WRITER;
	o.schema = schema;
	rc = db_open(&o, &db, err);
	if (rc != RC_OK)
		return (rc);
	rc = rig_boot(db, RIG_START_MS, err);
	db_close(db);
	return (rc);
}

static void
must_start(const struct plvfs *on, const struct db_schema *schema)
{
	struct err err = ERR_INIT;

	if (start(on, schema, &err) != RC_OK)
		fail_msg("start: %s", err.text);
}

/* Returns the number that a query gives, or 0 if there is no database. */
static int64_t
number(const struct plvfs *on, const char *sql)
{
	sqlite3_stmt *st;
	sqlite3 *db;
	int64_t n;

	if (sqlite3_open_v2(plvfs_path(on), &db, SQLITE_OPEN_READWRITE, NULL) ==
	    SQLITE_CANTOPEN) {
		(void)sqlite3_close(db);
		return (0);
	}
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	n = sqlite3_column_int64(st, 0);
	(void)sqlite3_finalize(st);
	(void)sqlite3_close(db);
	return (n);
}

/* Counts tables, indexes, triggers, and the columns of the tables. */
#define COUNT_OBJECTS                                                          \
	"SELECT count(*) + (SELECT count(*) FROM sqlite_schema s, "            \
	"pragma_table_info(s.name) WHERE s.type = 'table') FROM sqlite_schema"
#define ASK_VERSION "PRAGMA user_version"

/* Leaves a database with messages and a log on the disk, as a kill does. */
static void
leave_log(void)
{
	struct rig_options o = {.path = plvfs_path(disk)};
	struct rig r;
	int64_t alice;
	int i;

	rig_open_with(&r, &o);
	alice = rig_user(&r, "alice", NULL);
	(void)rig_user(&r, "bob", NULL);
	for (i = 0; i < SENDS; i++)
		assert_int_equal(
		    rig_send(&r, alice, "bob", "hello", NULL).unit.rc, RC_OK);
	assert_int_equal(rig_deliver(&r), SENDS);
	story_kill_rig(disk, &r);
}

/* Checks that the database has ${n} messages and can be used. */
static void
check_usable(const struct plvfs *on, int n)
{
	struct rig_options o = {.path = plvfs_path(on), .seed = 99};
	struct rig r;
	int64_t carol;

	rig_open_with(&r, &o);
	assert_int_equal(rig_number(&r, "SELECT count(*) FROM messages"), n);
	carol = rig_user(&r, "carol", NULL);
	(void)rig_user(&r, "dave", NULL);
	assert_int_equal(
	    rig_send(&r, carol, "dave", "hello", NULL).unit.rc, RC_OK);
	assert_int_equal(rig_deliver(&r), 1);
	rig_check_promises(&r);
	rig_close(&r);
}

/* ---- errors ---- */

struct sweep {
	const char *what;
	unsigned calls;
	int code;
	bool stays;
	enum rc rc;     /* the result of a start that fails */
	bool must_fail; /* at one place or more */
};

static const struct sweep sweeps[] = {
    {"open fails", PLVFS_OPEN, SQLITE_CANTOPEN, false, RC_IO, true},
    {"write fails", PLVFS_WRITE, SQLITE_IOERR_WRITE, false, RC_IO, true},
    {"write fails from then on", PLVFS_WRITE, SQLITE_IOERR_WRITE, true, RC_IO,
	true},
    {"no room", PLVFS_WRITE, SQLITE_FULL, false, RC_FULL, true},
    {"no room from then on", PLVFS_WRITE, SQLITE_FULL, true, RC_FULL, true},
    {"sync fails", PLVFS_SYNC, SQLITE_IOERR_FSYNC, false, RC_IO, true},
    {"truncate fails", PLVFS_TRUNCATE, SQLITE_IOERR_TRUNCATE, false, RC_IO,
	true},
    {"delete fails", PLVFS_DELETE, SQLITE_IOERR_DELETE, false, RC_IO, false},
    {"read fails", PLVFS_READ, SQLITE_IOERR_READ, false, RC_IO, true},
    {"no shared memory", PLVFS_SHM, SQLITE_IOERR_SHMMAP, false, RC_IO, false},
};

/* Sweeps over the first start, or if ${log}, over a later start, which finds a
 * write-ahead log. */
static void
run_sweep(const struct sweep *w, bool log)
{
	struct plvfs_fault f = {w->calls, 0, w->code, w->stays, true};
	struct err err;
	size_t failed = 0, stride;
	enum rc rc;

	/* Tries every place for calls of which there are few. */
	stride = w->calls == PLVFS_WRITE || w->calls == PLVFS_READ
		     ? story_stride()
		     : 1;
	for (f.at = 1; f.at < MOST; f.at += stride) {
		plvfs_clear(disk);
		if (log)
			leave_log();
		plvfs_fail(disk, &f);
		err = (struct err)ERR_INIT;
		rc = start(disk, &sql_sqlite_schema, &err);
		if (!plvfs_failed(disk)) {
			if (rc != RC_OK)
				fail_msg("%s: %s", w->what, err.text);
			break;
		}
		plvfs_fail(disk, NULL);
		if (rc != RC_OK && rc != w->rc)
			fail_msg("%s %llu: %s: %s", w->what,
			    (unsigned long long)f.at, rc_name(rc), err.text);
		failed += rc != RC_OK;
		/* The power is cut after the start has ended, in whatever
		 * way. */
		plvfs_cut(disk, 0, 0, 0, image);
		check_usable(image, log ? SENDS : 0);
		must_start(disk, &sql_sqlite_schema);
		check_usable(disk, log ? SENDS : 0);
	}
	assert_true(f.at < MOST);
	print_message("# %s%s: %llu places, %zu starts failed\n", w->what,
	    log ? " with a log" : "", (unsigned long long)f.at - 1, failed);
	if (w->must_fail)
		assert_true(failed > 0);
}

static void
test_errors_at_first_start(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(sweeps) / sizeof(sweeps[0]); i++)
		run_sweep(&sweeps[i], false);
}

static void
test_errors_with_a_log(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(sweeps) / sizeof(sweeps[0]); i++)
		run_sweep(&sweeps[i], true);
}

/* ---- kills and power cuts ---- */

/* No schema, and each schema that may be found. */
#define VERSIONS 7

/* Checks that the image holds one of the versions, completely, and that a start
 * upgrades it to the last one. */
static void
check_image(const int64_t versions[VERSIONS], const int64_t objects[VERSIONS],
    const struct db_schema *schema)
{
	int64_t version;
	int i;

	version = number(image, ASK_VERSION);
	for (i = 0; i < VERSIONS && versions[i] != version; i++)
		continue;
	assert_true(i < VERSIONS);
	assert_int_equal(number(image, COUNT_OBJECTS), objects[i]);
	must_start(image, schema);
	assert_int_equal(number(image, ASK_VERSION), versions[VERSIONS - 1]);
	assert_int_equal(number(image, COUNT_OBJECTS), objects[VERSIONS - 1]);
	must_start(image, schema);
}

/* A first start and upgrades, interrupted at each point: all writes are kept (a
 * kill), or the unsynced ones are lost in part or as a whole (a power cut). */
static void
test_cuts(void **state)
{
	static const unsigned keep[] = {100, 0, 45, 85};
	const struct db_schema *const schemas[VERSIONS] = {
	    NULL, &oldest, &older, &old, &before, &sql_sqlite_schema, &later};
	int64_t versions[VERSIONS] = {0}, objects[VERSIONS] = {0};
	struct plvfs_replay *r;
	size_t n;
	int i;

	(void)state;
	assert_int_equal(sql_sqlite_schema.nmigrations, VERSIONS - 2);
	plvfs_clear(disk);
	for (i = 1; i < VERSIONS; i++) {
		must_start(disk, schemas[i]);
		versions[i] = number(disk, ASK_VERSION);
		objects[i] = number(disk, COUNT_OBJECTS);
		assert_int_equal(versions[i], versions[i - 1] + 1);
		assert_true(objects[i] > objects[i - 1]);
	}
	r = plvfs_replay_new(disk);
	n = 0;
	do {
		for (i = 0; i < 4 && n % story_stride() == 0; i++) {
			plvfs_replay_image(r, (uint64_t)i, keep[i],
			    keep[i] % 100 != 0 ? 10 : 0, image);
			check_image(versions, objects, &later);
		}
		n++;
	} while (plvfs_replay_next(r));
	plvfs_replay_free(r);
	print_message("# %zu points of two starts, 4 images each\n", n);
}

/* An older program does not change a newer database. */
static void
test_newer_is_refused(void **state)
{
	struct err err = ERR_INIT;
	int64_t objects;

	(void)state;
	plvfs_clear(disk);
	must_start(disk, &later);
	objects = number(disk, COUNT_OBJECTS);
	assert_int_equal(start(disk, &sql_sqlite_schema, &err), RC_INVALID);
	assert_non_null(strstr(err.text, "newer"));
	assert_int_equal(number(disk, COUNT_OBJECTS), objects);
	must_start(disk, &later);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_errors_at_first_start),
	    cmocka_unit_test(test_errors_with_a_log),
	    cmocka_unit_test(test_cuts),
	    cmocka_unit_test(test_newer_is_refused),
	};

	return (cmocka_run_group_tests(tests, setup, disks_teardown));
}
