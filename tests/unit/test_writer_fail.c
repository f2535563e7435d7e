/* SPDX-License-Identifier: MIT */
/*
 * The writer when the store fails: the result of units, which hooks are called,
 * and when there is a checkpoint.
 */
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/commits.h"
#include "unit/writer_fixture.h"

/* ---- failures ---- */

/* One bad unit costs the others no more than a transaction each. */
static void
test_run_singly(void **state)
{
	struct work w[3];

	(void)state;
	assert_int_equal(world_submit(&w[0], &world_client, 'a'), RC_OK);
	assert_int_equal(world_submit(&w[1], &world_client, 'b'), RC_OK);
	assert_int_equal(world_submit(&w[2], &world_client, 'c'), RC_OK);
	w[1].fails = RC_CONFLICT;
	assert_int_equal(writer_run_once(world->writer), 3);
	assert_string_equal(world->story,
	    "BEGIN begin second: a ROLLBACK aborted "
	    "BEGIN begin second: a flush COMMIT committed SYNC published a=ok "
	    "BEGIN begin second: ROLLBACK aborted b=RC_CONFLICT "
	    "BEGIN begin second: c flush COMMIT committed SYNC published c=ok ");
	assert_int_equal(writer_stats_get(world->writer).abandoned, 1);
	assert_int_equal(writer_stats_get(world->writer).units, 2);
	assert_int_equal(world->fatals, 0);
	world_forget();
	assert_int_equal(world_submit(&w[0], &world_client, 'd'), RC_OK);
	assert_int_equal(writer_run_once(world->writer), 1);
	assert_int_equal(w[0].unit.rc, RC_OK);
}

static void
test_flush_fails(void **state)
{
	struct work w;

	(void)state;
	world->flush_rc = RC_NO_MEMORY;
	assert_int_equal(world_submit(&w, &world_delivery, 'a'), RC_OK);
	assert_int_equal(writer_run_once(world->writer), 1);
	assert_string_equal(world->story,
	    "BEGIN begin first: a flush ROLLBACK aborted "
	    "BEGIN begin first: a flush COMMIT committed SYNC published a=ok ");
}

static void
test_commit_fails_once(void **state)
{
	struct work w;

	(void)state;
	world->commit_rc = RC_NO_MEMORY;
	assert_int_equal(world_submit(&w, &world_delivery, 'a'), RC_OK);
	assert_int_equal(writer_run_once(world->writer), 1);
	assert_string_equal(world->story,
	    "BEGIN begin first: a flush commit-fails ROLLBACK aborted "
	    "BEGIN begin first: a flush COMMIT committed SYNC published a=ok ");
	assert_int_equal(w.dones, 1);
}

/* If the begin hook fails, no unit is applied in this transaction: the database
 * may have ended it already, and would then commit each statement
 * separately. */
static void
test_begin_hook_fails(void **state)
{
	struct work w;

	(void)state;
	world->hook_rc = RC_NO_MEMORY;
	assert_int_equal(world_submit(&w, &world_delivery, 'a'), RC_OK);
	assert_int_equal(writer_run_once(world->writer), 1);
	assert_string_equal(world->story,
	    "BEGIN begin ROLLBACK aborted "
	    "BEGIN begin first: a flush COMMIT committed SYNC published a=ok ");
	assert_int_equal(w.dones, 1);
}

/* A full disk refuses the whole batch at once.  When there is room, the writer
 * goes on. */
static void
test_full(void **state)
{
	struct work w[2];

	(void)state;
	world->commit_rc = RC_FULL;
	assert_int_equal(world_submit(&w[0], &world_delivery, 'a'), RC_OK);
	assert_int_equal(world_submit(&w[1], &world_client, 'b'), RC_OK);
	assert_int_equal(writer_run_once(world->writer), 2);
	assert_string_equal(world->story,
	    "BEGIN begin first: a second: b flush commit-fails ROLLBACK "
	    "aborted a=RC_FULL b=RC_FULL ");
	assert_int_equal(writer_stats_get(world->writer).full, 1);
	assert_int_equal(world->fatals, 0);
	assert_int_equal(world_submit(&w[0], &world_delivery, 'c'), RC_OK);
	assert_int_equal(writer_run_once(world->writer), 1);
	assert_int_equal(w[0].unit.rc, RC_OK);
}

/* After an I/O error nothing is certain about the store: the fatal hook is
 * called once, and every later unit is refused without a call to the store. */
