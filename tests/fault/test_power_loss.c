/* SPDX-License-Identifier: MIT */
/*
 * The power is cut at every point of a scripted run.  Each sector that was not
 * synced is kept, lost or torn.  Nothing that was answered is lost.  The
 * control syncs less and must be caught.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fault/disks.h"
#include "fault/story.h"

#define SEEDS 3
/* At every 23rd point the power is cut again, in the start that follows. */
#define AGAIN_EVERY 23
/* The controls of test_normal_loses() check fewer places: more than one of
 * three has a loss. */
#define CONTROL_STRIDE 3

/* The percentages of unsynced sectors that survive, and that are torn, by
 * seed. */
static const unsigned keep[SEEDS] = {0, 45, 85};
static const unsigned torn[SEEDS] = {0, 10, 10};

static void
check_played(const struct story *s)
{

	assert_int_equal(s->rig.fatal, 0);
	assert_int_equal(story_answered(s), s->nsends);
	assert_true(s->nsends >= 20);
	assert_true(s->nevents > 2 * s->nsends);
}

/* Plays the run from an empty disk, with a restart in the middle. */
static void
play(struct story *s, void (*begin)(struct story *s, struct plvfs *disk))
{

	plvfs_clear(disk);
	begin(s, disk);
	story_first_half(s);
	assert_true(writer_stats_get(s->rig.writer).checkpoints > 0);
	rig_restart(&s->rig);
	story_second_half(s);
	assert_true(writer_stats_get(s->rig.writer).checkpoints > 0);
	story_end(s);
	check_played(s);
}

/* Plays the run with commits as the product makes them: early, and answered by
 * the thread that syncs, whose turns the story takes.  In the middle the
 * process is killed while a sync is owed.  ${drops}: as a control, syncs are
 * skipped. */
static void
play_held(struct story *s, bool drops)
{
	struct rig_turns before, after;

	plvfs_clear(disk);
	story_begin_held(s, disk, drops);
	story_first_half(s);
	assert_true(writer_stats_get(s->rig.writer).checkpoints > 0);
	before = rig_turns(&s->rig);
	story_kill(s);
	story_second_half(s);
	assert_true(writer_stats_get(s->rig.writer).checkpoints > 0);
	after = rig_turns(&s->rig);
	story_end(s);
	check_played(s);
	print_message("# held: %zu syncs (%zu among writes), at most %zu "
		      "batches before one\n",
	    before.syncs + after.syncs, s->among_writes, before.owed_most);
	assert_true(before.syncs + after.syncs > 10 && s->among_writes > 3);
	assert_true(before.owed_most == 3);
}

/* A start has written to the disk `image`. Cuts the power at each point of that
 * start. */
static void
cut_again(struct story *s, size_t point, size_t started, struct backlog *t)
{
	struct plvfs_replay *r;
	size_t i;
	int seed;

	r = plvfs_replay_new(image);
	for (i = 0; i <= started; i++) {
		for (seed = 0; seed < SEEDS; seed++) {
			plvfs_replay_image(r, (uint64_t)seed + 77, keep[seed],
			    torn[seed], second_image);
			backlog_note(t,
			    story_verify(s, point, second_image, false, NULL),
			    " and again", point, seed);
			t->again++;
		}
		if (!plvfs_replay_next(r))
			break;
	}
	plvfs_replay_free(r);
}

static void
cut_here(struct story *s, const struct plvfs_replay *r, size_t point,
    bool again, struct backlog *t)
{
	size_t started;
	int seed;

	for (seed = 0; seed < SEEDS; seed++) {
		started = 0;
		plvfs_replay_image(
		    r, (uint64_t)seed, keep[seed], torn[seed], image);
		backlog_note(t, story_verify(s, point, image, false, &started),
		    "", point, seed);
		if (again && seed == 1)
			cut_again(s, point, started, t);
	}
	t->points++;
}

