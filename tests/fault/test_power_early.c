/* SPDX-License-Identifier: MIT */
/*
 * Early commits (early.h) and a cut of the power at every point of their run.
 *
 * Whatever is left of the disk: it holds the first k commits,
 * whole, and no other; at least those that were durable then.  So what was made
 * from a commit (a delivery) is never there without it (the message).
 *
 * Controls that must be caught: to answer at the commit, and to put off the
 * sync of a new log's header too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "fault/disks.h"
#include "fault/early.h"
#include "fault/story.h"
#include <cmocka.h>

/* Every so many points the power is cut once more, in the start after it. */
#define AGAIN_EVERY 61
#define SEEDS 6
/* The controls look at fewer places. */
#define CONTROL_STRIDE 3
#define BEHIND_SEEDS 30

/* How much of the unsynced survives, by seed: those of test_power_loss; two
 * with which whole commits do, also behind others that do not; one with which
 * whole frames of an older log stay under a new one. */
static const unsigned keep[SEEDS] = {0, 45, 85, 98, 100, 1};
static const unsigned torn[SEEDS] = {0, 10, 10, 1, 0, 0};

static int
setup(void **state)
{

	(void)disks_setup(state);
	early_install();
	return (0);
}

/* ---- the check ---- */

/* Whether ${db} shows the first commits, at least ${least}.  NULL, or what is
 * wrong. */
static const char *
check(const struct early_run *r, struct db *db, size_t least,
    struct early_shown *ret)
{
	static char text[200];
	struct err err = ERR_INIT;
	int64_t damages = -1;

	if (early_look(db, ret, &damages, &err) != RC_OK)
		return ("the file cannot be read");
	if (damages != 0)
		return ("the file is damaged");
	if (ret->last < 0 || ret->last > EARLY_COMMITS ||
	    ret->digest != r->digest[ret->last]) {
		(void)snprintf(text, sizeof(text),
		    "the rows are not those of the first %lld commits",
		    (long long)ret->last);
		return (text);
	}
	if ((size_t)ret->last < least) {
		(void)snprintf(text, sizeof(text),
		    "commit %zu is lost, %lld is the last", least,
		    (long long)ret->last);
		return (text);
	}
	return (NULL);
}

/* Opens what is on ${on} after a cut and checks it; if ${ret_at}, also writes
 * to it: the crash point of ${on} from which on that is durable. */
static const char *
verify(const struct early_run *r, const struct plvfs *on, size_t least,
    struct early_shown *ret, size_t *ret_at)
{
	struct err err = ERR_INIT;
	struct db *db;
	const char *bad;

	memset(ret, 0, sizeof(*ret));
	if (early_open(on, DB_WRITER, &db, &err) != RC_OK)
		return ("it does not open");
	bad = check(r, db, least, ret);
	if (bad == NULL && ret_at != NULL) {
		if (early_add_more(db, &err) != RC_OK)
			bad = "it takes no more commits";
		*ret_at = plvfs_ops(on);
	}
	db_close(db);
	return (bad);
}

/* The image showed ${found} when it was opened, and had one row more that was
 * durable from point ${more_at} on: cuts the power at each point of that. */
static void
cut_again(const struct early_run *r, size_t point, size_t found, size_t more_at,
    struct backlog *t)
{
	struct plvfs_replay *replay;
	struct early_shown s;
	const char *bad;
	size_t at = 0;
	int seed;

	replay = plvfs_replay_new(image);
	do {
		for (seed = 0; seed < SEEDS; seed++) {
			plvfs_replay_image(replay, (uint64_t)seed + 77,
			    keep[seed], torn[seed], second_image);
			bad = verify(r, second_image, found, &s, NULL);
			if (bad == NULL && at >= more_at && !s.more)
				bad = "what was synced after the start is lost";
			backlog_note(t, bad, " and again", point, seed);
			t->again++;
		}
		at++;
	} while (plvfs_replay_next(replay));
	plvfs_replay_free(replay);
}

static void
cut_here(const struct early_run *r, const struct plvfs_replay *replay,
    size_t point, size_t least, bool again, struct backlog *t)
{
	struct early_shown s;
	size_t more_at;
	const char *bad;
	int seed;

	for (seed = 0; seed < SEEDS; seed++) {
		plvfs_replay_image(
		    replay, (uint64_t)seed, keep[seed], torn[seed], image);
		bad = verify(r, image, least, &s, &more_at);
		backlog_note(t, bad, "", point, seed);
		t->ahead += bad == NULL && (size_t)s.last > least;
		if (bad == NULL && again && seed == 3)
			cut_again(r, point, (size_t)s.last, more_at, t);
	}
	t->points++;
}

/* How many of ${promised} lie at or before ${point}: the last commit that must
 * be there. */
static size_t
least_at(const struct early_run *r, const size_t *promised, size_t point)
{
	size_t k, n = 0;

	for (k = 1; k <= r->commits; k++)
		if (promised[k] <= point)
			n = k;
	return (n);
}

/* Cuts the power at every ${stride}-th point from ${from} on, when what is
 * ${promised} must be there; ${again}: at some once more, in the start after.
 */