static void
check_fatal(enum rc rc)
{
	struct work w[2];

	assert_int_equal(world_submit(&w[0], &world_delivery, 'a'), RC_OK);
	assert_int_equal(world_submit(&w[1], &world_client, 'b'), RC_OK);
	assert_int_equal(writer_run_once(world->writer), 2);
	assert_int_equal(w[0].unit.rc, rc);
	assert_int_equal(w[1].unit.rc, rc);
	assert_int_equal(world->fatals, 1);
	world_forget();
	assert_int_equal(world_submit(&w[0], &world_delivery, 'c'), RC_OK);
	assert_int_equal(world_submit(&w[1], &world_client, 'd'), RC_OK);
	assert_int_equal(writer_run_once(world->writer), 2);
	assert_string_equal(world->story, "c=RC_CLOSED d=RC_CLOSED ");
	assert_int_equal(world->fatals, 1);
}

static void
test_fatal_commit(void **state)
{

	(void)state;
	world->commit_rc = RC_IO;
	check_fatal(RC_IO);
}

static void
test_fatal_begin(void **state)
{

	(void)state;
	world->begin_rc = RC_CORRUPT;
	check_fatal(RC_CORRUPT);
}

/* A transaction cannot begin, for example for want of memory.
 * writer_can_begin() says so, and a later run tries again without a unit. */
static void
test_cannot_begin(void **state)
{
	struct work w;

	(void)state;
	assert_true(writer_can_begin(world->writer));
	world->begin_rc = RC_BUSY;
	assert_int_equal(world_submit(&w, &world_client, 'a'), RC_OK);
	assert_int_equal(writer_run_once(world->writer), 1);
	assert_int_equal(w.unit.rc, RC_BUSY);
	world->begin_rc = RC_BUSY;
	assert_false(writer_can_begin(world->writer));
	world_forget();
	assert_int_equal(writer_run_once(world->writer), 0);
	assert_false(writer_can_begin(world->writer));
	assert_int_equal(writer_run_once(world->writer), 0);
	assert_true(writer_can_begin(world->writer));
	assert_string_equal(world->story, "BEGIN BEGIN ROLLBACK ");
	/* Without a failure there is no such try. */
	world_forget();
	assert_int_equal(writer_run_once(world->writer), 0);
	assert_string_equal(world->story, "");
}

static void
test_fatal_flush(void **state)
{

	(void)state;
	world->flush_rc = RC_IO;
	check_fatal(RC_IO);
}

static void
test_fatal_uncertain(void **state)
{

	(void)state;
	world->commit_rc = RC_UNCERTAIN;
	check_fatal(RC_UNCERTAIN);
}

/* The store fails while units run one by one: committed units stay accepted,
 * the others are refused. */
static void
test_fatal_while_singly(void **state)
{
	struct work w[4];
	int i;

	(void)state;
	for (i = 0; i < 4; i++)
		assert_int_equal(
		    world_submit(&w[i], &world_client, (char)('a' + i)), RC_OK);
	w[3].fails = RC_CONFLICT;
	world->commit_after = 1;
	world->commit_rc = RC_IO;
	assert_int_equal(writer_run_once(world->writer), 4);
	assert_string_equal(world->story,
	    "BEGIN begin second: a b c ROLLBACK aborted "
	    "BEGIN begin second: a flush COMMIT committed SYNC published a=ok "
	    "BEGIN begin second: b flush commit-fails ROLLBACK aborted "
	    "fatal b=RC_IO c=RC_CLOSED d=RC_CLOSED ");
	assert_int_equal(world->fatals, 1);
}

/* The batch is committed, but the log cannot be synced: the batch is not
 * published, every unit is refused, and there is no checkpoint, because the
 * state of the log is unknown. */
static void
test_fatal_sync(void **state)
{
	struct work w[3];

	(void)state;
	world->sync_rc = RC_IO;
	world->log_bytes = 1000;
	assert_int_equal(world_submit(&w[0], &world_delivery, 'a'), RC_OK);
	assert_int_equal(world_submit(&w[1], &world_client, 'b'), RC_OK);
	assert_int_equal(writer_run_once(world->writer), 2);
	assert_string_equal(world->story,
	    "BEGIN begin first: a second: b flush COMMIT committed "
	    "sync-fails fatal lost a=RC_IO b=RC_IO ");
	assert_int_equal(w[0].dones, 1);
	assert_int_equal(w[1].dones, 1);
	assert_int_equal(world->published, 0);
	assert_int_equal(world->fatals, 1);
	assert_false(commits_wait(writer_commits(world->writer)));
	world_forget();
	assert_int_equal(world_submit(&w[2], &world_client, 'c'), RC_OK);
	assert_int_equal(writer_run_once(world->writer), 1);
	assert_string_equal(world->story, "c=RC_CLOSED ");
	assert_int_equal(world->fatals, 1);
}

