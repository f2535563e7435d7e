/* SPDX-License-Identifier: MIT */
/*
 * Commits on their way to the disk, with the real thread and a database that
 * only syncs: when the test lets it, and with the result that the test wants.
 * The story is what was called, word by word: "sync(" and ")" around a sync,
 * "+a2" for a commit published with two units, "-a" for a lost one, "a" for
 * each unit that is answered.  Nothing here looks at the time: that a thread
 * waits is seen from its being asleep.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/thr.h"
#include "db/db_internal.h"
#include "store/commits.h"
#include "store/writer.h"
#include "unit/sleeps.h"

#define NAMES 4 /* a to d */
#define UNITS 2 /* of one commit, at most */
#define SYNC_MS 7

struct item {
	struct unit unit; /* first */
	char name;
};

struct rig {
	struct db db; /* first */
	struct clk_fake clk;
	struct commits_hooks hooks;
	struct commits *commits;

	pthread_mutex_t lock;
	char story[1024];
	size_t len;

	atomic_bool held;     /* each sync waits for go */
	enum rc sync_rc;      /* of the next sync; RC_OK afterwards */
	char fails_at;        /* the store fails when this one is answered */
	sem_t begun, go;      /* of held syncs */
	atomic_int syncing;   /* the thread that was let go in one */
	atomic_bool hold_end; /* fatal waits for end */
	sem_t end;
	sem_t answered;        /* units */
	int64_t began_us;      /* of commits that are given */
	int64_t commit_us;     /* as published last */
	int fatals, elsewhere; /* calls from another than the wanted thread */
	enum thr_role wanted;

	struct item items[NAMES][UNITS];
	char told[NAMES];
};

static struct rig *rig;

static void
note(const char *before, char name, const char *after)
{
	int n;

	(void)pthread_mutex_lock(&rig->lock);
	n = snprintf(rig->story + rig->len, sizeof(rig->story) - rig->len,
	    "%s%c%s ", before, name, after);
	if (n > 0 && (size_t)n < sizeof(rig->story) - rig->len)
		rig->len += (size_t)n;
	(void)pthread_mutex_unlock(&rig->lock);
}

static void
tell(const char *before, char name, const char *after)
{

	if (thr_self() != rig->wanted)
		rig->elsewhere++;
	note(before, name, after);
}

/* What was told up to now. */
static const char *
story(void)
{
	static char copy[sizeof(rig->story)];

	(void)pthread_mutex_lock(&rig->lock);
	memcpy(copy, rig->story, sizeof(copy));
	(void)pthread_mutex_unlock(&rig->lock);
	return (copy);
}

static void
forget(void)
{

	(void)pthread_mutex_lock(&rig->lock);
	rig->len = 0;
	rig->story[0] = '\0';
	(void)pthread_mutex_unlock(&rig->lock);
}

/* ---- what the commits call ---- */

static enum rc
fake_sync(struct db *db, struct err *err)
{
	enum rc rc;

	assert_ptr_equal(db, &rig->db);
	tell("sync", '(', "");
	if (atomic_load(&rig->held)) {
		(void)sem_post(&rig->begun);
		(void)sem_wait(&rig->go);
		atomic_store(&rig->syncing, (int)gettid());
	}
	clk_fake_advance(&rig->clk, SYNC_MS);
	rc = rig->sync_rc;
	rig->sync_rc = RC_OK;
	tell("", ')', rc == RC_OK ? "" : "fails");
	return (rc == RC_OK ? RC_OK : err_set(err, rc, "on purpose"));
}

static const struct db_driver driver = {.sync = fake_sync};

static void
on_published(void *arg, void *told, size_t units, int64_t commit_us)
{
	static const char *const counts[] = {"0", "1", "2"};

	assert_ptr_equal(arg, rig);
	rig->commit_us = commit_us;
	tell("+", *(char *)told, counts[units]);
}

static void
on_lost(void *arg, void *told)
{

	assert_ptr_equal(arg, rig);
	if (told != NULL)
		tell("-", *(char *)told, "");
}