static void
cut_everywhere(const struct early_run *r, const size_t *promised, size_t from,
    size_t stride, bool again, struct backlog *t)
{
	struct plvfs_replay *replay;
	size_t point = 0;

	memset(t, 0, sizeof(*t));
	replay = plvfs_replay_new(disk);
	do {
		if (point >= from && point % stride == 0)
			cut_here(r, replay, point, least_at(r, promised, point),
			    again && point % AGAIN_EVERY == 0, t);
		point++;
	} while (plvfs_replay_next(replay));
	plvfs_replay_free(replay);
	assert_int_equal(point, plvfs_ops(disk) + 1);
}

/* The same behind the header of each new log, where of what was not synced
 * nearly nothing survives: whole frames of the log before stay under it. */
static void
cut_behind_headers(const struct early_run *r, struct backlog *t)
{
	struct plvfs_replay *replay;
	struct early_shown s;
	size_t point = 0, i = 0;
	int seed;

	memset(t, 0, sizeof(*t));
	replay = plvfs_replay_new(disk);
	do {
		while (i < r->logs && point > r->header_at[i] + 3)
			i++;
		if (i == r->logs || point < r->header_at[i])
			continue;
		for (seed = 0; seed < BEHIND_SEEDS; seed++) {
			plvfs_replay_image(replay, (uint64_t)seed, 1, 0, image);
			backlog_note(t,
			    verify(r, image, least_at(r, r->durable, point), &s,
				NULL),
			    "", point, seed);
		}
		t->points++;
	} while (point++, plvfs_replay_next(replay));
	plvfs_replay_free(replay);
}

static void
report(const struct early_run *r, const char *what, const struct backlog *t)
{

	print_message(
	    "# %s: %zu commits, %zu syncs (%zu among writes), %zu "
	    "logs, %zu cuts, %zu crash points, %zu images (%zu of a second "
	    "cut, %zu with more than was promised), %zu with a "
	    "loss\n",
	    what, r->commits, r->syncs, r->among_writes, r->logs, r->cuts,
	    t->points, t->images, t->again, t->ahead, t->bad);
}

/* ---- tests ---- */

/* Runs in which a sync fails. */
#define FAILING 10

static struct early_run run;

/* All that was durable is there, and never more than the first commits. */
static void
test_prefix(void **state)
{
	static const struct early_options plain = {0};
	struct backlog t, behind;

	(void)state;
	early_play(&run, disk, &plain);
	assert_int_equal(run.commits, EARLY_COMMITS);
	assert_true(run.syncs > EARLY_COMMITS / 3 && run.among_writes > 10);
	assert_true(run.logs > 6 && run.killed);
	assert_true(run.cuts > 4);
	cut_everywhere(&run, run.durable, 0, story_stride(), true, &t);
	report(&run, "promised when synced", &t);
	cut_behind_headers(&run, &behind);
	report(&run, "the same behind new headers", &behind);
	if (t.bad > 0)
		fail_msg("%zu of %zu: %s", t.bad, t.images, t.first);
	if (behind.bad > 0)
		fail_msg(
		    "%zu of %zu: %s", behind.bad, behind.images, behind.first);
	assert_true(t.points * story_stride() > 300 && t.again > 100);
	/* Commits that nobody was told of were there too, and whole. */
	assert_true(t.ahead * story_stride() > 100);
}

/* After a sync that failed nothing is promised, whatever a later one says, and
 * nothing that was promised before is lost. */
static void
test_failed_sync(void **state)
{
	struct early_options failing = {0};
	size_t from, points = 0, images = 0;
	struct backlog t;
	int i;

	(void)state;
	for (i = 0; i < FAILING; i++) {
		failing.fail_at = 1 + 3 * (size_t)i;
		early_play(&run, disk, &failing);
		assert_true(run.failed);
		from = run.durable[least_at(&run, run.durable, SIZE_MAX - 1)];
		cut_everywhere(
		    &run, run.durable, from, story_stride(), false, &t);
		points += t.points;
		images += t.images;
		if (t.bad > 0)
			fail_msg("sync %zu fails, %zu of %zu: %s",
			    failing.fail_at, t.bad, t.images, t.first);
	}
	print_message("# a sync fails: %d runs, %zu crash points, %zu images, "
		      "0 with a loss\n",
	    FAILING, points, images);
	assert_true(images * story_stride() > 200);
}

/* The control: who answers at the commit has answered too early. */
static void
test_early_answer_loses(void **state)
{
	static const struct early_options plain = {0};
	struct backlog t;

	(void)state;
	early_play(&run, disk, &plain);
	cut_everywhere(
	    &run, run.early, 0, CONTROL_STRIDE * story_stride(), false, &t);
	report(&run, "control, promised at the commit", &t);
	print_message("# first: %s\n", t.first);
	assert_true(t.bad > 0);
	assert_non_null(strstr(t.first, "lost"));
}

/* The control: with the header of a new log unsynced, frames of the old log
 * come back. */
static void
test_header_put_off_loses(void **state)
{
	static const struct early_options late = {.headers_put_off = true};
	struct backlog t;

	(void)state;
	early_play(&run, disk, &late);
	assert_true(run.put_off > 6);
	cut_behind_headers(&run, &t);
	report(&run, "control, headers synced late", &t);
	print_message("# first: %s\n", t.first);
	assert_true(t.bad > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_prefix),
	    cmocka_unit_test(test_failed_sync),
	    cmocka_unit_test(test_early_answer_loses),
	    cmocka_unit_test(test_header_put_off_loses),
	};

	return (cmocka_run_group_tests(tests, setup, disks_teardown));
}