/* The same while units run one by one: the next unit never begins. */
static void
test_fatal_sync_singly(void **state)
{
	struct work w[3];

	(void)state;
	world->sync_rc = RC_IO;
	assert_int_equal(world_submit(&w[0], &world_client, 'a'), RC_OK);
	assert_int_equal(world_submit(&w[1], &world_client, 'b'), RC_OK);
	assert_int_equal(world_submit(&w[2], &world_client, 'c'), RC_OK);
	w[2].fails = RC_CONFLICT;
	assert_int_equal(writer_run_once(world->writer), 3);
	assert_string_equal(world->story,
	    "BEGIN begin second: a b ROLLBACK aborted "
	    "BEGIN begin second: a flush COMMIT committed "
	    "sync-fails fatal lost a=RC_IO b=RC_CLOSED c=RC_CLOSED ");
	assert_int_equal(world->fatals, 1);
}

static sem_t refused;

static enum rc
apply_nothing(struct tx *tx, struct unit **units, size_t n, struct err *err)
{

	(void)tx;
	(void)units;
	(void)n;
	(void)err;
	return (RC_OK);
}

static void
done_refused(struct unit *unit)
{

	((struct work *)(void *)unit)->dones++;
	(void)sem_post(&refused);
}

static enum rc
submit_plain(struct work *w)
{
	static const struct unit_kind plain = {.name = "plain",
	    .locks = unit_locks_nothing,
	    .queue = UNIT_CLIENT,
	    .order = 1,
	    .apply = apply_nothing};

	memset(w, 0, sizeof(*w));
	w->unit.kind = &plain;
	w->unit.finish = done_refused;
	w->unit.bytes = 1;
	return (writer_submit(world->writer, &w->unit));
}

/* With its threads, too, the writer refuses later units, however few come after
 * however many that were lost. */
static void
test_fatal_sync_threads(void **state)
{
	struct err err = ERR_INIT;
	struct work w[101];
	int i;

	(void)state;
	(void)sem_init(&refused, 0, 0);
	world->sync_rc = RC_IO;
	for (i = 0; i < 100; i++)
		assert_int_equal(submit_plain(&w[i]), RC_OK);
	assert_int_equal(writer_start(world->writer, &err), RC_OK);
	for (i = 0; i < 100; i++)
		(void)sem_wait(&refused);
	assert_int_equal(submit_plain(&w[100]), RC_OK);
	(void)sem_wait(&refused);
	writer_stop(world->writer);
	for (i = 0; i < 101; i++) {
		assert_int_equal(w[i].dones, 1);
		assert_int_equal(w[i].unit.rc, i < 100 ? RC_IO : RC_CLOSED);
	}
	assert_int_equal(world->fatals, 1);
	(void)sem_destroy(&refused);
}

/* A commit that needs no sync causes none. */
static void
test_owes_nothing(void **state)
{
	struct work w;

	(void)state;
	world->owes_nothing = true;
	world->sync_rc = RC_IO;
	assert_int_equal(world_submit(&w, &world_delivery, 'a'), RC_OK);
	assert_int_equal(writer_run_once(world->writer), 1);
	assert_string_equal(world->story,
	    "BEGIN begin first: a flush COMMIT committed published a=ok ");
	assert_true(commits_wait(writer_commits(world->writer)));
}

/* Readers do not wait for commits that have failed. */
static void
test_failed_commits_are_not_waited_for(void **state)
{
	struct work w;

	(void)state;
	world->commit_rc = RC_FULL;
	assert_int_equal(world_submit(&w, &world_delivery, 'a'), RC_OK);
	assert_int_equal(writer_run_once(world->writer), 1);
	assert_int_equal(w.unit.rc, RC_FULL);
	assert_true(commits_wait(writer_commits(world->writer)));
}

/* The lock of the database is held: one wait for the batch, not one for each
 * unit. */
static void
test_busy(void **state)
{
	struct work w[2];

	(void)state;
	world->begin_rc = RC_BUSY;
	assert_int_equal(world_submit(&w[0], &world_delivery, 'a'), RC_OK);
	assert_int_equal(world_submit(&w[1], &world_client, 'b'), RC_OK);
	assert_int_equal(writer_run_once(world->writer), 2);
	assert_string_equal(world->story, "BEGIN a=RC_BUSY b=RC_BUSY ");
	assert_int_equal(world->fatals, 0);
}

