/* SPDX-License-Identifier: MIT */
/*
 * When each part of upkeep has its turn, and which process purges if there are
 * several: hooks and positions, exact to the millisecond, a position that
 * cannot be written, no scrubber.
 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "contract/rig.h"
#include "schema/sql.h"
#include "upkeep/position.h"
#include "upkeep/upkeep.h"

#define SECOND INT64_C(1000)
#define DAY (86400 * SECOND)
#define EPOCH "0123456789abcdef0123456789abcdef"

struct kept {
	struct rig r;
	char dir[64];
	int fd, hooked, hooked_seldom;
	bool ours;
	struct metrics *metrics;
	struct upkeep *upkeep;
};

static void
hook(void *arg, struct db *db)
{

	(void)db;
	(*(int *)arg)++;
}

static bool
is_ours(void *arg)
{

	return (((struct kept *)arg)->ours);
}

static void
open_kept(struct kept *k, int64_t scrub_rate, bool asks)
{
	struct db_options db = {
	    .mode = DB_READER, .schema = &sql_sqlite_schema};
	struct upkeep_options o = {.db = &db,
	    .epoch = EPOCH,
	    .retention_ms = {7 * DAY, 7 * DAY, 14 * DAY, 30 * DAY, 400 * DAY,
		7 * DAY, 7 * DAY},
	    .purge_rate = 2000,
	    .archive = "",
	    .nhooks = 2};
	struct err err = ERR_INIT;

	memset(k, 0, sizeof(*k));
	rig_open(&k->r);
	(void)snprintf(k->dir, sizeof(k->dir), "/tmp/twinbox-turns-XXXXXX");
	assert_non_null(mkdtemp(k->dir));
	k->fd = open(k->dir, O_RDONLY | O_DIRECTORY);
	k->metrics = metrics_new();
	db.url = k->r.url;
	o.clk = &k->r.clk.clk;
	o.writer = k->r.writer;
	o.metrics = k->metrics;
	o.dir_fd = k->fd;
	o.scrub_rate = scrub_rate;
	o.hooks[0] = (struct upkeep_hook){hook, &k->hooked, 5 * SECOND};
	o.hooks[1] = (struct upkeep_hook){hook, &k->hooked_seldom, 700000};
	o.ours = asks ? is_ours : NULL;
	o.arg = k;
	if (upkeep_new(&o, &k->upkeep, &err) != RC_OK)
		fail_msg("%s", err.text);
}

static void
close_kept(struct kept *k)
{
	char path[96];

	upkeep_stop(k->upkeep);
	upkeep_free(k->upkeep);
	metrics_free(k->metrics);
	rig_check_promises(&k->r);
	rig_close(&k->r);
	if (k->fd >= 0)
		(void)close(k->fd);
	(void)snprintf(path, sizeof(path), "%s/mark", k->dir);
	(void)unlink(path);
	assert_int_equal(rmdir(k->dir), 0);
}

/* Runs a turn after ${ms}, and the writer.  Returns the ms until the next
 * turn. */
static int64_t
turn_after(struct kept *k, int64_t ms)
{
	int64_t next;

	clk_fake_advance(&k->r.clk, ms);
	next = upkeep_turn(k->upkeep);
	(void)writer_run_once(k->r.writer);
	return (next - clk_mono_ms(&k->r.clk.clk));
}

/* Makes rows that are old enough to be purged. */
static void
age_rows(struct kept *k)
{
	int64_t ann, ben, phone;

	ann = rig_user(&k->r, "ann", NULL);
	ben = rig_user(&k->r, "ben", &phone);
	(void)rig_send(&k->r, ann, "ben", "one", NULL);
	(void)rig_send(&k->r, ann, "ben", "two", NULL);
	(void)rig_deliver(&k->r);
	(void)rig_ack(&k->r, ben, phone, 2);
	(void)rig_deliver(&k->r);
	clk_fake_advance(&k->r.clk, 8 * DAY);
}

static int64_t
rows(struct kept *k)
{

	return (
	    rig_number(&k->r, "SELECT count(*) FROM outbox WHERE kind = 1"));
}