static void
on_fatal(void *arg, const struct err *err)
{

	assert_ptr_equal(arg, rig);
	rig->fatals++;
	note("fatal", '=', rc_name(err->rc));
	if (atomic_load(&rig->hold_end))
		(void)sem_wait(&rig->end);
}

/* Another sync fails, that of a checkpoint. */
static void
fail_elsewhere(void)
{
	struct err err = ERR_INIT;

	(void)err_set(&err, RC_IO, "elsewhere");
	commits_fail(rig->commits, &err);
}

static void
done(struct unit *unit)
{
	struct item *item = (struct item *)(void *)unit;

	tell("", item->name, unit->rc == RC_OK ? "" : rc_name(unit->rc));
	if (rig->fails_at == item->name)
		fail_elsewhere();
	(void)sem_post(&rig->answered);
}

static const struct unit_kind kind = {.name = "test", .done = done};

/* ---- the writer's part ---- */

/* A commit called ${name}, announced before. */
static void
add(char name, size_t units, bool owed)
{
	struct commit c = {.n = units,
	    .told = &rig->told[name - 'a'],
	    .owed = owed,
	    .began_us = rig->began_us};
	struct item *items = rig->items[name - 'a'];
	size_t i;

	for (i = 0; i < units; i++) {
		items[i].unit = (struct unit){.kind = &kind};
		items[i].unit.node.next =
		    i + 1 < units ? &items[i + 1].unit.node : NULL;
		items[i].name = name;
	}
	rig->told[name - 'a'] = name;
	c.units = units > 0 ? &items[0].unit : NULL;
	commits_add(rig->commits, &c);
}

static void
give(char name, size_t units, bool owed)
{

	commits_announce(rig->commits);
	add(name, units, owed);
}

static void
withdraw(void)
{
	struct commit none = {0};

	commits_add(rig->commits, &none);
}

static void
await(sem_t *sem, int n)
{

	while (n-- > 0)
		(void)sem_wait(sem);
}

/* ---- a thread that may have to wait ---- */

struct runner {
	bool (*run)(void);
	struct thr *thr;
	atomic_int tid;
	atomic_bool returned;
	bool result;
};

static void
run(void *arg)
{
	struct runner *r = arg;

	atomic_store(&r->tid, (int)gettid());
	r->result = r->run();
	atomic_store(&r->returned, true);
}

/* Starts ${fn} and lets it come as far as it can: true when it waits. */
static bool
waits(struct runner *r, bool (*fn)(void))
{
	struct err err = ERR_INIT;

	memset(r, 0, sizeof(*r));
	r->run = fn;
	assert_int_equal(thr_start(THR_OTHER, 0, run, r, &r->thr, &err), RC_OK);
	while (!atomic_load(&r->returned)) {
		if (atomic_load(&r->tid) != 0 && sleeps(atomic_load(&r->tid)))
			break;
		(void)sched_yield();
	}
	return (!atomic_load(&r->returned));
}

static bool
run_wait(void)
{

	return (commits_wait(rig->commits));
}

static bool
run_stop(void)
{

	commits_stop(rig->commits);
	return (true);
}

static bool
run_fail(void)
{

	fail_elsewhere();
	return (true);
}

static bool
run_add_c(void)
{

	give('c', 1, true);
	return (true);
}

/* ---- set-up ---- */

static int
set_up_inline(void **state)
{

	(void)state;
	rig = mem_zalloc(1, sizeof(*rig));
	assert_non_null(rig);
	rig->db.driver = &driver;
	rig->wanted = thr_self();
	clk_fake_init(&rig->clk, 1700000000000);
	(void)pthread_mutex_init(&rig->lock, NULL);
	(void)sem_init(&rig->begun, 0, 0);
	(void)sem_init(&rig->go, 0, 0);
	(void)sem_init(&rig->end, 0, 0);
	(void)sem_init(&rig->answered, 0, 0);
	rig->hooks =
	    (struct commits_hooks){rig, on_published, on_lost, on_fatal};
	rig->commits = commits_new(&rig->db, &rig->clk.clk, &rig->hooks);
	return (rig->commits != NULL ? 0 : -1);
}