/* ---- conflicts with other transactions ---- */

#define ATTEMPT "BEGIN begin first: a second: b flush "
#define LOSES ATTEMPT "deadlock ROLLBACK aborted "
#define WINS ATTEMPT "COMMIT committed SYNC published a=ok b=ok "

/* Runs a batch of two units, whose first ${n} commits fail with ${rc},
 * retryable. */
static void
run_deadlocks(int n, enum rc rc, struct work w[2])
{

	world_forget();
	world->deadlocks = n;
	world->deadlock_rc = rc;
	assert_int_equal(world_submit(&w[0], &world_delivery, 'a'), RC_OK);
	assert_int_equal(world_submit(&w[1], &world_client, 'b'), RC_OK);
	assert_int_equal(writer_run_once(world->writer), 2);
	assert_int_equal(w[0].dones, 1);
	assert_int_equal(w[1].dones, 1);
}

/* The whole batch is run again, and no unit gets the failure. */
static void
test_again(void **state)
{
	struct work w[2];

	(void)state;
	run_deadlocks(1, RC_CONFLICT, w);
	assert_string_equal(world->story, LOSES WINS);
	run_deadlocks(4, RC_INTERNAL, w);
	assert_string_equal(world->story, LOSES LOSES LOSES LOSES WINS);
	run_deadlocks(1, RC_EXISTS, w);
	assert_string_equal(world->story, LOSES WINS);
	assert_int_equal(writer_stats_get(world->writer).units, 6);
	assert_int_equal(writer_stats_get(world->writer).abandoned, 0);
	assert_int_equal(world->fatals, 0);
}

/* After five times the batch is given up.  The units are not at fault: clients
 * may send them again, and they do not run one by one. */
static void
test_again_in_vain(void **state)
{
	static const enum rc said[] = {RC_CONFLICT, RC_INTERNAL};
	struct work w[2];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(said) / sizeof(said[0]); i++) {
		run_deadlocks(9, said[i], w);
		assert_string_equal(world->story,
		    LOSES LOSES LOSES LOSES LOSES "a=RC_BUSY b=RC_BUSY ");
		assert_int_equal(world->deadlocks, 4);
		run_deadlocks(5, said[i], w);
		assert_int_equal(w[0].unit.rc, RC_BUSY);
		run_deadlocks(0, RC_OK, w);
		assert_string_equal(world->story, WINS);
	}
	assert_int_equal(writer_stats_get(world->writer).abandoned, 0);
	assert_int_equal(world->fatals, 0);
}

#define SINGLY                                                                 \
	"BEGIN begin first: a flush COMMIT committed SYNC published a=ok "     \
	"BEGIN begin second: b flush COMMIT committed SYNC published b=ok "

/* A row that exists all five times is the fault of one unit: they run one by
 * one. */
static void
test_again_exists(void **state)
{
	struct work w[2];

	(void)state;
	run_deadlocks(5, RC_EXISTS, w);
	assert_string_equal(world->story, LOSES LOSES LOSES LOSES LOSES SINGLY);
	assert_int_equal(writer_stats_get(world->writer).abandoned, 1);
}

/* A batch that meets rows of others, different ones each time, locks too many
 * rows: its units run one by one, and are refused only if this fails as
 * well. */
static void
test_again_met(void **state)
{
	struct work w[2];

	(void)state;
	run_deadlocks(2, RC_BUSY, w);
	assert_string_equal(world->story, LOSES LOSES WINS);
	run_deadlocks(5, RC_BUSY, w);
	assert_string_equal(world->story, LOSES LOSES LOSES LOSES LOSES SINGLY);
	run_deadlocks(15, RC_BUSY, w);
	assert_int_equal(world->deadlocks, 0);
	assert_int_equal(w[0].unit.rc, RC_BUSY);
	assert_int_equal(w[1].unit.rc, RC_BUSY);
	assert_int_equal(world->fatals, 0);
}

/* Another failure ends the retries: only conflicts with others are worth
 * another try. */
static void
test_again_ends(void **state)
{
	struct work w[2];

	(void)state;
	world->commit_rc = RC_FULL;
	run_deadlocks(2, RC_CONFLICT, w);
	assert_string_equal(world->story, LOSES LOSES ATTEMPT
	    "commit-fails ROLLBACK aborted a=RC_FULL b=RC_FULL ");
	assert_int_equal(writer_stats_get(world->writer).full, 1);
}