/* Cuts the power at every ${stride}-th point.  ${again}: at some points cuts
 * the power again, in the start that follows. */
static void
cut_everywhere(struct story *s, size_t stride, bool again, struct backlog *t)
{
	struct plvfs_replay *r;
	size_t point;

	memset(t, 0, sizeof(*t));
	point = 0;
	r = plvfs_replay_new(disk);
	do {
		if (point % (stride * story_stride()) == 0)
			cut_here(
			    s, r, point, again && point % AGAIN_EVERY == 0, t);
		point++;
	} while (plvfs_replay_next(r));
	plvfs_replay_free(r);
	assert_int_equal(point, plvfs_ops(disk) + 1);
	assert_true(t->points > 50);
}

static void
report(const struct story *s, const char *mode, const struct backlog *t)
{

	print_message("# %s: %zu sends, %zu events, %zu crash points, "
		      "%zu images (%zu of a second cut), %zu with a loss\n",
	    mode, s->nsends, s->nevents, t->points, t->images, t->again,
	    t->bad);
}

static void
begin_full(struct story *s, struct plvfs *on)
{

	story_begin(s, on, DB_SYNC_FULL);
}

/* The log buffer needs the syncs of FULL and is off with NORMAL.  It is off in
 * both runs here, so that the pragma is the only difference. */
static void
begin_plain_full(struct story *s, struct plvfs *on)
{

	story_begin_plain(s, on, DB_SYNC_FULL);
}

static void
begin_plain_normal(struct story *s, struct plvfs *on)
{

	story_begin_plain(s, on, DB_SYNC_NORMAL);
}

/* Nothing that was answered is lost, no message is there twice, and every
 * message arrives. */
static void
test_full(void **state)
{
	static struct story s;
	struct backlog t;

	(void)state;
	play(&s, begin_full);
	cut_everywhere(&s, 1, true, &t);
	report(&s, "synchronous=FULL", &t);
	if (t.bad > 0)
		fail_msg("%zu of %zu: %s", t.bad, t.images, t.first);
}

/* Control: with fewer syncs the same test must find a loss, and with FULL,
 * otherwise unchanged, it must find none. */
static void
test_normal_loses(void **state)
{
	static struct story s;
	struct backlog full, normal;

	(void)state;
	play(&s, begin_plain_full);
	cut_everywhere(&s, CONTROL_STRIDE, false, &full);
	report(&s, "synchronous=FULL, not buffered", &full);
	if (full.bad > 0)
		fail_msg("%zu of %zu: %s", full.bad, full.images, full.first);
	play(&s, begin_plain_normal);
	cut_everywhere(&s, CONTROL_STRIDE, false, &normal);
	report(&s, "control, synchronous=NORMAL, not buffered", &normal);
	print_message("# first: %s\n", normal.first);
	assert_true(normal.bad > 0);
	assert_non_null(strstr(normal.first, "lost"));
}

/* The same for commits that wait for their sync. */
static void
test_held(void **state)
{
	static struct story s;
	struct backlog t;

	(void)state;
	play_held(&s, false);
	cut_everywhere(&s, 1, true, &t);
	report(&s, "synced beside the writer", &t);
	if (t.bad > 0)
		fail_msg("%zu of %zu: %s", t.bad, t.images, t.first);
}

/* Control: what is answered without that sync is lost. */
static void
test_held_without_sync_loses(void **state)
{
	static struct story s;
	struct backlog t;

	(void)state;
	play_held(&s, true);
	cut_everywhere(&s, 1, false, &t);
	report(&s, "control, not synced beside it", &t);
	print_message("# first: %s\n", t.first);
	assert_true(t.bad > 0);
	assert_non_null(strstr(t.first, "lost"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_full),
	    cmocka_unit_test(test_normal_loses),
	    cmocka_unit_test(test_held),
	    cmocka_unit_test(test_held_without_sync_loses),
	};

	return (cmocka_run_group_tests(tests, disks_setup, disks_teardown));
}
