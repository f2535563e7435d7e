/* SPDX-License-Identifier: MIT */
/*
 * The run of early commits.  See early.h; test_power_early.c cuts the power.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "fault/early.h"
#include "unit/shim.h"

#define BODY_MAX 20000

/* ---- a disk that can skip the sync of a log's header ---- */

static struct early_run *playing; /* NULL: no sync is skipped */

static int
log_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
	struct early_run *r = playing;
	int code;

	/* The write may sync before it returns.  Such a sync is not the
	 * header's, so the header counts as unsynced only after the write. */
	code = shim_below->xWrite(f, p, n, at);
	if (r != NULL && at == 0) {
		assert_true(r->logs < EARLY_LOGS);
		r->header_at[r->logs++] = plvfs_ops(r->disk);
		r->header_unsynced = true;
	}
	return (code);
}

static int
log_sync(sqlite3_file *f, int flags)
{
	struct early_run *r = playing;

	if (r != NULL && r->header_unsynced) {
		r->header_unsynced = false;
		if (r->options.headers_put_off) {
			r->put_off++;
			return (SQLITE_OK);
		}
	}
	return (shim_below->xSync(f, flags));
}

static void
log_opened(sqlite3_io_methods *calls)
{

	calls->xWrite = log_write;
	calls->xSync = log_sync;
}

void
early_install(void)
{
	static const struct shim shim = {SQLITE_OPEN_WAL, NULL, log_opened};

	shim_install(&shim);
}

/* ---- the database ---- */

enum { S_ADD, S_CHANGE, S_MARK, S_LAST, S_ALL, S_CHECK, NSTMT };

static const struct sql_text statements[NSTMT] = {
    [S_ADD] = {"add",
	"INSERT INTO kept (id, stamp, body) "
	"VALUES ($1, $2, $3)",
	NULL},
    [S_CHANGE] = {"change",
	"UPDATE kept SET stamp = $2, body = $3 "
	"WHERE id = $1",
	NULL},
    [S_MARK] = {"mark", "UPDATE mark SET last = $1", NULL},
    [S_LAST] = {"last", "SELECT last FROM mark", NULL},
    [S_ALL] = {"all", "SELECT id, stamp, body FROM kept ORDER BY id", NULL},
    [S_CHECK] = {"check",
	"SELECT count(*) FROM pragma_integrity_check "
	"WHERE integrity_check <> 'ok'",
	NULL},
};

static const struct sql_migration migrations[] = {
    {1, "first",
	"CREATE TABLE kept (id INTEGER PRIMARY KEY, stamp INTEGER NOT NULL, "
	"body BLOB NOT NULL) STRICT;"
	"CREATE INDEX kept_stamp ON kept (stamp, id);"
	"CREATE TABLE mark (last INTEGER NOT NULL) STRICT;"
	"INSERT INTO mark VALUES (0);"},
};

static const struct db_schema schema = {statements, NSTMT, migrations, 1};

enum rc
early_open(const struct plvfs *disk, enum db_mode mode, struct db **ret,
    struct err *err)
{
	struct db_options o = {.mode = mode, .schema = &schema};
	char url[96];
	int from, to;
	enum rc rc;

	(void)snprintf(url, sizeof(url), "sqlite:%s", plvfs_path(disk));
	o.url = url;
	rc = db_open(&o, ret, err);
	if (rc != RC_OK || mode == DB_READER)
		return (rc);
	rc = db_checkpoint(*ret, true, NULL, err);
	if (rc == RC_OK)
		rc = db_migrate(*ret, 1, &from, &to, err);
	if (rc != RC_OK)
		db_close(*ret);
	return (rc);
}

static struct db *
must_open(const struct plvfs *disk, enum db_mode mode)
{
	struct err err = ERR_INIT;
	struct db *db;

	if (early_open(disk, mode, &db, &err) != RC_OK)
		fail_msg("%s", err.text);
	return (db);
}

/* Makes the body of row ${id} as commit ${stamp} writes it.  Returns its
 * length.  One row in seven needs overflow pages. */