/* ---- checkpoints ---- */

static void
run_one(void)
{
	struct work w;

	world_forget();
	assert_int_equal(world_submit(&w, &world_delivery, 'a'), RC_OK);
	assert_int_equal(writer_run_once(world->writer), 1);
}

static bool
checkpointed(void)
{

	return (strstr(world->story, "CHECKPOINT") != NULL);
}

/* The checkpoint comes after the units have finished.  If a reader holds frames
 * back, the next one comes when the log has grown by a quarter. */
static void
test_checkpoint(void **state)
{

	(void)state;
	world->log_bytes = 999;
	run_one();
	assert_false(checkpointed());
	assert_int_equal(writer_stats_get(world->writer).log_bytes, 999);
	world->log_bytes = 1000;
	world->log_frames = 10;
	world->done_frames = 4;
	run_one();
	assert_string_equal(world->story,
	    "BEGIN begin first: a flush COMMIT committed SYNC published a=ok CHECKPOINT ");
	world->log_bytes = 1249;
	run_one();
	assert_false(checkpointed());
	world->log_bytes = 1250;
	world->done_frames = 10;
	run_one();
	assert_true(checkpointed());
	/* The checkpoint was complete: the first mark applies again. */
	world->log_bytes = 900;
	run_one();
	assert_false(checkpointed());
	world->log_bytes = 1001;
	run_one();
	assert_true(checkpointed());
	assert_int_equal(writer_stats_get(world->writer).checkpoints, 3);
	assert_int_equal(world->fatals, 0);
}

static void
test_checkpoint_busy(void **state)
{

	(void)state;
	world->log_bytes = 1000;
	world->checkpoint_rc = RC_BUSY;
	run_one();
	assert_true(checkpointed());
	assert_int_equal(world->fatals, 0);
	run_one();
	assert_false(checkpointed());
	world->log_bytes = 1250;
	run_one();
	assert_true(checkpointed());
}

static void
test_checkpoint_fails(void **state)
{
	struct work w;

	(void)state;
	world->log_bytes = 1000;
	world->checkpoint_rc = RC_IO;
	run_one();
	assert_int_equal(world->fatals, 1);
	assert_int_equal(world_submit(&w, &world_delivery, 'b'), RC_OK);
	assert_int_equal(writer_run_once(world->writer), 1);
	assert_int_equal(w.unit.rc, RC_CLOSED);
}

/* A reader that blocks the truncation does no harm; an error of the disk is
 * fatal. */
static void
test_cut_fails(void **state)
{

	(void)state;
	world->cut_rc = RC_BUSY;
	writer_truncate_log(world->writer);
	assert_int_equal(writer_run_once(world->writer), 0);
	assert_string_equal(world->story, "CUT ");
	assert_int_equal(world->fatals, 0);
	assert_int_equal(writer_stats_get(world->writer).checkpoints, 0);
	world->cut_rc = RC_IO;
	writer_truncate_log(world->writer);
	assert_int_equal(writer_run_once(world->writer), 0);
	assert_int_equal(world->fatals, 1);
	/* After that there is no truncation any more. */
	world_forget();
	writer_truncate_log(world->writer);
	assert_int_equal(writer_run_once(world->writer), 0);
	assert_string_equal(world->story, "");
}

#define T(test)                                                                \
	cmocka_unit_test_setup_teardown(test, world_set_up, world_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    T(test_run_singly),
	    T(test_flush_fails),
	    T(test_commit_fails_once),
	    T(test_begin_hook_fails),
	    T(test_full),
	    T(test_fatal_commit),
	    T(test_fatal_begin),
	    T(test_cannot_begin),
	    T(test_fatal_flush),
	    T(test_fatal_uncertain),
	    T(test_fatal_while_singly),
	    T(test_fatal_sync),
	    T(test_fatal_sync_singly),
	    T(test_fatal_sync_threads),
	    T(test_owes_nothing),
	    T(test_failed_commits_are_not_waited_for),
	    T(test_busy),
	    T(test_again),
	    T(test_again_in_vain),
	    T(test_again_exists),
	    T(test_again_met),
	    T(test_again_ends),
	    T(test_checkpoint),
	    T(test_checkpoint_busy),
	    T(test_checkpoint_fails),
	    T(test_cut_fails),
	};

	/* A thread that waits for ever ends the test. */
	(void)alarm(60);
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
