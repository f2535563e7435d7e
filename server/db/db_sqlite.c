/* SPDX-License-Identifier: MIT */
/*
 * The SQLite driver: statements, columns and transactions.
 *
 * Promises: one writer connection does every commit and every checkpoint
 * (SQLite before 3.51.3 loses commits otherwise); readers open the file
 * read-only and never checkpoint; each connection prepares each statement of
 * the schema once, at its first use.
 *
 * Relies on: each connection is used by one thread (only db_sync() may be
 * called in another thread); a lock file, which main/ holds, keeps a second
 * server process away from the database.
 */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "db/db_sqlite_internal.h"
#include "wal_buffer/wal_buffer.h"

/* The system error that caused ${code}; 0: none.  For codes other than
 * SQLITE_IOERR and SQLITE_CANTOPEN sqlite3_system_errno() still returns an
 * earlier error, so it is not used. */
static int
sys_of(const struct db_sqlite *s, int code)
{

	if ((code & 0xff) != SQLITE_IOERR && (code & 0xff) != SQLITE_CANTOPEN)
		return (0);
	return (s->handle != NULL ? sqlite3_system_errno(s->handle) : 0);
}

/* Returns whether the I/O error ${code} with the system error ${sys} means that
 * the disk is full; SQLITE_FULL is left to rc_of().  Only a failed write and a
 * failed growth of the log's index (SHMSIZE) count.  A sync that finds no room
 * has lost writes, so it is a failure of the disk. */
static bool
is_full(int code, int sys)
{

	return ((sys == ENOSPC || sys == EDQUOT) &&
		(code == SQLITE_IOERR_WRITE || code == SQLITE_IOERR_SHMSIZE));
}

/* The result code for SQLite's ${code} with the system's error ${sys}. */
static enum rc
rc_of(int code, int sys)
{

	if (is_full(code, sys))
		return (RC_FULL);
	switch (code & 0xff) {
	case SQLITE_OK:
	case SQLITE_ROW:
	case SQLITE_DONE:
		return (RC_OK);
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return (RC_BUSY);
	case SQLITE_NOMEM:
		return (RC_NO_MEMORY);
	case SQLITE_FULL:
		return (RC_FULL);
	case SQLITE_IOERR:
		return (code == SQLITE_IOERR_NOMEM ? RC_NO_MEMORY : RC_IO);
	case SQLITE_READONLY:
	case SQLITE_CANTOPEN:
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return (RC_IO);
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
		return (RC_CORRUPT);
	case SQLITE_CONSTRAINT:
		return (code == SQLITE_CONSTRAINT_UNIQUE ||
				code == SQLITE_CONSTRAINT_PRIMARYKEY ||
				code == SQLITE_CONSTRAINT_ROWID
			    ? RC_EXISTS
			    : RC_INTERNAL);
	default:
		return (RC_INTERNAL);
	}
}

enum rc
db_sqlite_fail(struct db_sqlite *s, int code, const char *what, struct err *err)
{
	enum rc rc;
	int ext, sys;
	bool full;

	ext = s->handle != NULL ? sqlite3_extended_errcode(s->handle) : code;
	if ((ext & 0xff) != (code & 0xff))
		ext = code;
	sys = sys_of(s, ext);
	rc = rc_of(ext, sys);
	if (rc == RC_OK)
		rc = RC_INTERNAL;
	/* A DB_COPIER writes a backup copy, which may be on another disk than
	 * the database.  Its errors therefore do not get the advice of
	 * DB_SQLITE_CURE, to free room on the disk of the database. */
	full = rc == RC_FULL && s->db.mode != DB_COPIER;
	/* An operator needs to read "No space left on device". */
	if (sys != 0)
		(void)err_set_sys(err, rc, sys, "%s: %s (SQLite %d)", what,
		    full ? DB_SQLITE_CURE : sqlite3_errmsg(s->handle), ext);
	else
		(void)err_set(err, rc, "%s: %s (SQLite %d)%s", what,
		    s->handle != NULL ? sqlite3_errmsg(s->handle)
				      : sqlite3_errstr(code),
		    ext, full ? ": " DB_SQLITE_CURE : "");
	if (err != NULL)
		err->ext = ext;
	return (rc);
}

enum rc
db_sqlite_exec(struct db_sqlite *s, const char *sql, struct err *err)
{
	int code;

	code = sqlite3_exec(s->handle, sql, NULL, NULL, NULL);
	if (code != SQLITE_OK)
		return (
		    db_sqlite_fail(s, code, sql[0] == 'P' ? sql : "db", err));
	return (RC_OK);
}