static size_t
make_body(size_t id, size_t stamp, uint8_t body[BODY_MAX])
{
	uint32_t x;
	size_t i, n;

	n = 20 + (id * 37 + stamp * 11) % 400;
	if (id % 7 == 3)
		n += 5000;
	if (id % 61 == 10)
		n += 12000;
	x = (uint32_t)(id * 2654435761u + stamp * 40503u + 1u);
	for (i = 0; i < n; i++) {
		x = x * 1664525u + 1013904223u;
		body[i] = (uint8_t)(x >> 24);
	}
	return (n);
}

/* Adds a row to a digest (FNV-1a).  Rows are added in the order of their
 * ids. */
static uint64_t
digest_row(uint64_t h, size_t id, size_t stamp, const uint8_t *body, size_t n)
{
	size_t i;

	h = (h ^ id) * UINT64_C(1099511628211);
	h = (h ^ stamp) * UINT64_C(1099511628211);
	for (i = 0; i < n; i++)
		h = (h ^ body[i]) * UINT64_C(1099511628211);
	return ((h ^ n) * UINT64_C(1099511628211));
}

static enum rc
take_number(void *arg, const struct db_row *row, struct err *err)
{

	(void)err;
	*(int64_t *)arg = db_row_i64(row, 0);
	return (RC_OK);
}

static enum rc
take_row(void *arg, const struct db_row *row, struct err *err)
{
	struct early_shown *s = arg;
	const uint8_t *body;
	size_t n;

	(void)err;
	if (db_row_i64(row, 0) == EARLY_MORE) {
		s->more = true;
		return (RC_OK);
	}
	body = db_row_blob(row, 2, &n);
	s->digest = digest_row(s->digest, (size_t)db_row_i64(row, 0),
	    (size_t)db_row_i64(row, 1), body, n);
	return (RC_OK);
}

static enum rc
look(struct db *db, struct early_shown *ret, struct err *err)
{
	enum rc rc;

	memset(ret, 0, sizeof(*ret));
	rc = db_run(db, S_LAST, NULL, 0, take_number, &ret->last, NULL, err);
	if (rc == RC_OK)
		rc = db_run(db, S_ALL, NULL, 0, take_row, ret, NULL, err);
	return (rc);
}

enum rc
early_look(struct db *db, struct early_shown *ret, int64_t *ret_damages,
    struct err *err)
{
	enum rc rc;

	rc = db_run(db, S_CHECK, NULL, 0, take_number, ret_damages, NULL, err);
	return (rc == RC_OK && *ret_damages == 0 ? look(db, ret, err) : rc);
}

enum rc
early_add_more(struct db *db, struct err *err)
{
	struct db_val v[3];
	bool owed;
	enum rc rc;

	v[0] = db_v_i64(EARLY_MORE);
	v[1] = db_v_i64(0);
	v[2] = db_v_blob("more", 4);
	rc = db_begin(db, err);
	if (rc == RC_OK)
		rc = db_run(db, S_ADD, v, 3, NULL, NULL, NULL, err);
	if (rc == RC_OK)
		rc = db_commit_early(db, &owed, err);
	if (rc == RC_OK && !owed)
		rc = err_set(err, RC_INTERNAL, "it was not early");
	return (rc == RC_OK ? db_sync(db, err) : rc);
}

/* ---- the run ---- */

/* The number of commits that share a sync, by turn. */
static const size_t together[] = {1, 2, 3, 1, 3, 2, 2};

static void
all_durable(struct early_run *r, size_t upto)
{
	size_t k;

	for (k = 0; k <= upto; k++)
		if (r->durable[k] == EARLY_NEVER)
			r->durable[k] = plvfs_ops(r->disk);
}

