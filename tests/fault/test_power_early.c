/* SPDX-License-Identifier: MIT */
/*
 * Early commits (early.h) and a power cut at every point of their run.
 *
 * Whatever is left on the disk: it holds the first k commits, completely, and
 * no other commit.  These include all commits that were durable at the time of
 * the cut.  So the consequence of a commit (a delivery) is never there without
 * it (the message).
 *
 * Two controls must be caught: an answer at the commit instead of at the sync,
 * and a skipped sync of a new log's header.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "fault/disks.h"
#include "fault/early.h"
#include "fault/story.h"
#include <cmocka.h>

/* At every 61st point the power is cut again, in the start that follows. */
#define AGAIN_EVERY 61
#define SEEDS 6
/* The controls check every third place. */
#define CONTROL_STRIDE 3
#define BEHIND_SEEDS 30

/* The percentages of unsynced sectors that survive, by seed: those of
 * test_power_loss; two with which whole commits survive, also behind others
 * that do not; one with which whole frames of an older log survive under a new
 * one. */
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

/* Checks that ${db} shows a prefix of the commits, with at least ${least} of
 * them.  Returns NULL, or what is wrong. */
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

/* Opens and checks the database that a cut left on ${on}.  If ${ret_at} is not
 * NULL, also commits one more row and returns in *${ret_at} the crash point of
 * ${on} at which that row is durable. */
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

/* The image showed ${found} commits when it was opened.  Then a row was added,
 * which is durable from point ${more_at} on.  Cuts the power at each point of
 * this start. */
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

/* Returns the last commit whose point in ${promised} is not after ${point}.
 * This commit must be there after a cut at ${point}. */
static size_t
least_at(const struct early_run *r, const size_t *promised, size_t point)
{
	size_t k, n = 0;

	for (k = 1; k <= r->commits; k++)
		if (promised[k] <= point)
			n = k;
	return (n);
}

/* Cuts the power at every ${stride}-th point from ${from} on, and checks that
 * the commits in ${promised} are there.  ${again}: at some points cuts the
 * power again, in the start that follows. */
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

/* Cuts the power right after the header of each new log was written, when
 * almost no unsynced sector survives: whole frames of the log before stay under
 * the new header. */
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

/* The number of runs in which a sync fails. */
#define FAILING 10

static struct early_run run;

/* All durable commits are there, and what is there is always a prefix. */
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
	/* Unanswered commits were there, too, completely. */
	assert_true(t.ahead * story_stride() > 100);
}

/* After a failed sync nothing more is promised, even if a later sync succeeds,
 * and nothing that was promised before is lost. */
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

/* Control: an answer at the commit, before the sync, comes too early. */
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

/* Control: if the header of a new log is not synced, frames of the old log come
 * back. */
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