enum rc
db_sqlite_query_value(struct db_sqlite *s, const char *sql, int64_t *ret,
    char *text, size_t text_size, struct err *err)
{
	sqlite3_stmt *st;
	const unsigned char *p;
	int code;

	code = sqlite3_prepare_v2(s->handle, sql, -1, &st, NULL);
	if (code != SQLITE_OK)
		return (db_sqlite_fail(s, code, sql, err));
	code = sqlite3_step(st);
	if (code == SQLITE_ROW) {
		if (ret != NULL)
			*ret = sqlite3_column_int64(st, 0);
		p = sqlite3_column_text(st, 0);
		if (text != NULL)
			snprintf(text, text_size, "%s",
			    p == NULL ? "" : (const char *)p);
	}
	/* sqlite3_finalize() returns the error of sqlite3_step(), if it has
	 * failed, or the error of the commit of a pragma, which commits its
	 * change only when it is finalized. */
	code = sqlite3_finalize(st);
	if (code != SQLITE_OK)
		return (db_sqlite_fail(s, code, sql, err));
	return (RC_OK);
}

/* ---- statements ---- */

/* Returns 12 for "$12", and 0 for every other name. */
static int
parameter_number(const char *name)
{
	int k;

	if (name == NULL || *name != '$')
		return (0);
	for (k = 0, name++; *name >= '0' && *name <= '9' && k < 100; name++)
		k = k * 10 + (*name - '0');
	return (*name == '\0' ? k : 0);
}

enum rc
db_sqlite_prepare(
    struct db_sqlite *s, int id, struct db_sqlite_stmt **ret, struct err *err)
{
	struct db_sqlite_stmt *st;
	const struct sql_text *text;
	int i, k, n, code;

	st = &s->stmts[id];
	*ret = st;
	if (st->handle != NULL)
		return (RC_OK);
	text = &s->db.schema->statements[id];
	code = sqlite3_prepare_v3(s->handle, text->text, -1,
	    SQLITE_PREPARE_PERSISTENT, &st->handle, NULL);
	if (code != SQLITE_OK) {
		st->handle = NULL;
		return (db_sqlite_fail(s, code, text->name, err));
	}
	n = sqlite3_bind_parameter_count(st->handle);
	for (i = 1; i <= n; i++) {
		k = parameter_number(
		    sqlite3_bind_parameter_name(st->handle, i));
		if (k < 1 || k > DB_SQLITE_PARAMS_MAX) {
			sqlite3_finalize(st->handle);
			st->handle = NULL;
			return (err_set(err, RC_INTERNAL,
			    "%s: bad parameter name", text->name));
		}
		st->index[k] = (uint8_t)i;
		if ((size_t)k > st->nparams)
			st->nparams = (size_t)k;
	}
	return (RC_OK);
}

static int
bind_one(sqlite3_stmt *st, int i, const struct db_val *v)
{

	switch (v->type) {
	case DB_I64:
		return (sqlite3_bind_int64(st, i, v->u.i64));
	case DB_TEXT:
		return (sqlite3_bind_text64(st, i,
		    v->u.bytes.p != NULL ? v->u.bytes.p : "", v->u.bytes.n,
		    SQLITE_STATIC, SQLITE_UTF8));
	case DB_BLOB:
		return (sqlite3_bind_blob64(st, i,
		    v->u.bytes.p != NULL ? v->u.bytes.p : "", v->u.bytes.n,
		    SQLITE_STATIC));
	case DB_NULL:
	default:
		return (sqlite3_bind_null(st, i));
	}
}

static enum rc
bind_all(struct db_sqlite *s, int id, struct db_sqlite_stmt *st,
    const struct db_val *params, size_t n, struct err *err)
{
	size_t i;
	int code;

	if (n != st->nparams)
		return (err_set(err, RC_INTERNAL, "%s: %zu parameters for %zu",
		    s->db.schema->statements[id].name, n, st->nparams));
	for (i = 0; i < n; i++) {
		if (st->index[i + 1] == 0)
			continue;
		code = bind_one(st->handle, st->index[i + 1], &params[i]);
		if (code != SQLITE_OK)
			return (db_sqlite_fail(
			    s, code, s->db.schema->statements[id].name, err));
	}
	return (RC_OK);
}

