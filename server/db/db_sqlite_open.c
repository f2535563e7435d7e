/* SPDX-License-Identifier: MIT */
/*
 * Opening an SQLite database: every lasting setting of a connection is made
 * here.
 *
 * Promises: the writer's settings that the driver relies on (WAL and, except
 * with DB_SYNC_NORMAL, synchronous=FULL) are read back, and opening fails if
 * they are not in effect; a file of another program is refused and not changed.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "db/db_sqlite_internal.h"
#include "wal_buffer/wal_buffer.h"

#define IN_MEMORY ":memory:"

/* RC_INVALID: the file belongs to another program. */
static enum rc
check_ours(struct db_sqlite *s, struct err *err)
{
	int64_t id, tables;
	enum rc rc;

	rc = db_sqlite_query_value(
	    s, "PRAGMA application_id", &id, NULL, 0, err);
	if (rc != RC_OK || id == DB_SQLITE_APPLICATION_ID)
		return (rc);
	rc = db_sqlite_query_value(
	    s, "SELECT count(*) FROM sqlite_schema", &tables, NULL, 0, err);
	if (rc != RC_OK)
		return (rc);
	if (id != 0 || tables != 0)
		return (err_set(err, RC_INVALID,
		    "the file is an SQLite database, but not one of twinbox"));
	return (RC_OK);
}

static enum rc
configure_writer(struct db_sqlite *s, enum db_sync sync, struct err *err)
{
	char mode[16];
	int64_t level;
	enum rc rc;

	/* auto_vacuum can be set only before the first table exists. */
	rc = db_sqlite_exec(s, "PRAGMA auto_vacuum=INCREMENTAL", err);
	if (rc == RC_OK)
		rc = db_sqlite_query_value(s, "PRAGMA journal_mode=WAL", NULL,
		    mode, sizeof(mode), err);
	if (rc == RC_OK && strcmp(mode, "wal") != 0)
		rc = err_set(err, RC_INVALID,
		    "the database cannot keep a write-ahead log here (mode %s): "
		    "use a local file system",
		    mode);
	if (rc == RC_OK)
		rc = db_sqlite_exec(s,
		    sync == DB_SYNC_FULL ? "PRAGMA synchronous=FULL"
					 : "PRAGMA synchronous=NORMAL",
		    err);
	if (rc == RC_OK)
		rc = db_sqlite_query_value(
		    s, "PRAGMA synchronous", &level, NULL, 0, err);
	if (rc == RC_OK && sync == DB_SYNC_FULL && level != 2)
		rc = err_set(err, RC_INVALID,
		    "synchronous=FULL cannot be set: refusing to promise what a "
		    "power cut could take back");
	if (rc == RC_OK)
		rc = db_sqlite_exec(s, "PRAGMA cache_size=-49152", err);
	/* SQLite opens the log of a new database at the first read, and
	 * wal_buffer_find() needs it open. */
	if (rc == RC_OK)
		rc = db_sqlite_query_value(
		    s, "PRAGMA user_version", &level, NULL, 0, err);
	return (rc);
}

static enum rc
configure(
    struct db_sqlite *s, const struct db_options *options, struct err *err)
{
	enum rc rc;

	sqlite3_extended_result_codes(s->handle, 1);
	(void)sqlite3_busy_timeout(s->handle, DB_SQLITE_BUSY_MS);
	(void)sqlite3_db_config(
	    s->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, (int *)NULL);
	(void)sqlite3_db_config(
	    s->handle, SQLITE_DBCONFIG_DQS_DDL, 0, (int *)NULL);
	(void)sqlite3_db_config(
	    s->handle, SQLITE_DBCONFIG_DQS_DML, 0, (int *)NULL);
	(void)sqlite3_db_config(s->handle, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE,
	    options->mode != DB_WRITER, (int *)NULL);
	/* Without QPSG, newer libraries plan a statement again for each value
	 * of a LIMIT. */
	(void)sqlite3_db_config(
	    s->handle, SQLITE_DBCONFIG_ENABLE_QPSG, 1, (int *)NULL);
	(void)sqlite3_wal_autocheckpoint(s->handle, 0);
	(void)sqlite3_wal_hook(s->handle, db_sqlite_on_commit, s);
	(void)sqlite3_limit(s->handle, SQLITE_LIMIT_ATTACHED, 1);
	rc = db_sqlite_exec(s,
	    "PRAGMA trusted_schema=OFF;PRAGMA cell_size_check=ON;"
	    "PRAGMA mmap_size=0;PRAGMA temp_store=MEMORY;"
	    "PRAGMA foreign_keys=ON",
	    err);
	if (rc == RC_OK)
		rc = check_ours(s, err);
	if (rc == RC_OK && options->mode == DB_WRITER)
		rc = configure_writer(s, options->sync, err);
	if (rc == RC_OK && options->mode == DB_READER)
		rc = db_sqlite_exec(
		    s, "PRAGMA query_only=ON;PRAGMA cache_size=-8192", err);
	if (rc == RC_OK)
		rc = db_sqlite_prepare_plain(s, err);
	return (rc);
}

/* Finds the first of the files of the database (${path}, -wal, -shm) that
 * exists and may not be written: stores its name in ${ret} and returns the
 * errno value.  Returns 0 if there is none; ${ret} is then not valid. */
