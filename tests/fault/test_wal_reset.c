/* SPDX-License-Identifier: MIT */
/*
 * SQLite before 3.51.3 loses commits when one connection checkpoints while
 * another one commits.  The test forces this interleaving at a call of the VFS.
 * In the product only the writer's connection commits and checkpoints, and
 * readers write nothing, however they interleave.  The control lets a second
 * connection checkpoint and must see the loss.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/reader.h"
#include "fault/disks.h"
#include "fault/story.h"
#include "schema/sql.h"
#include "store/outbox.h"

#define READERS 4
#define COMMITS 400

/* ---- the control ---- */

static bool
version_has_bug(void)
{
	int v = sqlite3_libversion_number();

	return (v < 3044006 || (v >= 3045000 && v < 3050007) ||
		(v >= 3051000 && v < 3051003));
}

static struct story s;
static bool interleaved;

/* Called when the other connection has read the log's header and is about to
 * copy pages.  The writer commits now, which starts the log anew. */
static void
commit_now(void *arg, enum plvfs_call call)
{

	(void)arg;
	if (call != PLVFS_UNFETCH || interleaved)
		return;
	interleaved = true;
	story_send(&s, ALICE, BOB, 1, 20);
}

/* Runs the interleaving.  ${second}: another connection makes the checkpoint.
 * Returns NULL, or what was lost. */
static const char *
checkpoint_while_committing(bool second)
{
	struct err err = ERR_INIT;
	sqlite3 *other;

	plvfs_clear(disk);
	story_begin(&s, disk, DB_SYNC_FULL);
	assert_int_equal(sqlite3_open_v2(plvfs_path(disk), &other,
			     SQLITE_OPEN_READWRITE, NULL),
	    SQLITE_OK);
	assert_int_equal(
	    sqlite3_exec(other, "SELECT count(*) FROM users", NULL, NULL, NULL),
	    SQLITE_OK);
	story_send(&s, ALICE, BOB, 20, 400);
	assert_int_equal(db_checkpoint(s.rig.db, false, NULL, &err), RC_OK);
	interleaved = false;
	plvfs_watch(disk, commit_now, NULL);
	if (second)
		assert_int_equal(sqlite3_wal_checkpoint_v2(other, NULL,
				     SQLITE_CHECKPOINT_PASSIVE, NULL, NULL),
		    SQLITE_OK);
	else
		assert_int_equal(
		    db_checkpoint(s.rig.db, false, NULL, &err), RC_OK);
	plvfs_watch(disk, NULL, NULL);
	assert_int_equal(interleaved, second);
	story_send(&s, BOB, ALICE, 1, 20);
	story_send(&s, ALICE, CAROL, 10, 400);
	story_send(&s, ALICE, BOB, 20, 400);
	assert_int_equal(db_checkpoint(s.rig.db, false, NULL, &err), RC_OK);
	story_send(&s, ALICE, BOB, 1, 20);
	assert_int_equal(story_answered(&s), s.nsends);
	(void)sqlite3_close(other);
	story_kill_rig(disk, &s.rig);
	return (story_verify(&s, STORY_ALL, disk, false, NULL));
}

static void
test_second_checkpointer_loses(void **state)
{
	const char *bad;

	(void)state;
	bad = checkpoint_while_committing(true);
	print_message("# SQLite %s, a second connection checkpoints: %s\n",
	    sqlite3_libversion(), bad != NULL ? bad : "nothing lost");
	if (version_has_bug())
		assert_non_null(bad);
	else
		assert_null(bad);
}

static void
test_one_checkpointer_keeps(void **state)
{
	const char *bad;

	(void)state;
	bad = checkpoint_while_committing(false);
	if (bad != NULL)
		fail_msg("%s", bad);
}

/* ---- the thread that syncs, inside a checkpoint ---- */

static uint64_t writes_left; /* of the checkpoint, before the sync */
static size_t synced_inside;

