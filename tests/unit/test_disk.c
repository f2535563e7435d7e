/* SPDX-License-Identifier: MIT */
/*
 * The low-disk mark: when it is set and cleared, and how it appears in the log
 * and the metrics.  This file plays the file system and the database.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/statvfs.h>

#include <cmocka.h>

#include "main/server.h"
#include "unit/logged.h"

#define RESERVE 1000
#define BLOCK 10

static struct server server;
static struct {
	int64_t room; /* -1: unknown */
	bool shared;
	int looks;
} world;

/* ---- the file system and the database (main.am) ---- */

int __wrap_statvfs(const char *path, struct statvfs *ret);
bool __wrap_db_multi_writer(const struct db *db);

int
__wrap_statvfs(const char *path, struct statvfs *ret)
{

	assert_string_equal(path, "/data/twinbox.db");
	world.looks++;
	if (world.room < 0)
		return (-1);
	/* Blocks that only root may use do not count as room. */
	*ret = (struct statvfs){.f_frsize = BLOCK,
	    .f_bsize = 4096,
	    .f_bfree = 1000000,
	    .f_bavail = (fsblkcnt_t)(world.room / BLOCK)};
	return (0);
}

bool
__wrap_db_multi_writer(const struct db *db)
{

	(void)db;
	return (world.shared);
}

static int
set_up(void **state)
{

	(void)state;
	memset(&server, 0, sizeof(server));
	memset(&world, 0, sizeof(world));
	server.config.disk_reserve_bytes = RESERVE;
	server.db_options.url = "sqlite:/data/twinbox.db";
	assert_non_null(server.metrics = metrics_new());
	return (0);
}

static int
tear_down(void **state)
{

	(void)state;
	metrics_free(server.metrics);
	return (0);
}

/* Returns whether the mark is set after a check of a disk with ${room}
 * bytes. */
static bool
low_at(int64_t room)
{

	world.room = room;
	disk_look(&server, NULL);
	assert_int_equal(metrics_get(server.metrics, METRIC_DISK_LOW),
	    atomic_load(&server.disk_low));
	assert_int_equal(
	    metrics_get(server.metrics, METRIC_DISK_ROOM), room < 0 ? 0 : room);
	return (atomic_load(&server.disk_low));
}

/* Returns the number of times that ${word} occurs in ${text}. */
static int
count(const char *text, const char *word)
{
	int n;

	for (n = 0; (text = strstr(text, word)) != NULL; n++)
		text += strlen(word);
	return (n);
}

/* The mark is set and cleared, and each change is logged once. */
static void
test_mark(void **state)
{
	const char *log;

	(void)state;
	logged_start(NULL);
	assert_false(low_at(RESERVE));
	assert_true(low_at(RESERVE - BLOCK));
	assert_true(low_at(0));
	assert_false(low_at(RESERVE));
	assert_false(low_at(100 * RESERVE));
	assert_true(low_at(BLOCK));
	log = logged_stop();
	assert_int_equal(count(log, "store.low"), 2);
	assert_int_equal(count(log, "store.room"), 1);
	assert_non_null(strstr(log, "free=990 reserve=1000"));
}

/* A disk whose room is unknown does not set the mark. */
static void
test_unknown(void **state)
{

	(void)state;
	assert_false(low_at(-1));
	assert_true(low_at(0));
	assert_false(low_at(-1));
}

/* Without a reserve, or with the disk of a database server, there is no
 * check. */
static void
test_no_look(void **state)
{

	(void)state;
	world.shared = true;
	disk_look(&server, NULL);
	world.shared = false;
	server.config.disk_reserve_bytes = 0;
	disk_look(&server, NULL);
	assert_int_equal(world.looks, 0);
	assert_false(atomic_load(&server.disk_low));
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
	    T(test_mark),
	    T(test_unknown),
	    T(test_no_look),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