static int
set_up(void **state)
{
	struct err err = ERR_INIT;

	if (set_up_inline(state) != 0)
		return (-1);
	rig->wanted = THR_SYNC;
	return (commits_start(rig->commits, &err) == RC_OK ? 0 : -1);
}

static int
set_up_held(void **state)
{

	if (set_up(state) != 0)
		return (-1);
	atomic_store(&rig->held, true);
	return (0);
}

static int
tear_down(void **state)
{
	int i;

	(void)state;
	/* A test that has failed may have left some behind. */
	atomic_store(&rig->held, false);
	for (i = 0; i < NAMES; i++)
		(void)sem_post(&rig->go);
	(void)sem_post(&rig->end);
	commits_stop(rig->commits);
	assert_int_equal(rig->elsewhere, 0);
	commits_free(rig->commits);
	(void)sem_destroy(&rig->answered);
	(void)sem_destroy(&rig->end);
	(void)sem_destroy(&rig->go);
	(void)sem_destroy(&rig->begun);
	(void)pthread_mutex_destroy(&rig->lock);
	mem_free(rig);
	commits_free(NULL);
	return (0);
}

/* ---- answers ---- */

/* "Accepted": nothing is told or answered before the sync has returned; then
 * what is told comes first, and each commit in its turn. */
static void
test_sync_then_answer(void **state)
{

	(void)state;
	give('a', 2, true);
	await(&rig->begun, 1);
	assert_string_equal(story(), "sync( ");
	give('b', 1, true);
	assert_string_equal(story(), "sync( ");
	(void)sem_post(&rig->go);
	await(&rig->begun, 1);
	/* What came during a sync is not taken for synced. */
	assert_string_equal(story(), "sync( ) +a2 a a sync( ");
	(void)sem_post(&rig->go);
	await(&rig->answered, 3);
	assert_string_equal(story(), "sync( ) +a2 a a sync( ) +b1 b ");
	assert_int_equal(rig->fatals, 0);
}

/* Gives two, again and again until the thread finds both: they share a sync,
 * and whatever it finds is answered in order. */
static void
share(bool a_owed, bool b_owed, const char *apart, const char *shared)
{
	int i;

	for (i = 0; i < 100000; i++) {
		forget();
		give('a', 1, a_owed);
		give('b', 2, b_owed);
		await(&rig->answered, 3);
		if (strcmp(story(), apart) != 0)
			break;
	}
	assert_string_equal(story(), shared);
}

static void
test_shared_sync(void **state)
{

	(void)state;
	share(true, true, "sync( ) +a1 a sync( ) +b2 b b ",
	    "sync( ) +a1 a +b2 b b ");
	/* Who owes nothing is synced with who does. */
	share(false, true, "+a1 a sync( ) +b2 b b ", "sync( ) +a1 a +b2 b b ");
}

/* The same words apart and shared; in many rounds both come. */
static void
test_first_alone_owes(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 2000; i++)
		share(true, false, "", "sync( ) +a1 a +b2 b b ");
}

/* While one is synced two may wait; the next one waits for room.  Those that
 * waited share the next sync. */
static void
test_bounded(void **state)
{
	struct runner r;

	(void)state;
	give('a', 1, true);
	await(&rig->begun, 1);
	give('b', 1, true);
	give('d', 1, true);
	assert_true(waits(&r, run_add_c));
	assert_string_equal(story(), "sync( ");
	(void)sem_post(&rig->go);
	await(&rig->begun, 1);
	/* There is room now, though those two are still on their way. */
	thr_join(&r.thr);
	assert_true(r.returned);
	assert_string_equal(story(), "sync( ) +a1 a sync( ");
	(void)sem_post(&rig->go);
	await(&rig->begun, 1);
	assert_string_equal(
	    story(), "sync( ) +a1 a sync( ) +b1 b +d1 d sync( ");
	(void)sem_post(&rig->go);
	await(&rig->answered, 4);
	assert_string_equal(
	    story(), "sync( ) +a1 a sync( ) +b1 b +d1 d sync( ) +c1 c ");
}