/* Syncs what has been committed until now, as the thread that syncs does. */
static void
sync_now(struct early_run *r)
{
	static const struct plvfs_fault fault = {
	    .calls = PLVFS_SYNC, .at = 1, .code = SQLITE_IOERR_FSYNC};
	struct err err = ERR_INIT;
	size_t upto = r->commits;
	bool fails;
	enum rc rc;

	r->countdown = 0;
	r->waiting = 0;
	r->turn++;
	fails = ++r->syncs == r->options.fail_at;
	plvfs_fail(r->disk, fails ? &fault : NULL);
	rc = db_sync(r->db, &err);
	plvfs_fail(r->disk, NULL);
	if (rc == RC_OK)
		all_durable(r, upto);
	/* After one sync has failed, every later sync fails, too. */
	r->failed = r->failed || fails;
	assert_int_equal(rc == RC_OK, !r->failed);
}

/* Called for each call of the writer during a commit, a checkpoint or a cut.
 * Syncs before the write on which the countdown ends. */
static void
at_call(void *arg, enum plvfs_call call)
{
	struct early_run *r = arg;

	if (call != PLVFS_WRITE || r->countdown == 0 || --r->countdown > 0)
		return;
	r->among_writes++;
	sync_now(r);
}

/* Notes the result of a call of the writer.  After a failed sync the call may
 * fail, and then the run ends.  Without a failed sync it must not fail.
 * Returns true if it has succeeded. */
static bool
went(struct early_run *r, enum rc rc, const struct err *err)
{

	if (rc != RC_OK && !r->failed)
		fail_msg("commit %zu: %s", r->commits, err->text);
	r->ended = r->ended || rc != RC_OK;
	return (rc == RC_OK);
}

static enum rc
put_row(struct early_run *r, int stmt, size_t id, size_t stamp, struct err *err)
{
	static uint8_t body[BODY_MAX];
	struct db_val v[3];

	v[0] = db_v_i64((int64_t)id);
	v[1] = db_v_i64((int64_t)stamp);
	v[2] = db_v_blob(body, make_body(id, stamp, body));
	r->stamps[id] = stamp;
	return (db_run(r->db, stmt, v, 3, NULL, NULL, NULL, err));
}

/* Makes the changes of commit ${k}: new rows (a few, in one commit of 24 many),
 * changes of old rows, and the number of the commit. */
static enum rc
apply(struct early_run *r, size_t k, struct err *err)
{
	struct db_val mark = db_v_i64((int64_t)k);
	enum rc rc = RC_OK;
	size_t i, n;

	n = k % 24 == 9 ? 80 : 1 + k % 4;
	for (i = 0; i < n && rc == RC_OK; i++) {
		assert_true(r->nrows < EARLY_ROWS);
		rc = put_row(r, S_ADD, r->nrows++, k, err);
	}
	for (i = 0; i < k % 3 && rc == RC_OK; i++)
		rc = put_row(r, S_CHANGE, (k * 7 + i * 5) % r->nrows, k, err);
	if (rc == RC_OK)
		rc = db_run(r->db, S_MARK, &mark, 1, NULL, NULL, NULL, err);
	return (rc);
}

static uint64_t
digest_of(const struct early_run *r)
{
	static uint8_t body[BODY_MAX];
	uint64_t h = 0;
	size_t id, n;

	for (id = 0; id < r->nrows; id++) {
		n = make_body(id, r->stamps[id], body);
		h = digest_row(h, id, r->stamps[id], body, n);
	}
	return (h);
}

/* Makes one commit: ${early}, as the writer makes them, or with a sync, as the
 * start does. */
static void
transact(struct early_run *r, bool early)
{
	struct err err = ERR_INIT;
	size_t k = r->commits + 1;
	bool owed = false;

	if (!went(r, db_begin(r->db, &err), &err) ||
	    !went(r, apply(r, k, &err), &err))
		return;
	r->digest[k] = digest_of(r);
	plvfs_watch(r->disk, at_call, r);
	(void)went(r,
	    early ? db_commit_early(r->db, &owed, &err)
		  : db_commit(r->db, &err),
	    &err);
	plvfs_watch(r->disk, NULL, NULL);
	if (r->ended)
		return;
	r->commits = k;
	r->early[k] = plvfs_ops(r->disk);
	assert_int_equal(owed, early);
	if (!owed)
		all_durable(r, k);
	r->waiting += owed;
}