static int
find_unwritable(const char *path, char *ret, size_t size)
{
	static const char *const tails[] = {"", "-wal", "-shm"};
	size_t i;

	for (i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
		(void)snprintf(ret, size, "%s%s", path, tails[i]);
		if (access(ret, W_OK) != 0 && errno != ENOENT)
			return (errno);
	}
	return (0);
}

/* Checks whether the index of the log (the file -shm), without which SQLite
 * cannot read a database in WAL mode, is missing and cannot be made, because
 * its folder may not be written.  If so, stores the name of the index in ${ret}
 * and returns the errno value.  Else returns 0, also if the database file
 * itself cannot be read; ${ret} is then not valid. */
static int
find_unmade(const char *path, char *ret, size_t size)
{
	const char *slash = strrchr(path, '/');

	(void)snprintf(ret, size, "%s-shm", path);
	if (access(path, R_OK) != 0 || access(ret, F_OK) == 0)
		return (0);
	(void)snprintf(ret, size, "%.*s",
	    slash != NULL ? (int)(slash - path) + 1 : 1,
	    slash != NULL ? path : ".");
	if (access(ret, W_OK) == 0)
		return (0);
	(void)snprintf(ret, size, "%s-shm", path);
	return (errno);
}

/*
 * Returns the result code of a failure to open the database at ${path}.  ${rc}
 * and ${err} are what db_sqlite_fail() has made of SQLite's error.  RC_IO means
 * a failure of the disk; if the reason is a missing right or a missing file,
 * this function replaces RC_IO, also in ${err}, by the code of rc_of_opening().
 * If SQLite may not write a file, it opens the file read-only and fails at the
 * first write, without the system's error; this function then finds the file
 * and the error.
 */
static enum rc
rc_at_opening(enum rc rc, const char *path, struct err *err)
{
	char name[sizeof(err->text)];
	int sys;

	if (rc != RC_IO || err == NULL)
		return (rc);
	if ((err->ext & 0xff) == SQLITE_READONLY &&
	    (sys = find_unwritable(path, name, sizeof(name))) != 0)
		return (err_set_sys(
		    err, rc_of_opening(sys), sys, "cannot write %s", name));
	if ((err->ext & 0xff) == SQLITE_CANTOPEN &&
	    (sys = find_unmade(path, name, sizeof(name))) != 0)
		return (err_set_sys(
		    err, rc_of_opening(sys), sys, "cannot make %s", name));
	if ((err->ext & 0xff) == SQLITE_CANTOPEN)
		err->rc = rc_of_opening(err->sys);
	return (err->rc);
}

/* Turns off SQLite's memory statistics, for which each allocation would take a
 * lock and which nothing reads, and installs the filter of db_sqlite_pcache.c.
 * Must run before SQLite is used for the first time. */
static void
configure_library(void)
{

	(void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	db_sqlite_pcache_install();
}

enum rc
db_sqlite_open(const struct db_options *options, const char *path,
    struct db **ret, struct err *err)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct db_sqlite *s;
	const char *vfs;
	enum rc rc;
	int code, flags;

	(void)pthread_once(&once, configure_library);
	s = mem_zalloc(1, sizeof(*s));
	if (s == NULL)
		return (err_set(err, RC_NO_MEMORY, "db: open"));
	s->db.driver = &db_sqlite_driver;
	s->db.schema = options->schema;
	s->db.mode = options->mode;
	s->stmts =
	    mem_zalloc((size_t)options->schema->nstatements, sizeof(*s->stmts));
	if (s->stmts == NULL) {
		rc = err_set(err, RC_NO_MEMORY, "db: open");
		goto undo;
	}
	flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
	flags |= options->mode == DB_WRITER || strcmp(path, IN_MEMORY) == 0
		     ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
		     : SQLITE_OPEN_READONLY;
	vfs = options->vfs;
	if (vfs == NULL && options->mode == DB_WRITER &&
	    options->sync == DB_SYNC_FULL)
		vfs = wal_buffer_vfs();
	code = sqlite3_open_v2(path, &s->handle, flags, vfs);
	if (code != SQLITE_OK) {
		rc = db_sqlite_fail(s, code, path, err);
		rc = rc_at_opening(rc, path, err);
		goto undo;
	}
	rc = configure(s, options, err);
	if (rc != RC_OK) {
		(void)err_wrap(err, "%s", path);
		rc = rc_at_opening(rc, path, err);
		goto undo;
	}
	if (options->mode == DB_WRITER)
		s->log = wal_buffer_find(s->handle);
	*ret = &s->db;
	return (RC_OK);

undo:
	db_sqlite_driver.close(&s->db);
	return (rc);
}

enum rc
db_sqlite_fresh(struct db *db, int number, struct db **ret, struct err *err)
{
	const struct db_schema *schema = db->schema;
	const struct db_options options = {
	    .mode = DB_READER, .schema = db->schema};
	struct db_sqlite *s;
	struct db *fresh;
	enum rc rc;
	int i;

	if ((rc = db_sqlite_open(&options, IN_MEMORY, &fresh, err)) != RC_OK)
		return (rc);
	s = db_sqlite_of(fresh);
	rc = db_sqlite_exec(s, "PRAGMA query_only=OFF", err);
	for (i = 0; i < schema->nmigrations && rc == RC_OK; i++)
		if (schema->migrations[i].number <= number)
			rc = db_sqlite_migrate_one(
			    s, &schema->migrations[i], err);
	if (rc != RC_OK)
		db_close(fresh);
	else
		*ret = fresh;
	return (rc);
}