/* Owing nothing: answered without a sync.  Never made: nothing is told. */
static void
test_nothing_owed(void **state)
{

	(void)state;
	give('a', 1, false);
	await(&rig->answered, 1);
	assert_string_equal(story(), "+a1 a ");
	assert_true(commits_wait(rig->commits));
	commits_announce(rig->commits);
	withdraw();
	assert_true(commits_wait(rig->commits));
	give('b', 1, false);
	await(&rig->answered, 1);
	assert_string_equal(story(), "+a1 a +b1 b ");
	/* Made, though nobody is answered yet. */
	give('c', 0, false);
	assert_true(commits_wait(rig->commits));
	give('d', 1, false);
	await(&rig->answered, 1);
	assert_string_equal(story(), "+a1 a +b1 b +c0 +d1 d ");
}

/* Finishes all that was handed over. */
static void
test_stop(void **state)
{
	struct runner r;

	(void)state;
	give('a', 1, true);
	await(&rig->begun, 1);
	give('b', 2, true);
	assert_true(waits(&r, run_stop));
	(void)sem_post(&rig->go);
	(void)sem_post(&rig->go);
	thr_join(&r.thr);
	assert_string_equal(story(), "sync( ) +a1 a sync( ) +b2 b b ");
}

/* Without a thread all is done on return, as simulators want it. */
static void
test_inline(void **state)
{

	(void)state;
	give('a', 2, true);
	assert_string_equal(story(), "sync( ) +a2 a a ");
	/* From before the COMMIT to after the sync. */
	assert_int_equal(rig->commit_us, SYNC_MS * 1000);
	assert_true(commits_wait(rig->commits));
	forget();
	rig->began_us = rig->clk.mono_us - 500;
	give('b', 1, false);
	commits_announce(rig->commits);
	withdraw();
	assert_string_equal(story(), "+b1 b ");
	assert_int_equal(rig->commit_us, 500);
	assert_true(commits_wait(rig->commits));
	rig->sync_rc = RC_IO;
	forget();
	give('c', 1, true);
	give('d', 1, true);
	assert_string_equal(
	    story(), "sync( )fails fatal=RC_IO -c cRC_IO -d dRC_IO ");
	assert_false(commits_wait(rig->commits));
}

/* ---- who has read what was committed ---- */

/* All is on disk. */
static void
test_wait_for_nothing(void **state)
{

	(void)state;
	assert_true(commits_wait(rig->commits));
	give('a', 1, true);
	await(&rig->answered, 1);
	assert_true(commits_wait(rig->commits));
	assert_string_equal(story(), "sync( ) +a1 a ");
}

/* From the announcement on: the COMMIT may be seen before it has returned. */
static void
test_wait_for_sync(void **state)
{
	struct runner early, late;

	(void)state;
	commits_announce(rig->commits);
	assert_true(waits(&early, run_wait));
	add('a', 1, true);
	await(&rig->begun, 1);
	assert_true(waits(&late, run_wait));
	assert_false(early.returned);
	/* Announced later: not waited for. */
	commits_announce(rig->commits);
	(void)sem_post(&rig->go);
	thr_join(&early.thr);
	thr_join(&late.thr);
	assert_true(early.result);
	assert_true(late.result);
	assert_true(waits(&early, run_wait));
	withdraw();
	thr_join(&early.thr);
	assert_true(early.result);
	await(&rig->answered, 1);
	assert_string_equal(story(), "sync( ) +a1 a ");
}

/* Withdrawn behind one that is not synced: that one is waited for. */
static void
test_wait_behind(void **state)
{
	struct runner r;

	(void)state;
	give('a', 1, true);
	await(&rig->begun, 1);
	commits_announce(rig->commits);
	withdraw();
	assert_true(waits(&r, run_wait));
	(void)sem_post(&rig->go);
	thr_join(&r.thr);
	assert_true(r.result);
}

/* ---- a log that cannot be synced ---- */

/* Told once; nothing is published any more and every unit is refused, however
 * well a later sync would go; who waits is let go, and told. */