static void
checkpoint(struct early_run *r)
{
	struct err err = ERR_INIT;

	plvfs_watch(r->disk, at_call, r);
	(void)went(r, db_checkpoint(r->db, false, NULL, &err), &err);
	plvfs_watch(r->disk, NULL, NULL);
}

/* Cuts the log, as an idle writer does, while a sync is owed.  A reader may
 * prevent it (RC_BUSY).  All that the cut has moved into the file is durable
 * there. */
static void
cut(struct early_run *r)
{
	struct err err = ERR_INIT;
	enum rc rc;

	assert_true(r->waiting > 0);
	plvfs_watch(r->disk, at_call, r);
	rc = db_log_cut(r->db, &err);
	plvfs_watch(r->disk, NULL, NULL);
	if (rc == RC_BUSY || !went(r, rc, &err) || r->failed)
		return;
	all_durable(r, r->commits);
	r->cuts++;
}

/* The second connection sees each commit at once, or keeps a snapshot for some
 * commits.  A kept snapshot delays the checkpoint and the new start of the
 * log. */
static void
read_step(struct early_run *r)
{
	struct err err = ERR_INIT;
	struct early_shown s;

	if (!r->reading && r->commits % 25 == 4) {
		assert_int_equal(db_begin(r->reader, &err), RC_OK);
		r->reading = true;
		r->read_since = r->commits;
	}
	assert_int_equal(look(r->reader, &s, &err), RC_OK);
	if (!r->reading)
		r->read_since = r->commits;
	assert_int_equal(s.last, r->read_since);
	assert_true(s.digest == r->digest[r->read_since]);
	if (r->reading && r->commits % 25 == 13) {
		db_rollback(r->reader);
		r->reading = false;
	}
}

/* Kills the process and starts it again.  Unsynced commits can be lost with the
 * power, but not with the process.  The start makes the commits that it finds
 * durable before it returns. */
static void
kill_and_start(struct early_run *r)
{

	plvfs_dead(r->disk, true);
	db_close(r->reader);
	db_close(r->db);
	plvfs_dead(r->disk, false);
	r->killed = true;
	r->reading = false;
	r->countdown = r->waiting = 0;
	r->db = must_open(r->disk, DB_WRITER);
	r->reader = must_open(r->disk, DB_READER);
	all_durable(r, r->commits);
	transact(r, false);
}

/* Makes one commit.  If a sync is due, it comes either before the commit, or
 * among the writes of the commit or of the checkpoint or cut after it. */
static void
step(struct early_run *r)
{
	static const size_t how[] = {0, 1, 2, 0, 3, 1, 5};

	if (r->waiting >=
	    together[r->turn % (sizeof(together) / sizeof(together[0]))]) {
		r->countdown = how[r->turn % (sizeof(how) / sizeof(how[0]))];
		if (r->countdown == 0)
			sync_now(r);
	}
	transact(r, true);
	if (!r->ended && r->commits % 6 == 5)
		checkpoint(r);
	if (!r->ended && r->commits % 8 == 3)
		cut(r);
	if (!r->ended)
		read_step(r);
	if (!r->ended && r->countdown > 0)
		sync_now(r);
}

void
early_play(struct early_run *r, struct plvfs *disk,
    const struct early_options *options)
{
	size_t k;

	memset(r, 0, sizeof(*r));
	for (k = 0; k <= EARLY_COMMITS; k++)
		r->early[k] = r->durable[k] = EARLY_NEVER;
	r->disk = disk;
	r->options = *options;
	plvfs_clear(disk);
	r->db = must_open(disk, DB_WRITER);
	r->reader = must_open(disk, DB_READER);
	r->early[0] = plvfs_ops(disk);
	all_durable(r, 0);
	playing = r;
	while (r->commits < EARLY_COMMITS && !r->ended) {
		step(r);
		if (!r->failed && !r->killed && r->waiting > 1 &&
		    r->commits >= EARLY_COMMITS / 2)
			kill_and_start(r);
	}
	playing = NULL;
	plvfs_dead(disk, true);
	db_close(r->reader);
	db_close(r->db);
	plvfs_dead(disk, false);
}
