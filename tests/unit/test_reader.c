/* SPDX-License-Identifier: MIT */
/*
 * The readers: jobs run in snapshots on read-only connections, several at a
 * time.  A full queue refuses jobs, stopping finishes those that wait, and no
 * job returns rows that are not durable.
 */
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

#include "base/thr.h"
#include "db/db_internal.h"
#include "engine/commits.h"
#include "engine/reader.h"
#include "unit/scratch.h"
#include "unit/shim.h"
#include "unit/sleeps.h"

enum { S_INSERT, S_COUNT, NSTMT };

static const struct sql_text statements[NSTMT] = {
    [S_INSERT] = {"insert", "INSERT INTO t DEFAULT VALUES", NULL},
    [S_COUNT] = {"count", "SELECT count(*) FROM t", NULL},
};

static const struct sql_migration migrations[] = {
    {1, "first", "CREATE TABLE t (id INTEGER PRIMARY KEY) STRICT;"},
};

static const struct db_schema schema = {statements, NSTMT, migrations, 1};

struct rig {
	struct scratch scratch;
	struct db_options options;
	struct db *db;
	struct commits *commits; /* NULL: no early commits */
	struct readers *readers;
};

static void
start(struct rig *r, int n, size_t limit)
{
	struct err err = ERR_INIT;
	int from, to;

	scratch_open(&r->scratch);
	r->options = (struct db_options){.url = r->scratch.url,
	    .mode = DB_WRITER,
	    .sync = DB_SYNC_FULL,
	    .schema = &schema,
	    .timing = r->options.timing};
	if (db_open(&r->options, &r->db, &err) != RC_OK ||
	    db_migrate(r->db, 1, &from, &to, &err) != RC_OK ||
	    readers_start(
		&r->options, n, limit, r->commits, &r->readers, &err) != RC_OK)
		fail_msg("%s", err.text);
	/* The mode is set in a copy of the options. */
	assert_int_equal(r->options.mode, DB_WRITER);
}

static void
stop(struct rig *r)
{

	db_close(r->db);
	scratch_close(&r->scratch);
}

static enum rc
take_number(void *arg, const struct db_row *row, struct err *err)
{

	(void)err;
	*(int64_t *)arg = db_row_i64(row, 0);
	return (RC_OK);
}

static int64_t
count(struct db *db)
{
	struct err err = ERR_INIT;
	int64_t n = -1;

	if (db_run(db, S_COUNT, NULL, 0, take_number, &n, NULL, &err) != RC_OK)
		return (-1);
	return (n);
}

static void
insert(struct db *db)
{
	struct err err = ERR_INIT;

	assert_int_equal(
	    db_run(db, S_INSERT, NULL, 0, NULL, NULL, NULL, &err), RC_OK);
}

struct job {
	struct read_job job; /* first */
	sem_t begun, go, ended;
	int64_t before, after;
	enum rc write_rc, err_rc;
	enum thr_role role;
	bool had_db;
};

static void
job_init(
    struct job *j, void (*run)(struct read_job *, struct db *, struct err *))
{

	j->job.run = run;
	j->job.owner = 0;
	(void)sem_init(&j->begun, 0, 0);
	(void)sem_init(&j->go, 0, 0);
	(void)sem_init(&j->ended, 0, 0);
	j->before = j->after = 0;
}

/* Counts the rows, waits for the test, counts again, and tries to write. */
static void
look_twice(struct read_job *job, struct db *db, struct err *err)
{
	struct job *j = (struct job *)(void *)job;

	j->role = thr_self();
	j->had_db = db != NULL;
	j->before = db != NULL ? count(db) : -1;
	(void)sem_post(&j->begun);
	(void)sem_wait(&j->go);
	if (db != NULL) {
		j->after = count(db);
		j->write_rc =
		    db_run(db, S_INSERT, NULL, 0, NULL, NULL, NULL, err);
	}
	(void)sem_post(&j->ended);
}