static void
sync_now(void *arg, enum plvfs_call call)
{
	size_t before = rig_turns(&s.rig).syncs;

	(void)arg;
	if (call != PLVFS_WRITE || writes_left == 0 || --writes_left > 0)
		return;
	rig_turn(&s.rig);
	synced_inside += rig_turns(&s.rig).syncs - before;
}

/* Before the ${k}-th write of a checkpoint, another thread syncs the log and
 * answers the commits before.  Returns false if the checkpoint has fewer
 * writes. */
static bool
sync_inside(uint64_t k)
{
	struct err err = ERR_INIT;
	size_t answered;

	plvfs_clear(disk);
	story_begin_held(&s, disk, false);
	story_send(&s, ALICE, BOB, 10, 400);
	rig_turn(&s.rig);
	answered = story_answered(&s);
	assert_int_equal(answered, s.nsends);
	s.stalled = true;
	story_send(&s, ALICE, BOB, 2, 20);
	story_send(&s, ALICE, CAROL, 2, 3000);
	assert_int_equal(story_answered(&s), answered);
	writes_left = k;
	synced_inside = 0;
	plvfs_watch(disk, sync_now, NULL);
	assert_int_equal(db_checkpoint(s.rig.db, false, NULL, &err), RC_OK);
	plvfs_watch(disk, NULL, NULL);
	assert_int_equal(synced_inside > 0, writes_left == 0);
	assert_int_equal(
	    story_answered(&s), synced_inside > 0 ? s.nsends : answered);
	/* The log starts anew. */
	story_send(&s, BOB, ALICE, 2, 400);
	rig_turn(&s.rig);
	assert_int_equal(story_answered(&s), s.nsends);
	story_kill_rig(disk, &s.rig);
	return (synced_inside > 0);
}

static void
check_story(struct plvfs *on, uint64_t k)
{
	const char *bad;

	bad = story_verify(&s, STORY_ALL, on, false, NULL);
	if (bad != NULL)
		fail_msg("write %llu: %s", (unsigned long long)k, bad);
}

static void
test_sync_inside_checkpoint_keeps(void **state)
{
	uint64_t k;

	(void)state;
	for (k = 1; sync_inside(k); k++) {
		plvfs_cut(disk, k, 0, 0, image);
		check_story(image, k);
		check_story(disk, k);
	}
	print_message("# synced before each of %llu writes of a checkpoint\n",
	    (unsigned long long)k - 1);
	assert_true(k > 10);
}

/* ---- the product's topology, call by call ---- */

struct reading {
	struct db *db;
	bool open;
	int64_t last_id, pending; /* in its snapshot */
	size_t since;             /* commits when it was opened */
};

struct topology {
	struct rig rig;
	struct rnd_seeded rnd;
	struct reading readers[READERS];
	struct uuid ids[COMMITS * 8];
	size_t nids, commits;
	size_t steps, snapshots, old; /* of readers; old: kept over a commit */
};

static void
open_reader(struct db **ret)
{
	struct db_options o = {0};
	struct err err = ERR_INIT;
	char url[96];

	(void)snprintf(url, sizeof(url), "sqlite:%s", plvfs_path(disk));
	o.url = url;
	o.mode = DB_READER;
	o.schema = &sql_sqlite_schema;
	if (db_open(&o, ret, &err) != RC_OK)
		fail_msg("reader: %s", err.text);
}

static void
look(struct db *db, int64_t *ret_id, int64_t *ret_pending)
{
	struct err err = ERR_INIT;

	if (store_message_last_id(db, ret_id, &err) != RC_OK ||
	    store_outbox_pending_count(db, ret_pending, &err) != RC_OK)
		fail_msg("reader: %s", err.text);
}

static void
let_go(struct reading *r)
{

	db_rollback(r->db);
	r->open = false;
}