/* Runs ${st} to its end and resets it. */
static enum rc
step_all(struct db_sqlite *s, int id, struct db_sqlite_stmt *st, db_row_fn each,
    void *arg, struct err *err)
{
	struct db_row row;
	enum rc rc;
	int code;

	rc = RC_OK;
	while ((code = sqlite3_step(st->handle)) == SQLITE_ROW) {
		if (each == NULL)
			continue;
		row.db = &s->db;
		row.handle = st->handle;
		rc = each(arg, &row, err);
		if (rc != RC_OK)
			break;
	}
	if (rc == RC_OK && code != SQLITE_DONE)
		rc = db_sqlite_fail(
		    s, code, s->db.schema->statements[id].name, err);
	sqlite3_reset(st->handle);
	return (rc);
}

static enum rc
sqlite_run(struct db *db, int id, const struct db_val *params, size_t n,
    db_row_fn each, void *arg, int64_t *ret_changed, struct err *err)
{
	struct db_sqlite *s = db_sqlite_of(db);
	struct db_sqlite_stmt *st;
	enum rc rc;

	rc = db_sqlite_prepare(s, id, &st, err);
	if (rc == RC_OK)
		rc = bind_all(s, id, st, params, n, err);
	if (rc == RC_OK)
		rc = step_all(s, id, st, each, arg, err);
	if (rc == RC_OK && ret_changed != NULL)
		*ret_changed = sqlite3_changes64(s->handle);
	return (rc);
}

static enum rc
sqlite_exec_many(struct db *db, int id, const struct db_val *params, size_t n,
    size_t nrows, int64_t *ret_changed, struct err *err)
{
	struct db_sqlite *s = db_sqlite_of(db);
	struct db_sqlite_stmt *st;
	enum rc rc;
	size_t i;

	rc = db_sqlite_prepare(s, id, &st, err);
	for (i = 0; i < nrows && rc == RC_OK; i++) {
		rc = bind_all(s, id, st, params + i * n, n, err);
		if (rc == RC_OK)
			rc = step_all(s, id, st, NULL, NULL, err);
		if (rc == RC_OK && ret_changed != NULL)
			*ret_changed += sqlite3_changes64(s->handle);
	}
	return (rc);
}

/* ---- columns ---- */

static bool
sqlite_col_null(const struct db_row *row, int col)
{

	return (sqlite3_column_type(row->handle, col) == SQLITE_NULL);
}

static int64_t
sqlite_col_i64(const struct db_row *row, int col)
{

	return (sqlite3_column_int64(row->handle, col));
}

static const void *
sqlite_col_bytes(const struct db_row *row, int col, bool text, size_t *ret_n)
{
	const void *p;

	p = text ? (const void *)sqlite3_column_text(row->handle, col)
		 : sqlite3_column_blob(row->handle, col);
	if (ret_n != NULL)
		*ret_n = (size_t)sqlite3_column_bytes(row->handle, col);
	return (p);
}

/* ---- transactions ---- */

/* Prepares the statements that begin and end transactions.  Preparing a
 * statement needs memory: a ROLLBACK that is prepared only when it is needed
 * would fail when memory has run out, and leave its transaction open. */
enum rc
db_sqlite_prepare_plain(struct db_sqlite *s, struct err *err)
{
	static const char *const texts[DB_SQLITE_PLAIN] = {
	    [DB_SQLITE_BEGIN] = "BEGIN",
	    [DB_SQLITE_BEGIN_WRITE] = "BEGIN IMMEDIATE",
	    [DB_SQLITE_SNAPSHOT] = "PRAGMA user_version",
	    [DB_SQLITE_COMMIT] = "COMMIT",
	    [DB_SQLITE_ROLLBACK] = "ROLLBACK"};
	int i, code;

	for (i = 0; i < DB_SQLITE_PLAIN; i++) {
		code = sqlite3_prepare_v3(s->handle, texts[i], -1,
		    SQLITE_PREPARE_PERSISTENT, &s->plain[i], NULL);
		if (code != SQLITE_OK)
			return (db_sqlite_fail(s, code, texts[i], err));
	}
	return (RC_OK);
}

static enum rc
step_plain(struct db_sqlite *s, enum db_sqlite_plain which, struct err *err)
{
	sqlite3_stmt *st = s->plain[which];
	enum rc rc = RC_OK;
	int code;

	code = sqlite3_step(st);
	if (code != SQLITE_DONE && code != SQLITE_ROW)
		rc = db_sqlite_fail(s, code, sqlite3_sql(st), err);
	(void)sqlite3_reset(st);
	return (rc);
}

static bool
sqlite_in_transaction(const struct db *db)
{
	const struct db_sqlite *s = (const struct db_sqlite *)(const void *)db;

	return (sqlite3_get_autocommit(s->handle) == 0);
}

