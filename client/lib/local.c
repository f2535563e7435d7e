/* SPDX-License-Identifier: MIT */
/*
 * The client's database: opening, transactions and statements.
 *
 * A process holds an exclusive flock of the lock file during every transaction
 * that writes, every checkpoint (which a commit may trigger), opening and
 * closing.  SQLite before 3.51.3 can lose a commit when one connection
 * checkpoints while another one commits, and several processes of one account
 * use the same database at once.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clk.h"
#include "base/mem.h"
#include "lib/local_internal.h"
#include "lib/parse.h"

/* local_open() deletes answered and refused drafts that were created more than
 * 14 days ago, and all but the newest 20,000 events.  14 days is also the
 * default of the server's setting dedup-retention, the time for which a server
 * stores the ids of events that it has accepted from other servers. */
#define KEEP_DRAFTS_MS (14ll * 86400 * 1000)
#define KEEP_EVENTS 20000

static const char *const sql_text[LOCAL_SQL_COUNT] = {
#define X(name, sql) [LOCAL_##name] = sql,
    LOCAL_SQL_TABLE(X)
#undef X
};

enum rc
local_failed(const struct local *local, struct fail *fail)
{
	int code = sqlite3_errcode(local->db);

	if (code == SQLITE_NOMEM)
		return (fail_set(fail, FAIL_MEMORY, "out of memory"));
	(void)fail_set(fail, FAIL_INPUT_OUTPUT, "%.120s: %.100s", local->path,
	    sqlite3_errmsg(local->db));
	if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT)
		(void)fail_cure(fail, "move the file away; it is made again");
	return (fail->rc);
}

sqlite3_stmt *
local_statement(struct local *local, enum local_sql which)
{

	if (local->stmt[which] == NULL &&
	    sqlite3_prepare_v3(local->db, sql_text[which], -1,
		SQLITE_PREPARE_PERSISTENT, &local->stmt[which],
		NULL) != SQLITE_OK)
		return (NULL);
	return (local->stmt[which]);
}

sqlite3_stmt *
local_bound(struct local *local, enum local_sql which, const char *a,
    const char *b, const char *c)
{
	sqlite3_stmt *s = local_statement(local, which);
	const char *text[3] = {a, b, c};
	int i, n;

	if (s == NULL)
		return (NULL);
	n = sqlite3_bind_parameter_count(s);
	for (i = 0; i < 3 && i < n; i++) {
		if (text[i] == NULL)
			(void)sqlite3_bind_null(s, i + 1);
		else if (sqlite3_bind_text(
			     s, i + 1, text[i], -1, SQLITE_STATIC) != SQLITE_OK)
			return (NULL);
	}
	return (s);
}

enum rc
local_run(struct local *local, sqlite3_stmt *s, struct fail *fail)
{
	int code;
	enum rc rc = RC_OK;

	if (s == NULL)
		return (local_failed(local, fail));
	do {
		code = sqlite3_step(s);
	} while (code == SQLITE_ROW);
	if (code != SQLITE_DONE)
		rc = local_failed(local, fail);
	(void)sqlite3_reset(s);
	return (rc);
}

enum rc
local_begin(struct local *local, struct fail *fail)
{
	enum rc rc;

	while (flock(local->lock_fd, LOCK_EX) != 0) {
		if (errno != EINTR)
			return (fail_set(fail, FAIL_INPUT_OUTPUT,
			    "cannot lock %.150s: %s", local->path,
			    strerror(errno)));
	}
	rc = local_run(local, local_statement(local, LOCAL_BEGIN), fail);
	if (rc != RC_OK)
		(void)flock(local->lock_fd, LOCK_UN);
	return (rc);
}

enum rc
local_finish(struct local *local, enum rc rc, struct fail *fail)
{
	struct fail ignored;

	if (rc == RC_OK)
		rc = local_run(
		    local, local_statement(local, LOCAL_COMMIT), fail);
	if (!sqlite3_get_autocommit(local->db))
		(void)local_run(
		    local, local_statement(local, LOCAL_ROLLBACK), &ignored);
	(void)flock(local->lock_fd, LOCK_UN);
	return (rc);
}

/* Returns the integer that statement ${which} selects, or -1. */
static int64_t
integer_of(struct local *local, enum local_sql which)
{
	sqlite3_stmt *s = local_statement(local, which);
	int64_t value = -1;

	if (s != NULL && sqlite3_step(s) == SQLITE_ROW)
		value = sqlite3_column_int64(s, 0);
	if (s != NULL)
		(void)sqlite3_reset(s);
	return (value);
}

/* In one transaction, creates the tables if the file has none, deletes answered
 * and refused drafts that are older than KEEP_DRAFTS_MS, and keeps at most the
 * newest KEEP_EVENTS events.  Fails if a newer twinbox has made the file. */
