/* SPDX-License-Identifier: MIT */
/*
 * A copy of the whole database, made by one statement (VACUUM INTO) in one
 * snapshot.  SQLite cannot empty the write-ahead log while the copy runs, so
 * the copy is aborted when the log grows beyond the caller's limit.  Commits
 * never wait for a copy.
 */
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include "db/db_sqlite_internal.h"

/* The number of steps of SQLite's virtual machine between two checks of the
 * log. */
#define CHECK_STEPS 20000

struct watch {
	const char *log;
	int64_t limit;
	bool over;
};

/* SQLite's progress handler: a result other than 0 stops the statement. */
static int
check_log(void *arg)
{
	struct watch *w = arg;
	struct stat st;

	w->over = stat(w->log, &st) == 0 && st.st_size > w->limit;
	return (w->over);
}

static enum rc
vacuum_into(struct db_sqlite *s, const char *path, const struct watch *w,
    struct err *err)
{
	sqlite3_stmt *st = NULL;
	int code;

	code = sqlite3_prepare_v2(s->handle, "VACUUM INTO ?1", -1, &st, NULL);
	if (code == SQLITE_OK)
		code = sqlite3_bind_text(st, 1, path, -1, SQLITE_STATIC);
	if (code == SQLITE_OK)
		code = sqlite3_step(st);
	if (code == SQLITE_DONE)
		code = SQLITE_OK;
	if (code != SQLITE_OK && !w->over)
		(void)db_sqlite_fail(s, code, path, err);
	(void)sqlite3_finalize(st);
	if (w->over)
		return (err_set(err, RC_BUSY,
		    "given up: the log has grown beyond %" PRId64
		    " MiB meanwhile",
		    w->limit / (1024 * 1024)));
	return (code == SQLITE_OK ? RC_OK : err->rc);
}

enum rc
db_sqlite_backup(
    struct db *db, const char *path, int64_t log_limit, struct err *err)
{
	struct db_sqlite *s = db_sqlite_of(db);
	struct watch w = {.limit = log_limit};
	struct stat st;
	enum rc rc;

	if (stat(path, &st) == 0 && st.st_size > 0)
		return (err_set(err, RC_EXISTS, "%s is there already", path));
	w.log = sqlite3_filename_wal(sqlite3_db_filename(s->handle, "main"));
	sqlite3_progress_handler(s->handle, CHECK_STEPS, check_log, &w);
	rc = vacuum_into(s, path, &w, err);
	sqlite3_progress_handler(s->handle, 0, NULL, NULL);
	if (rc != RC_OK)
		(void)unlink(path);
	return (rc);
}