static void
test_snapshot(void **state)
{
	struct rig r = {.commits = NULL};
	struct job j;

	(void)state;
	start(&r, 1, 10);
	insert(r.db);
	job_init(&j, look_twice);
	assert_int_equal(readers_submit(r.readers, &j.job), RC_OK);
	(void)sem_wait(&j.begun);
	insert(r.db);
	insert(r.db);
	(void)sem_post(&j.go);
	(void)sem_wait(&j.ended);
	assert_true(j.had_db);
	assert_int_equal(j.role, THR_READER);
	assert_int_equal(j.before, 1);
	assert_int_equal(j.after, 1);
	assert_int_equal(j.write_rc, RC_IO);
	/* The next job sees the new rows: the snapshot was released. */
	(void)sem_post(&j.go);
	assert_int_equal(readers_submit(r.readers, &j.job), RC_OK);
	(void)sem_wait(&j.ended);
	assert_int_equal(j.before, 3);
	readers_stop(r.readers);
	assert_int_equal(count(r.db), 3);
	stop(&r);
}

/* Two jobs at a time, each on its own connection. */
static void
test_side_by_side(void **state)
{
	struct job a, b;
	struct rig r = {.commits = NULL};

	(void)state;
	start(&r, 2, 10);
	job_init(&a, look_twice);
	job_init(&b, look_twice);
	assert_int_equal(readers_submit(r.readers, &a.job), RC_OK);
	(void)sem_wait(&a.begun);
	insert(r.db);
	assert_int_equal(readers_submit(r.readers, &b.job), RC_OK);
	(void)sem_wait(&b.begun);
	insert(r.db);
	(void)sem_post(&a.go);
	(void)sem_post(&b.go);
	(void)sem_wait(&a.ended);
	(void)sem_wait(&b.ended);
	assert_int_equal(a.before, 0);
	assert_int_equal(a.after, 0);
	assert_int_equal(b.before, 1);
	assert_int_equal(b.after, 1);
	readers_stop(r.readers);
	stop(&r);
}

/* A job that does not fit is refused at once.  Jobs that wait are done before
 * the stop. */
static void
test_bounded_and_drained(void **state)
{
	struct job first, waiting[3], refused;
	struct rig r = {.commits = NULL};
	int i;

	(void)state;
	start(&r, 1, 3);
	job_init(&first, look_twice);
	job_init(&refused, look_twice);
	refused.job.owner = 3;
	assert_int_equal(readers_submit(r.readers, &first.job), RC_OK);
	(void)sem_wait(&first.begun);
	for (i = 0; i < 3; i++) {
		job_init(&waiting[i], look_twice);
		waiting[i].job.owner = (uint64_t)i;
		(void)sem_post(&waiting[i].go);
		assert_int_equal(
		    readers_submit(r.readers, &waiting[i].job), RC_OK);
	}
	assert_int_equal(readers_submit(r.readers, &refused.job), RC_BUSY);
	insert(r.db);
	(void)sem_post(&first.go);
	readers_stop(r.readers);
	for (i = 0; i < 3; i++) {
		assert_int_equal(sem_trywait(&waiting[i].ended), 0);
		assert_int_equal(waiting[i].before, 1);
	}
	assert_int_not_equal(sem_trywait(&refused.begun), 0);
	stop(&r);
}

static char order[16];
static atomic_size_t norder;

static void
note_owner(struct read_job *job, struct db *db, struct err *err)
{

	(void)db;
	(void)err;
	order[atomic_fetch_add(&norder, 1)] = (char)job->owner;
}

/* The one read of a user need not wait for all reads of another user; and one
 * user can use at most a quarter of the places. */
static void
test_owners_take_turns(void **state)
{
	static const char owners[] = "aaaaab";
	struct read_job jobs[sizeof(owners)];
	struct rig r = {.commits = NULL};
	struct job first;
	int i;

	(void)state;
	start(&r, 1, 20);
	job_init(&first, look_twice);
	assert_int_equal(readers_submit(r.readers, &first.job), RC_OK);
	(void)sem_wait(&first.begun);
	for (i = 0; owners[i] != '\0'; i++) {
		jobs[i].run = note_owner;
		jobs[i].owner = (uint64_t)owners[i];
		assert_int_equal(readers_submit(r.readers, &jobs[i]), RC_OK);
	}
	jobs[i].owner = 'a';
	assert_int_equal(readers_submit(r.readers, &jobs[i]), RC_BUSY);
	(void)sem_post(&first.go);
	readers_stop(r.readers);
	assert_string_equal(order, "abaaaa");
	stop(&r);
}