/* A reader opens a snapshot, or reads its snapshot again and may close it. */
static void
read_step(struct topology *t, struct reading *r)
{
	int64_t id, pending;
	struct err err = ERR_INIT;
	size_t ops;

	ops = plvfs_ops(disk);
	t->steps++;
	if (!r->open) {
		assert_int_equal(db_begin(r->db, &err), RC_OK);
		look(r->db, &r->last_id, &r->pending);
		r->since = t->commits;
		r->open = true;
		t->snapshots++;
	} else {
		look(r->db, &id, &pending);
		assert_int_equal(id, r->last_id);
		assert_int_equal(pending, r->pending);
		t->old += t->commits > r->since;
		if (rnd_below(&t->rnd.rnd, 4) == 0)
			let_go(r);
	}
	/* A reader writes nothing, whatever it does. */
	assert_int_equal(plvfs_ops(disk), ops);
}

static void
at_call(void *arg, enum plvfs_call call)
{
	struct topology *t = arg;

	(void)call;
	if (rnd_below(&t->rnd.rnd, 8) == 0)
		read_step(t, &t->readers[rnd_below(&t->rnd.rnd, READERS)]);
}

static void
send_some(struct topology *t, int64_t from, const char *to)
{
	static const char body[] = "a body of a few words, some of them long";
	struct send_unit u;
	size_t i, n;

	n = 1 + (size_t)rnd_below(&t->rnd.rnd, 3);
	for (i = 0; i < n; i++) {
		t->ids[t->nids] = uuid_gen_next(&t->rig.ids);
		u = rig_send(&t->rig, from, to, body, &t->ids[t->nids]);
		assert_int_equal(u.unit.rc, RC_OK);
		assert_int_equal(u.refusal.problem, PROBLEM_NONE);
		t->nids++;
		t->commits++;
	}
}

static void
open_topology(struct topology *t, int64_t users[2], int64_t *ret_device)
{
	struct rig_options o = {0};
	int i;

	memset(t, 0, sizeof(*t));
	plvfs_clear(disk);
	rnd_seeded_init(&t->rnd, 7);
	o.path = plvfs_path(disk);
	o.checkpoint_bytes = 48 << 10;
	rig_open_with(&t->rig, &o);
	users[0] = rig_user(&t->rig, "alice", NULL);
	users[1] = rig_user(&t->rig, "bob", ret_device);
	for (i = 0; i < READERS; i++)
		open_reader(&t->readers[i].db);
}

/* Checks that all accepted messages are there, and closes the rig. */
static void
check_kept(struct rig *r, const struct uuid *ids, size_t n)
{
	char sql[160], hex[33];
	size_t i, k;

	assert_string_equal(rig_text(r, "PRAGMA integrity_check"), "ok");
	rig_check_promises(r);
	assert_int_equal(
	    rig_number(r, "SELECT count(*) FROM messages"), (int64_t)n);
	for (i = 0; i < n; i++) {
		for (k = 0; k < 16; k++)
			(void)snprintf(hex + 2 * k, 3, "%02x", ids[i].b[k]);
		(void)snprintf(sql, sizeof(sql),
		    "SELECT count(*) FROM messages WHERE message_id = x'%s'",
		    hex);
		assert_int_equal(rig_number(r, sql), 1);
	}
	rig_close(r);
}

/* Starts from what is on the disk, and from what a power cut leaves of it. */
static void
check_disk(const struct uuid *ids, size_t n)
{
	struct rig_options o = {.path = plvfs_path(image)};
	struct rig r;

	plvfs_cut(disk, 1, 0, 0, image);
	rig_open_with(&r, &o);
	check_kept(&r, ids, n);
	o.path = plvfs_path(disk);
	rig_open_with(&r, &o);
	check_kept(&r, ids, n);
}

