/* SPDX-License-Identifier: MIT */
/*
 * The SQLite driver's connection.  Only db_sqlite*.c include this.
 */
#ifndef DB_DB_SQLITE_INTERNAL_H
#define DB_DB_SQLITE_INTERNAL_H

#include <sqlite3.h>

#include "db/db_internal.h"

#define DB_SQLITE_APPLICATION_ID 0x54774278 /* "TwBx" */
#define DB_SQLITE_PARAMS_MAX 32
#define DB_SQLITE_BUSY_MS 5000
/* How often a sync that signals interrupt (EINTR) is tried. */
#define DB_SQLITE_INTERRUPTS 100

/* A prepared statement and where its $n are. */
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
	struct db db; /* first */
	sqlite3 *handle;
	int64_t log_frames; /* in the write-ahead log now */
	sqlite3_file *log;  /* the writer's, when it is a gathering one */
	sqlite3_stmt *plain[DB_SQLITE_PLAIN];
	bool rollback_owed; /* one has failed, and its transaction is open */
	struct db_sqlite_stmt *stmts; /* schema->nstatements */
};

extern const struct db_driver db_sqlite_driver;

/* Says in ${err} what ${what} failed with, and gives what a caller can do. */
enum rc db_sqlite_fail(
    struct db_sqlite *s, int code, const char *what, struct err *err);

/* Prepares the statements that begin and end transactions. */
enum rc db_sqlite_prepare_plain(struct db_sqlite *s, struct err *err) MUST_USE;

/* Runs ${sql}, one or more statements without parameters. */
enum rc db_sqlite_exec(
    struct db_sqlite *s, const char *sql, struct err *err) MUST_USE;

/* The single value that ${sql} gives, as a number or as text; either may be
 * NULL. */
enum rc db_sqlite_ask(struct db_sqlite *s, const char *sql, int64_t *ret,
    char *text, size_t text_size, struct err *err) MUST_USE;

/* The prepared statement ${id}; prepared when it is needed first. */
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

/* Runs ${m} in a transaction of its own, with its number. */
enum rc db_sqlite_migrate_one(struct db_sqlite *s,
    const struct sql_migration *m, struct err *err) MUST_USE;

/* SQLite's hook after each commit: notes how long the log is now. */
int db_sqlite_on_commit(
    void *arg, sqlite3 *handle, const char *schema, int frames);

/* The name of the VFS that gathers log writes; NULL: the system's one must do.
 * Thread: any. */
const char *db_sqlite_gather(void);

/* The gathering log of ${handle}'s connection; NULL: it has none. */
sqlite3_file *db_sqlite_gather_log(sqlite3 *handle);

/* From ${defer} on, an xSync of ${log} that ends a commit is put off.  Gives
 * how many were put off since it was opened. */
uint64_t db_sqlite_gather_defer(sqlite3_file *log, bool defer);

/* Syncs ${log}: all that was put off.  An SQLite result; after a failure the
 * same for ever.  Thread: any, also while its owner works. */
int db_sqlite_gather_sync(sqlite3_file *log);

#endif