static struct readers *box;
static atomic_int runs, closed_seen;

static void
resubmit(struct read_job *job, struct db *db, struct err *err)
{

	(void)db;
	(void)err;
	atomic_fetch_add(&runs, 1);
	if (readers_submit(box, job) == RC_CLOSED)
		atomic_fetch_add(&closed_seen, 1);
}

/* A job that submits itself again gets RC_CLOSED when the readers stop. */
static void
test_closed(void **state)
{
	struct read_job job = {.run = resubmit};
	struct rig r = {.commits = NULL};

	(void)state;
	start(&r, 1, 4);
	box = r.readers;
	assert_int_equal(readers_submit(r.readers, &job), RC_OK);
	readers_stop(r.readers);
	assert_true(atomic_load(&runs) > 0);
	assert_int_equal(atomic_load(&closed_seen), 1);
	stop(&r);
}

/* ---- commits that are not durable yet ---- */

static enum rc sync_rc;

static enum rc
fake_sync(struct db *db, struct err *err)
{

	(void)db;
	return (sync_rc == RC_OK ? RC_OK : err_set(err, sync_rc, "on purpose"));
}

static const struct db_driver fake_driver = {.sync = fake_sync};
static struct db fake_db = {.driver = &fake_driver};

static void
nothing_published(void *arg, void *told, size_t units, int64_t commit_us)
{

	(void)arg;
	(void)told;
	(void)units;
	(void)commit_us;
}

static void
nothing_lost(void *arg, void *told)
{

	(void)arg;
	(void)told;
}

static void
not_fatal(void *arg, const struct err *err)
{

	(void)arg;
	(void)err;
}

static const struct commits_hooks no_hooks = {
    NULL, nothing_published, nothing_lost, not_fatal};

/* Starts one reader, and commits without a thread: the caller syncs them. */
static void
start_early(struct rig *r)
{

	sync_rc = RC_OK;
	r->commits = commits_new(&fake_db, clk_system(), &no_hooks);
	assert_non_null(r->commits);
	start(r, 1, 10);
}

static void
stop_early(struct rig *r)
{

	readers_stop(r->readers);
	commits_free(r->commits);
	stop(r);
}

struct look {
	struct read_job job; /* first */
	sem_t ended;
	atomic_bool ran;
	int tid;
	bool had_db;
	int64_t seen;
	struct err err;
};

static void
look_once(struct read_job *job, struct db *db, struct err *err)
{
	struct look *l = (struct look *)(void *)job;

	atomic_store(&l->ran, true);
	l->tid = (int)gettid();
	l->had_db = db != NULL;
	l->seen = db != NULL ? count(db) : -1;
	l->err = *err;
	(void)sem_post(&l->ended);
}

static void
look(struct rig *r, struct look *l)
{

	memset(l, 0, sizeof(*l));
	l->job.run = look_once;
	(void)sem_init(&l->ended, 0, 0);
	assert_int_equal(readers_submit(r->readers, &l->job), RC_OK);
}

/* Announces a commit and runs a job on the reader, which must wait.  Then
 * inserts a row, which comes after the snapshot of the job. */
static void
announce_and_look(struct rig *r, struct look *l)
{
	struct look first;

	look(r, &first);
	(void)sem_wait(&first.ended);
	commits_announce(r->commits);
	look(r, l);
	while (!atomic_load(&l->ran) && !sleeps(first.tid))
		(void)sched_yield();
	assert_false(atomic_load(&l->ran));
	insert(r->db);
}

/* The reader opens its snapshot, then waits for the sync; further jobs wait as
 * well. */