static void
test_readers_between_calls(void **state)
{
	static struct topology t;
	struct db_checkpoint cp;
	struct writer_stats stats;
	struct err err = ERR_INIT;
	int64_t users[2], device;
	size_t emptied = 0;
	bool alone;
	enum rc rc;
	int i;

	(void)state;
	open_topology(&t, users, &device);
	plvfs_watch(disk, at_call, &t);
	while (t.commits < COMMITS) {
		send_some(&t, users[0], "bob");
		t.commits += rig_deliver(&t.rig) > 0;
		(void)rig_ack(&t.rig, users[1], device, (int64_t)t.nids);
		rig_forget(&t.rig);
		if (rnd_below(&t.rnd.rnd, 15) != 0)
			continue;
		/* In half of the cases no reader is open. */
		alone = rnd_below(&t.rnd.rnd, 2) == 0;
		for (i = 0; i < READERS && alone; i++)
			let_go(&t.readers[i]);
		plvfs_watch(disk, alone ? NULL : at_call, &t);
		rc = db_checkpoint(t.rig.db, true, &cp, &err);
		assert_true(rc == RC_OK || (!alone && rc == RC_BUSY));
		emptied += rc == RC_OK;
		plvfs_watch(disk, at_call, &t);
	}
	plvfs_watch(disk, NULL, NULL);
	stats = writer_stats_get(t.rig.writer);
	for (i = 0; i < READERS; i++)
		db_close(t.readers[i].db);
	print_message("# %zu commits, %llu checkpoints, %zu emptied; %zu steps "
		      "of readers, %zu snapshots, %zu looks at old ones\n",
	    t.commits, (unsigned long long)stats.checkpoints, emptied, t.steps,
	    t.snapshots, t.old);
	assert_true(stats.checkpoints > 30 && emptied > 0);
	assert_true(t.snapshots > 100 && t.old > 100);
	story_kill_rig(disk, &t.rig);
	check_disk(t.ids, t.nids);
}

/* A reader can neither checkpoint nor write.  When a reader is the last
 * connection to close, the log stays. */
static void
test_readers_never_checkpoint(void **state)
{
	struct db_checkpoint cp;
	struct err err = ERR_INIT;
	struct topology *t = &(struct topology){0};
	const struct sql_meta_set v = {
	    .key = db_v_str("x"), .value = db_v_str("y")};
	int64_t users[2], device, log;
	struct db *reader;
	size_t ops;

	(void)state;
	open_topology(t, users, &device);
	send_some(t, users[0], "bob");
	log = db_log_bytes(t->rig.db);
	assert_true(log > 0);
	ops = plvfs_ops(disk);
	reader = t->readers[0].db;
	assert_int_not_equal(db_checkpoint(reader, false, &cp, &err), RC_OK);
	assert_int_not_equal(db_checkpoint(reader, true, &cp, &err), RC_OK);
	assert_int_not_equal(
	    db_run(reader, SQL_META_SET, DB_PARAMS(v), NULL, NULL, NULL, &err),
	    RC_OK);
	assert_int_equal(plvfs_ops(disk), ops);
	/* The writer was killed; the readers close after it. */
	story_kill_rig(disk, &t->rig);
	for (int i = 0; i < READERS; i++)
		db_close(t->readers[i].db);
	assert_int_equal(plvfs_ops(disk), ops);
	check_disk(t->ids, t->nids);
}

/* ---- the product's topology, with its threads ---- */

struct busy {
	struct read_job job; /* first */
	struct readers *readers;
	atomic_bool stop;
	atomic_size_t rounds, errors, queued;
};

static void
read_round(struct read_job *job, struct db *db, struct err *err)
{
	struct busy *b = (struct busy *)(void *)job;
	int64_t id, again, pending;

	if (db == NULL || store_message_last_id(db, &id, err) != RC_OK ||
	    store_outbox_pending_count(db, &pending, err) != RC_OK ||
	    usleep(500) != 0 ||
	    store_message_last_id(db, &again, err) != RC_OK || id != again)
		atomic_fetch_add(&b->errors, 1);
	atomic_fetch_add(&b->rounds, 1);
	if (atomic_load(&b->stop) || readers_submit(b->readers, job) != RC_OK)
		atomic_fetch_sub(&b->queued, 1);
}