static void
test_hooks(void **state)
{
	struct kept k;

	(void)state;
	open_kept(&k, 0, true);
	/* Nothing is due before the next write of the position. */
	assert_int_equal(turn_after(&k, 0), 1000);
	assert_int_equal(k.hooked, 1);
	assert_int_equal(k.hooked_seldom, 1);
	assert_int_equal(turn_after(&k, 400), 600);
	assert_int_equal(turn_after(&k, 4599), 1);
	assert_int_equal(k.hooked, 1);
	assert_int_equal(turn_after(&k, 1), 999);
	assert_int_equal(k.hooked, 2);
	assert_int_equal(turn_after(&k, 694999), 1);
	assert_int_equal(k.hooked_seldom, 1);
	(void)turn_after(&k, 1);
	assert_int_equal(k.hooked_seldom, 2);
	/* Without a scrubber no row is read. */
	assert_int_equal(metrics_get(k.metrics, METRIC_SCRUBBED_ROWS), 0);
	close_kept(&k);
}

/* Another process purges until this one has to.  The metric shows the time
 * since which this process could purge, and 0 while it does not purge. */
static void
test_elsewhere(void **state)
{
	struct kept k;
	int i;

	(void)state;
	open_kept(&k, 200, true);
	age_rows(&k);
	/* Waits until the jump of the clock does not put purging off any
	 * more. */
	for (i = 0; i < 90; i++)
		(void)turn_after(&k, 60 * SECOND);
	assert_int_equal(rows(&k), 2);
	assert_int_equal(metrics_get(k.metrics, METRIC_PURGE_LAST), 0);
	assert_int_equal(metrics_get(k.metrics, METRIC_SCRUBBED_ROWS), 0);
	k.ours = true;
	(void)turn_after(&k, SECOND);
	assert_int_equal(metrics_get(k.metrics, METRIC_PURGE_LAST),
	    clk_wall_ms(&k.r.clk.clk) / 1000);
	for (i = 0; i < 40; i++)
		(void)turn_after(&k, SECOND);
	assert_int_equal(rows(&k), 0);
	assert_true(metrics_get(k.metrics, METRIC_SCRUBBED_ROWS) > 0);
	k.ours = false;
	(void)turn_after(&k, SECOND);
	assert_int_equal(metrics_get(k.metrics, METRIC_PURGE_LAST), 0);
	/* The clock jumps: purging is put off, and the metric is set all the
	 * same, once. */
	(void)turn_after(&k, SECOND);
	k.r.clk.wall_ms += DAY;
	k.ours = true;
	(void)turn_after(&k, SECOND);
	assert_int_equal(metrics_get(k.metrics, METRIC_PURGE_LAST),
	    clk_wall_ms(&k.r.clk.clk) / 1000);
	(void)turn_after(&k, 60 * SECOND);
	assert_int_equal(metrics_get(k.metrics, METRIC_PURGE_LAST),
	    clk_wall_ms(&k.r.clk.clk) / 1000 - 60);
	close_kept(&k);
}

/* The position is written once a second if it has changed.  If that fails, the
 * old one stays. */
static void
test_marks(void **state)
{
	struct err err = ERR_INIT;
	struct position mark;
	struct kept k;
	int i;

	(void)state;
	open_kept(&k, 200, false);
	(void)turn_after(&k, 0);
	assert_int_equal(position_read(k.fd, &mark, &err), RC_OK);
	assert_int_equal(mark.number, 0);
	assert_string_equal(mark.epoch, EPOCH);
	assert_int_equal(position_remove(k.fd, &err), RC_OK);
	/* Nothing has changed, so it is not written again. */
	(void)turn_after(&k, 1000);
	assert_int_equal(position_read(k.fd, &mark, &err), RC_NOT_FOUND);
	age_rows(&k);
	(void)turn_after(&k, 1000);
	assert_int_equal(position_read(k.fd, &mark, &err), RC_OK);
	assert_int_equal(
	    mark.number, rig_number(&k.r, "SELECT max(id) FROM outbox"));
	assert_int_equal(metrics_get(k.metrics, METRIC_MARK_FAILURES), 0);

	/* The folder is gone. */
	(void)rig_send(&k.r, 1, "ben", "three", NULL);
	assert_int_equal(close(k.fd), 0);
	for (i = 1; i <= 3; i++) {
		(void)turn_after(&k, 1000);
		assert_int_equal(
		    metrics_get(k.metrics, METRIC_MARK_FAILURES), i);
		(void)turn_after(&k, 0);
		assert_int_equal(
		    metrics_get(k.metrics, METRIC_MARK_FAILURES), i);
	}
	k.fd = -1;
	close_kept(&k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_hooks),
	    cmocka_unit_test(test_elsewhere),
	    cmocka_unit_test(test_marks),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