static void
sqlite_rollback(struct db *db)
{
	struct err ignored = ERR_INIT;

	if (sqlite_in_transaction(db))
		(void)!step_plain(
		    db_sqlite_of(db), DB_SQLITE_ROLLBACK, &ignored);
	db_sqlite_of(db)->rollback_owed = sqlite_in_transaction(db);
}

static enum rc
sqlite_begin(struct db *db, struct err *err)
{
	struct db_sqlite *s = db_sqlite_of(db);
	enum rc rc;

	/* An earlier rollback failed for lack of memory, so its transaction is
	 * still open.  The caller of that rollback knows that the transaction
	 * failed, so the rollback is repeated here without an error.  If the
	 * rollback fails again, this BEGIN fails. */
	if (s->rollback_owed) {
		sqlite_rollback(db);
		if (s->rollback_owed)
			return (err_set(
			    err, RC_NO_MEMORY, "BEGIN: a rollback fails"));
	}
	/* A transaction is open because of a programming error.  It is rolled
	 * back, so that the next BEGIN succeeds, and this BEGIN fails, so that
	 * the earlier writes do not become part of another transaction. */
	if (sqlite_in_transaction(db)) {
		sqlite_rollback(db);
		return (err_set(err, RC_INTERNAL,
		    "BEGIN: a transaction was open and has been rolled back"));
	}
	rc = step_plain(s,
	    db->mode == DB_WRITER ? DB_SQLITE_BEGIN_WRITE : DB_SQLITE_BEGIN,
	    err);
	/* BEGIN alone takes no snapshot; the first read does. */
	if (rc == RC_OK && db->mode == DB_READER) {
		rc = step_plain(s, DB_SQLITE_SNAPSHOT, err);
		if (rc != RC_OK)
			sqlite_rollback(db);
	}
	return (rc);
}

static enum rc
sqlite_commit(struct db *db, struct err *err)
{
	struct db_sqlite *s = db_sqlite_of(db);
	enum rc rc;
	int ext;

	if ((rc = db_sqlite_grow_index(s, err)) != RC_OK)
		return (rc);
	rc = step_plain(s, DB_SQLITE_COMMIT, err);
	/* An SQLITE_IOERR of COMMIT that looks like a full disk is reported as
	 * RC_IO all the same: the system error may be an older one, and frames
	 * may already be in the log. */
	ext = sqlite3_extended_errcode(s->handle);
	if (rc == RC_FULL && (ext & 0xff) == SQLITE_IOERR)
		return (err_set(err, RC_IO, "COMMIT: %s (SQLite %d)",
		    sqlite3_errstr(ext), ext));
	return (rc);
}

static enum rc
sqlite_commit_early(struct db *db, bool *ret_owed, struct err *err)
{
	struct db_sqlite *s = db_sqlite_of(db);
	uint64_t before;
	enum rc rc;

	*ret_owed = false;
	if (s->log == NULL)
		return (sqlite_commit(db, err));
	before = wal_buffer_defer_syncs(s->log, true);
	rc = sqlite_commit(db, err);
	*ret_owed = wal_buffer_defer_syncs(s->log, false) != before;
	return (rc);
}

/* ---- opening and closing ---- */

static void
sqlite_close(struct db *db)
{
	struct db_sqlite *s = db_sqlite_of(db);
	int i;

	if (s->stmts != NULL)
		for (i = 0; i < db->schema->nstatements; i++)
			sqlite3_finalize(s->stmts[i].handle);
	for (i = 0; i < DB_SQLITE_PLAIN; i++)
		sqlite3_finalize(s->plain[i]);
	(void)sqlite3_close(s->handle);
	mem_free(s->stmts);
	mem_free(s);
}

const struct db_driver db_sqlite_driver = {
    .run = sqlite_run,
    .exec_many = sqlite_exec_many,
    .begin = sqlite_begin,
    .commit = sqlite_commit,
    .commit_early = sqlite_commit_early,
    .sync = db_sqlite_sync,
    .rollback = sqlite_rollback,
    .in_transaction = sqlite_in_transaction,
    .checkpoint = db_sqlite_checkpoint,
    .log_cut = db_sqlite_log_cut,
    .backup = db_sqlite_backup,
    .log_bytes = db_sqlite_log_bytes,
    .schema_number = db_sqlite_schema_number,
    .migrate = db_sqlite_migrate,
    .fresh = db_sqlite_fresh,
    .describe = db_sqlite_describe,
    .close = sqlite_close,
    .col_null = sqlite_col_null,
    .col_i64 = sqlite_col_i64,
    .col_bytes = sqlite_col_bytes,
};