static void
sent(struct unit *base)
{
	struct send_unit *u = CONTAINER_OF(base, struct send_unit, unit);

	atomic_fetch_add((atomic_size_t *)u->arg, 1);
}

/* Sends one batch after another through the writer's thread. */
static void
send_batches(struct rig *r, int64_t from, struct uuid *ids, size_t n)
{
	static struct send_unit units[8];
	static struct message_draft drafts[8];
	atomic_size_t done;
	size_t i, k;

	for (i = 0; i < n; i += 8) {
		atomic_store(&done, 0);
		for (k = 0; k < 8; k++) {
			ids[i + k] = uuid_gen_next(&r->ids);
			drafts[k].has_id = true;
			drafts[k].id = ids[i + k];
			drafts[k].to = (struct span){"bob", 3};
			drafts[k].body = (struct span){"hello", 5};
			memset(&units[k], 0, sizeof(units[k]));
			send_unit_init(&units[k]);
			assert_true(send_unit_ask(
			    &units[k], from, &drafts[k], &rig_addressing));
			units[k].unit.finish = sent;
			units[k].arg = &done;
			assert_int_equal(
			    writer_submit(r->writer, &units[k].unit), RC_OK);
		}
		while (atomic_load(&done) < 8)
			(void)usleep(50);
		for (k = 0; k < 8; k++)
			assert_int_equal(units[k].unit.rc, RC_OK);
	}
}

static void
test_threads(void **state)
{
	static struct uuid ids[COMMITS * 8];
	static struct busy busy[READERS];
	struct rig_options o = {.checkpoint_bytes = 256 << 10};
	struct db_options db = {0};
	struct readers *readers;
	struct err err = ERR_INIT;
	uint64_t checkpoints;
	size_t i, rounds = 0;
	struct rig r;
	int64_t alice;

	(void)state;
	rig_open_with(&r, &o);
	alice = rig_user(&r, "alice", NULL);
	(void)rig_user(&r, "bob", NULL);
	assert_int_equal(writer_start(r.writer, &err), RC_OK);
	db.url = r.url;
	db.schema = &sql_sqlite_schema;
	assert_int_equal(readers_start(&db, READERS, 100,
			     writer_commits(r.writer), &readers, &err),
	    RC_OK);
	for (i = 0; i < READERS; i++) {
		busy[i].job.run = read_round;
		busy[i].readers = readers;
		atomic_store(&busy[i].queued, 1);
		assert_int_equal(readers_submit(readers, &busy[i].job), RC_OK);
	}
	send_batches(&r, alice, ids, (size_t)COMMITS * 8);
	for (i = 0; i < READERS; i++) {
		atomic_store(&busy[i].stop, true);
		while (atomic_load(&busy[i].queued) > 0)
			(void)usleep(100);
		assert_int_equal(atomic_load(&busy[i].errors), 0);
		rounds += atomic_load(&busy[i].rounds);
	}
	readers_stop(readers);
	checkpoints = writer_stats_get(r.writer).checkpoints;
	print_message("# %d batches, %llu checkpoints, %zu reads\n", COMMITS,
	    (unsigned long long)checkpoints, rounds);
	assert_true(checkpoints > 10 && rounds > 100);
	rig_restart(&r);
	check_kept(&r, ids, (size_t)COMMITS * 8);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_second_checkpointer_loses),
	    cmocka_unit_test(test_one_checkpointer_keeps),
	    cmocka_unit_test(test_sync_inside_checkpoint_keeps),
	    cmocka_unit_test(test_readers_between_calls),
	    cmocka_unit_test(test_readers_never_checkpoint),
	    cmocka_unit_test(test_threads),
	};

	return (cmocka_run_group_tests(tests, disks_setup, disks_teardown));
}
