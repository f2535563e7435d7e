/* SPDX-License-Identifier: MIT */
/*
 * The SQLite driver's connection and what its files share.  Only db_sqlite*.c
 * include this.
 */
#ifndef DB_DB_SQLITE_INTERNAL_H
#define DB_DB_SQLITE_INTERNAL_H

#include <sqlite3.h>
#include <stddef.h>

#include "db/db_internal.h"

#define DB_SQLITE_APPLICATION_ID 0x54774278 /* "TwBx" */
#define DB_SQLITE_PARAMS_MAX 32
#define DB_SQLITE_BUSY_MS 5000

/* The cure for a full disk; part of error texts. */
#define DB_SQLITE_CURE "free room on the disk of the database"

/* A prepared statement and the positions of its parameters ($1, $2 and so on).
 */
struct db_sqlite_stmt {
	sqlite3_stmt *handle;
	uint8_t index[DB_SQLITE_PARAMS_MAX +
		      1]; /* $n -> SQLite's index, 0: unused */
	size_t nparams;
};

/* The statements that begin and end transactions. */
enum db_sqlite_plain {
	DB_SQLITE_BEGIN,
	DB_SQLITE_BEGIN_WRITE,
	DB_SQLITE_SNAPSHOT,
	DB_SQLITE_COMMIT,
	DB_SQLITE_ROLLBACK,
	DB_SQLITE_PLAIN
};

struct db_sqlite {
	struct db db; /* must be the first member */
	sqlite3 *handle;
	int64_t log_frames; /* in the write-ahead log after the last commit */
	sqlite3_file *log;  /* buffered log of a writer; else NULL */
	sqlite3_stmt *plain[DB_SQLITE_PLAIN];
	bool rollback_owed;           /* a rollback failed: still open */
	struct db_sqlite_stmt *stmts; /* schema->nstatements */
};

_Static_assert(offsetof(struct db_sqlite, db) == 0, "db is the first member");

static inline struct db_sqlite *
db_sqlite_of(struct db *db)
{

	return ((struct db_sqlite *)(void *)db);
}

extern const struct db_driver db_sqlite_driver;

/* Puts a filter in front of SQLite's page cache (db_sqlite_pcache.c).  Must be
 * called before SQLite is used for the first time; later it has no effect. */
void db_sqlite_pcache_install(void);

/* Stores in ${err} that ${what} failed with SQLite's ${code}, and returns the
 * result code. */
enum rc db_sqlite_fail(
    struct db_sqlite *s, int code, const char *what, struct err *err);

/* Prepares the statements that begin and end transactions. */
enum rc db_sqlite_prepare_plain(struct db_sqlite *s, struct err *err) MUST_USE;

/* Runs ${sql}, one or more statements without parameters. */
enum rc db_sqlite_exec(
    struct db_sqlite *s, const char *sql, struct err *err) MUST_USE;

/* Runs the query ${sql} and stores the first column of its first row, as a
 * number in *ret and as a text in ${text}, which is truncated to ${text_size}
 * bytes with its NUL.  Each of the two pointers may be NULL.  A NULL gives 0
 * and "".  If there is no row, both stay as they are, with RC_OK. */
enum rc db_sqlite_query_value(struct db_sqlite *s, const char *sql,
    int64_t *ret, char *text, size_t text_size, struct err *err) MUST_USE;

/* Returns the statement ${id}, and prepares it at its first use. */
enum rc db_sqlite_prepare(struct db_sqlite *s, int id,
    struct db_sqlite_stmt **ret, struct err *err) MUST_USE;

/* As db_schema_number(), db_migrate() and db_describe(). */
enum rc db_sqlite_schema_number(
    struct db *db, int *ret_has, int *ret_newest, struct err *err) MUST_USE;
enum rc db_sqlite_migrate(struct db *db, int64_t now_ms, int *ret_from,
    int *ret_to, struct err *err) MUST_USE;
enum rc db_sqlite_describe(struct db *db, int id, struct db_description *ret,
    char *plan, size_t plan_size, struct err *err) MUST_USE;

/* As db_backup(). */
enum rc db_sqlite_backup(struct db *db, const char *path, int64_t log_limit,
    struct err *err) MUST_USE;

/* As db_fresh(). */
enum rc db_sqlite_fresh(
    struct db *db, int number, struct db **ret, struct err *err) MUST_USE;

/* Runs ${m} in its own transaction, which also stores its number. */
enum rc db_sqlite_migrate_one(struct db_sqlite *s,
    const struct sql_migration *m, struct err *err) MUST_USE;

/* ---- db_sqlite_log.c: the write-ahead log ---- */

/* Makes the log's index (the shared-memory file) large enough for the COMMIT
 * that follows, of up to 4,000 frames.  A COMMIT that finds no room for the
 * index would return an error with its frames already in the log, and would
 * take effect after a restart.  RC_FULL: the disk has no room for the index. */
enum rc db_sqlite_grow_index(struct db_sqlite *s, struct err *err) MUST_USE;

/* As db_sync(), db_checkpoint(), db_log_cut() and db_log_bytes(). */
enum rc db_sqlite_sync(struct db *db, struct err *err) MUST_USE;
enum rc db_sqlite_checkpoint(struct db *db, bool truncate,
    struct db_checkpoint *ret, struct err *err) MUST_USE;
enum rc db_sqlite_log_cut(struct db *db, struct err *err) MUST_USE;
int64_t db_sqlite_log_bytes(struct db *db);

/* SQLite's hook after each commit: stores the length of the log. */
int db_sqlite_on_commit(
    void *arg, sqlite3 *handle, const char *schema, int frames);

#endif