static void
test_waits_for_sync(void **state)
{
	struct commit commit = {.owed = true};
	struct rig r = {.commits = NULL};
	struct look l, next;

	(void)state;
	start_early(&r);
	announce_and_look(&r, &l);
	look(&r, &next);
	commits_add(r.commits, &commit);
	(void)sem_wait(&l.ended);
	assert_true(l.had_db);
	assert_int_equal(l.seen, 0);
	(void)sem_wait(&next.ended);
	assert_int_equal(next.seen, 1);
	stop_early(&r);
}

/* Rows that will never be durable are not returned. */
static void
test_sync_fails(void **state)
{
	struct commit commit = {.owed = true};
	struct rig r = {.commits = NULL};
	struct look l;

	(void)state;
	start_early(&r);
	announce_and_look(&r, &l);
	sync_rc = RC_IO;
	commits_add(r.commits, &commit);
	(void)sem_wait(&l.ended);
	assert_false(l.had_db);
	assert_int_equal(l.err.rc, RC_IO);
	assert_true(l.err.text[0] != '\0');
	/* Nor is any other row after that. */
	look(&r, &l);
	(void)sem_wait(&l.ended);
	assert_false(l.had_db);
	assert_int_equal(l.err.rc, RC_IO);
	stop_early(&r);
}

/* ---- snapshots that cannot be opened ---- */

static atomic_bool locks_fail;
static sem_t lock_tried;

static int
shim_lock(sqlite3_file *file, int offset, int n, int flags)
{

	if (!atomic_load(&locks_fail))
		return (shim_below->xShmLock(file, offset, n, flags));
	(void)sem_post(&lock_tried);
	return (SQLITE_IOERR_LOCK);
}

static void
opened(sqlite3_io_methods *calls)
{

	calls->xShmLock = shim_lock;
}

static int
install_shim(void **state)
{
	static const struct shim shim = {SQLITE_OPEN_MAIN_DB, NULL, opened};

	(void)state;
	shim_install(&shim);
	return (sem_init(&lock_tried, 0, 0));
}

/* A reader that cannot begin a snapshot reports this, and notices by itself
 * when it can again. */
static void
test_begins_again(void **state)
{
	static const struct timing soon = {.reader_retry_ms = 1};
	struct rig r = {.commits = NULL};
	struct job j;

	(void)state;
	r.options.timing = &soon;
	start(&r, 1, 10);
	assert_true(readers_can_begin(r.readers));
	job_init(&j, look_twice);
	(void)sem_post(&j.go);
	atomic_store(&locks_fail, true);
	assert_int_equal(readers_submit(r.readers, &j.job), RC_OK);
	(void)sem_wait(&j.ended);
	assert_false(j.had_db);
	assert_false(readers_can_begin(r.readers));
	while (sem_trywait(&lock_tried) == 0)
		continue;
	(void)sem_wait(&lock_tried);
	assert_false(readers_can_begin(r.readers));
	atomic_store(&locks_fail, false);
	while (!readers_can_begin(r.readers))
		(void)sched_yield();
	(void)sem_post(&j.go);
	assert_int_equal(readers_submit(r.readers, &j.job), RC_OK);
	(void)sem_wait(&j.ended);
	assert_true(j.had_db);
	readers_stop(r.readers);
	stop(&r);
}

static void
test_cannot_open(void **state)
{
	struct err err = ERR_INIT;
	struct db_options o = {0};
	struct readers *readers;
	struct scratch s;

	(void)state;
	scratch_open(&s);
	o.url = s.url;
	o.schema = &schema;
	assert_int_equal(
	    readers_start(&o, 3, 4, NULL, &readers, &err), RC_NOT_FOUND);
	assert_true(err.text[0] != '\0');
	readers_stop(NULL);
	scratch_close(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_snapshot),
	    cmocka_unit_test(test_side_by_side),
	    cmocka_unit_test(test_bounded_and_drained),
	    cmocka_unit_test(test_owners_take_turns),
	    cmocka_unit_test(test_closed),
	    cmocka_unit_test(test_waits_for_sync),
	    cmocka_unit_test(test_sync_fails),
	    cmocka_unit_test(test_begins_again),
	    cmocka_unit_test(test_cannot_open),
	};

	/* A thread that waits for ever ends the test. */
	(void)alarm(60);
	return (cmocka_run_group_tests(tests, install_shim, NULL));
}