static void
test_sync_fails(void **state)
{
	struct runner r;

	(void)state;
	rig->sync_rc = RC_IO;
	give('a', 2, true);
	await(&rig->begun, 1);
	give('b', 1, true);
	assert_true(waits(&r, run_wait));
	atomic_store(&rig->held, false);
	(void)sem_post(&rig->go);
	thr_join(&r.thr);
	assert_false(r.result);
	await(&rig->answered, 3);
	assert_string_equal(
	    story(), "sync( )fails fatal=RC_IO -a aRC_IO aRC_IO -b bRC_IO ");
	assert_false(commits_wait(rig->commits));
	forget();
	give('c', 1, true);
	give('d', 1, false);
	commits_announce(rig->commits);
	withdraw();
	await(&rig->answered, 2);
	assert_string_equal(story(), "-c cRC_IO -d dRC_IO ");
	assert_false(commits_wait(rig->commits));
	assert_int_equal(rig->fatals, 1);
}

#define T(test, set_up) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

/* Another sync fails while one is under way that succeeds: its commit is not
 * told any more, and who has read it gets no answer. */
static void
test_fails_elsewhere(void **state)
{
	struct runner r;

	(void)state;
	give('a', 1, true);
	await(&rig->begun, 1);
	assert_true(waits(&r, run_wait));
	fail_elsewhere();
	thr_join(&r.thr);
	assert_false(r.result);
	(void)sem_post(&rig->go);
	await(&rig->answered, 1);
	assert_string_equal(story(), "sync( fatal=RC_IO ) -a aRC_IO ");
	/* Later ones are not even synced. */
	give('b', 1, true);
	await(&rig->answered, 1);
	assert_string_equal(
	    story(), "sync( fatal=RC_IO ) -a aRC_IO -b bRC_IO ");
	assert_int_equal(rig->fatals, 1);
}

/* fatal ends the process, as a rule: who is not answered by then repeats the
 * request.  Before it has returned nobody is answered, whoever waits for what,
 * and it is called once. */
static void
test_silent_until_end(void **state)
{
	struct runner first, second, reader;

	(void)state;
	atomic_store(&rig->hold_end, true);
	give('a', 1, true);
	await(&rig->begun, 1);
	assert_true(waits(&reader, run_wait));
	assert_true(waits(&first, run_fail));
	assert_true(waits(&second, run_fail));
	(void)sem_post(&rig->go);
	while (atomic_load(&rig->syncing) == 0 ||
	       !sleeps(atomic_load(&rig->syncing)))
		(void)sched_yield();
	assert_string_equal(story(), "sync( fatal=RC_IO ) ");
	assert_false(atomic_load(&reader.returned));
	assert_false(atomic_load(&second.returned));
	(void)sem_post(&rig->end);
	await(&rig->answered, 1);
	thr_join(&first.thr);
	thr_join(&second.thr);
	thr_join(&reader.thr);
	assert_false(reader.result);
	assert_string_equal(story(), "sync( fatal=RC_IO ) -a aRC_IO ");
	assert_int_equal(rig->fatals, 1);
}

/* Two commits share a sync; the store fails while the first is told: the second
 * is not. */
static void
test_fails_between(void **state)
{

	(void)state;
	rig->fails_at = 'b';
	give('a', 1, true);
	await(&rig->begun, 1);
	give('b', 1, true);
	give('c', 1, true);
	(void)sem_post(&rig->go);
	await(&rig->begun, 1);
	(void)sem_post(&rig->go);
	await(&rig->answered, 3);
	assert_string_equal(
	    story(), "sync( ) +a1 a sync( ) +b1 b fatal=RC_IO -c cRC_IO ");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    T(test_sync_then_answer, set_up_held),
	    T(test_shared_sync, set_up),
	    T(test_first_alone_owes, set_up),
	    T(test_bounded, set_up_held),
	    T(test_nothing_owed, set_up),
	    T(test_stop, set_up_held),
	    T(test_inline, set_up_inline),
	    T(test_wait_for_nothing, set_up),
	    T(test_wait_for_sync, set_up_held),
	    T(test_wait_behind, set_up_held),
	    T(test_sync_fails, set_up_held),
	    T(test_fails_elsewhere, set_up_held),
	    T(test_silent_until_end, set_up_held),
	    T(test_fails_between, set_up_held),
	};

	/* Whoever waits for ever ends the test. */
	(void)alarm(60);
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