static enum rc
make_ready(struct local *local, struct fail *fail)
{
	sqlite3_stmt *s;
	int64_t version, old;
	enum rc rc;

	rc = local_begin(local, fail);
	if (rc != RC_OK)
		return (rc);
	version = integer_of(local, LOCAL_VERSION);
	if (version < 0 || integer_of(local, LOCAL_SYNCHRONOUS) != 2)
		rc = local_failed(local, fail);
	else if (version > LOCAL_SQL_VERSION) {
		rc = fail_set(fail, FAIL_CONFIG,
		    "%.150s was made by a newer twinbox", local->path);
		(void)fail_cure(fail, "use that one");
	} else if (version == 0 && sqlite3_exec(local->db, LOCAL_SQL_SCHEMA,
				       NULL, NULL, NULL) != SQLITE_OK)
		rc = local_failed(local, fail);
	old = clk_wall_ms(clk_system()) - KEEP_DRAFTS_MS;
	if (rc == RC_OK &&
	    (s = local_statement(local, LOCAL_OUTBOX_PURGE)) != NULL) {
		(void)sqlite3_bind_int64(s, 1, old);
		rc = local_run(local, s, fail);
	}
	if (rc == RC_OK &&
	    (s = local_statement(local, LOCAL_EVENT_PURGE)) != NULL) {
		(void)sqlite3_bind_int64(s, 1, KEEP_EVENTS);
		rc = local_run(local, s, fail);
	}
	return (local_finish(local, rc, fail));
}

/* Opens the lock file of the database at ${path}, creates the lock file if it
 * does not exist, and waits until this process has the exclusive lock.  The
 * name of the lock file is ${path} and ".lock".  Sets ${local}->lock_fd.  The
 * caller releases the lock. */
static enum rc
open_lock(struct local *local, const char *path, struct fail *fail)
{
	char lock_path[PATH_MAX + 8];

	(void)snprintf(lock_path, sizeof(lock_path), "%s.lock", path);
	local->lock_fd =
	    open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (local->lock_fd < 0 || flock(local->lock_fd, LOCK_EX) != 0)
		return (fail_set(fail, FAIL_CANNOT_CREATE,
		    "cannot lock %.150s: %s", lock_path, strerror(errno)));
	return (RC_OK);
}

enum rc
local_open(const char *path, struct local **ret, struct fail *fail)
{
	struct local *local = mem_zalloc(1, sizeof(*local));
	mode_t mask;
	int code;
	enum rc rc;

	if (local == NULL)
		return (fail_set(fail, FAIL_MEMORY, "out of memory"));
	local->lock_fd = -1;
	(void)snprintf(local->path, sizeof(local->path), "%.255s", path);
	rc = open_lock(local, path, fail);
	if (rc != RC_OK)
		goto undo_alloc;
	mask = umask(077);
	code = sqlite3_open_v2(path, &local->db,
	    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
	    NULL);
	if (code == SQLITE_OK)
		code =
		    sqlite3_exec(local->db, LOCAL_SQL_OPEN, NULL, NULL, NULL);
	(void)umask(mask);
	(void)flock(local->lock_fd, LOCK_UN);
	if (code != SQLITE_OK && local->db == NULL)
		rc = fail_set(fail, FAIL_MEMORY, "out of memory");
	else if (code == SQLITE_CANTOPEN)
		rc = fail_set(fail, FAIL_CANNOT_CREATE, "cannot open %.180s",
		    local->path);
	else if (code != SQLITE_OK)
		rc = local_failed(local, fail);
	else
		rc = make_ready(local, fail);
	if (rc != RC_OK)
		goto undo_alloc;
	*ret = local;
	return (RC_OK);

undo_alloc:
	local_close(local);
	return (rc);
}

void
local_close(struct local *local)
{
	int i;

	if (local == NULL)
		return;
	for (i = 0; i < LOCAL_SQL_COUNT; i++)
		(void)sqlite3_finalize(local->stmt[i]);
	/* Closing the last connection runs a checkpoint, so take the lock. */
	if (local->lock_fd >= 0)
		(void)flock(local->lock_fd, LOCK_EX);
	(void)sqlite3_close(local->db);
	if (local->lock_fd >= 0)
		(void)close(local->lock_fd);
	mem_free(local);
}

void
local_column_copy(sqlite3_stmt *s, int i, char *ret, size_t size)
{
	const unsigned char *text = sqlite3_column_text(s, i);

	(void)snprintf(ret, size, "%s", text != NULL ? (const char *)text : "");
}

enum rc
local_column_json(sqlite3_stmt *s, int i, json_t **ret, struct fail *fail)
{
	const unsigned char *text = sqlite3_column_text(s, i);

	return (parse_json("a row", text != NULL ? (const char *)text : "",
	    (size_t)sqlite3_column_bytes(s, i), ret, fail));
}
