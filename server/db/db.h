/* SPDX-License-Identifier: MIT */
/*
 * The seam to the database: prepared statements by name, parameters, rows,
 * transactions.  What differs between SQLite and PostgreSQL is the text of the
 * statements and a driver behind `struct db_driver`; everything above is
 * written once.
 *
 * A connection belongs to one thread.  Rows are borrowed: what a row gives is
 * valid until the callback returns.
 */
#ifndef DB_DB_H
#define DB_DB_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/timing.h"
#include "base/uuid.h"

struct sql_text {
	const char *name;
	const char *text;
	const char *writer; /* what a DB_WRITER's text ends with (a lock): then
			     * text has no semicolon at its end; or NULL */
};

struct sql_migration {
	int number;
	const char *name;
	const char *text;
};

/* One backend's texts, made by the build from schema/<backend>/. */
struct db_schema {
	const struct sql_text *statements; /* indexed by enum sql_stmt */
	int nstatements;
	const struct sql_migration *migrations; /* ascending, without holes */
	int nmigrations;
};

enum db_mode {
	DB_WRITER, /* the only connection that commits and checkpoints */
	DB_READER, /* read-only, sees committed transactions */
	DB_COPIER  /* read-only, for db_backup() */
};

/* How hard the log is synced.  Anything but FULL exists for the power-loss
 * test alone, which must see it fail; no setting reaches it. */
enum db_sync { DB_SYNC_FULL, DB_SYNC_NORMAL };

/* The id of no lineage: nowhere does a transaction begin. */
#define DB_LINEAGE_NOWHERE INT64_C(-1)

/*
 * Where a multi-writer database is in its history: one that was promoted,
 * restored or copied goes on from an earlier moment in a lineage of its own.  A
 * server that is not a standby stays on its lineage for as long as a connection
 * to it lives.
 */
#define DB_LINEAGE_SIZE 80

/* The interval between two tries of a migration lock that another node holds,
 * milliseconds. */
#define DB_WAITS_MS 200

struct db_lineage {
	int64_t id; /* of this name; not 0, not DB_LINEAGE_NOWHERE */
	char name[DB_LINEAGE_SIZE]; /* SYSTEM/DATABASE/TIMELINE */
	bool standbys; /* there are some that commits may wait for */
	bool waits;    /* and those of this connection do */
};

struct db_options {
	const char *url; /* "sqlite:PATH", "postgresql://..." */
	enum db_mode mode;
	enum db_sync sync;
	const char *vfs; /* SQLite VFS name for tests, or NULL */
	const struct db_schema *schema;

	const struct timing *timing; /* kept; NULL: timing_real() */

	/* Called every DB_WAITS_MS while a migration waits for another node's;
	 * ${what}: a text that names it.  May be NULL. */
	void (*waits)(void *arg, const char *what);
	void *waits_arg;

	/* Kept.  Transactions begin only at a server whose lineage has this id;
	 * 0: at any.  NULL: at any, standbys too. */
	const atomic_int_fast64_t *lineage;
};

enum db_type { DB_NULL, DB_I64, DB_TEXT, DB_BLOB };

/* A parameter.  Pointers are borrowed for the call. */
struct db_val {
	enum db_type type;
	union {
		int64_t i64;
		struct {
			const void *p;
			size_t n;
		} bytes;
	} u;
};

#define DB_V_NULL ((struct db_val){.type = DB_NULL})

static inline struct db_val
db_v_i64(int64_t v)
{

	return ((struct db_val){.type = DB_I64, .u.i64 = v});
}

static inline struct db_val
db_v_text(const char *p, size_t n)
{

	return ((struct db_val){.type = DB_TEXT, .u.bytes = {p, n}});
}

static inline struct db_val
db_v_blob(const void *p, size_t n)
{

	return ((struct db_val){.type = DB_BLOB, .u.bytes = {p, n}});
}

static inline struct db_val
db_v_uuid(const struct uuid *u)
{

	return (db_v_blob(u->b, sizeof(u->b)));
}

/* A NUL-terminated text, or NULL for NULL. */
struct db_val db_v_str(const char *s);

/* The first ${most} bytes of a NUL-terminated text; NULL for NULL and for "".
 */
struct db_val db_v_text_most(const char *s, size_t most);

/* ${v}, or NULL when ${v} is ${none}. */
static inline struct db_val
db_v_i64_or_null(int64_t v, int64_t none)
{

	return (v == none ? DB_V_NULL : db_v_i64(v));
}

struct db;
struct db_row;

/* A row has come; a result other than RC_OK ends the statement with it. */
typedef enum rc (*db_row_fn)(
    void *arg, const struct db_row *row, struct err *err);

/* Whether the database of ${url} has several writers (PostgreSQL), or this
 * program alone (a file). */
bool db_url_multi_writer(const char *url);

/* Opens a connection.  RC_CORRUPT/RC_IO when the file is damaged or cannot be
 * read, RC_INVALID for a bad url, a database that does not exist or is not
 * ours, a server or a pooler that is not supported; RC_DENIED: the server
 * refuses the user; RC_AWAY: it cannot be reached, or accepts no connection
 * now. */
enum rc db_open(const struct db_options *options, struct db **ret,
    struct err *err) MUST_USE;

/* Closes it; an open transaction is rolled back.  NULL is allowed. */
void db_close(struct db *db);

/* Runs statement ${stmt} with ${n} parameters (DB_PARAMS; $1 is params[0]);
 * ${each} (may be NULL) sees each row.  ${ret_changed} (may be NULL): rows
 * changed. */
enum rc db_run(struct db *db, int stmt, const struct db_val *params, size_t n,
    db_row_fn each, void *arg, int64_t *ret_changed, struct err *err) MUST_USE;

/* Runs ${stmt} once for each of ${nrows} rows of ${n} parameters, in order (a
 * set-based driver sends them as one).  Stops at the first error.
 * ${ret_changed} (may be NULL): rows changed in all. */
enum rc db_exec_many(struct db *db, int stmt, const struct db_val *params,
    size_t n, size_t nrows, int64_t *ret_changed, struct err *err) MUST_USE;

/* ${n} rows of ${width} parameters, one after another. */
struct db_set {
	const struct db_val *v;
	size_t width, n;
};

/* The parameters in ${p}, a struct of values by name (schema/sql.h): a pointer
 * and their number, as db_run() takes them. */
#define DB_PARAMS(p)                                                           \
	(const struct db_val *)&(p), sizeof(p) / sizeof(struct db_val)

/* The set of ${count} such structs at ${rows}. */
#define DB_SET(rows, count)                                                    \
	((struct db_set){.v = (const struct db_val *)(rows),                   \
	    .width = sizeof(*(rows)) / sizeof(struct db_val),                  \
	    .n = (count)})

/* As db_run() for each row of ${set} (a set-based driver runs one statement for
 * all of them, and gives the rows in an order of its own). */
enum rc db_run_many(struct db *db, int stmt, const struct db_set *set,
    db_row_fn each, void *arg, struct err *err) MUST_USE;

/*
 * ---- the pipeline ----
 *
 * In a transaction of a server, which is a round trip away, these two put a
 * statement into a queue.  It is sent with the next statement whose result is
 * needed now; db_pipeline_flush(), db_run() and db_commit() are such.  Results
 * come in the order of the statements.  An error of a queued statement is
 * returned by the call that sends it, at the latest by db_commit(); its
 * RC_EXISTS or RC_CONFLICT as another code, if that call waits for a statement
 * of its own.  A driver without a pipeline runs each statement at once.
 */

/* Queues ${stmt} for each row of ${set}; each must change exactly one row of a
 * table, else RC_CONFLICT (a fence: memory and disk disagree), which is checked
 * when the result comes.  ${set} is borrowed for the call. */
enum rc db_pipeline_write(struct db *db, int stmt, const struct db_set *set,
    struct err *err) MUST_USE;

/* Queues ${stmt} for each row of ${set}, as db_run_many(); ${each} sees the
 * rows by the end of db_pipeline_flush().  ${set} is borrowed for the call,
 * ${arg} is kept until then. */
enum rc db_pipeline_query(struct db *db, int stmt, const struct db_set *set,
    db_row_fn each, void *arg, struct err *err) MUST_USE;

/* Sends what is queued and waits for all results. */
enum rc db_pipeline_flush(struct db *db, struct err *err) MUST_USE;

/* Begins a transaction: for writing (BEGIN IMMEDIATE), or a read snapshot,
 * which is taken now (by a server: with the first statement). */
enum rc db_begin(struct db *db, struct err *err) MUST_USE;

/* Commits.  RC_UNCERTAIN, RC_UNCONFIRMED (of a database with standbys) or
 * RC_IO: it may or may not be durable. */
enum rc db_commit(struct db *db, struct err *err) MUST_USE;

/* Commits early: readers see it and the death of the process keeps it, but a
 * loss of power may take it back, together with all that was committed after
 * it.  *ret_owed: until db_sync() has returned RC_OK.  Writer only. */
enum rc db_commit_early(
    struct db *db, bool *ret_owed, struct err *err) MUST_USE;

/* Makes all durable that was committed early before this call.  After a
 * failure it fails for ever: it is not known which writes the system lost.
 * Thread: any one, also while the owner works. */
enum rc db_sync(struct db *db, struct err *err) MUST_USE;

/* Rolls back if a transaction is open. */
void db_rollback(struct db *db);

/* Whether a transaction is open (false after the database rolled back by
 * itself). */
bool db_in_transaction(const struct db *db);

/* What a checkpoint saw. */
struct db_checkpoint {
	int64_t log_frames;
	int64_t done_frames;
};

/* Moves the log into the database file: passive, or with ${truncate} waiting
 * for readers and emptying the log.  Writer only. */
enum rc db_checkpoint(struct db *db, bool truncate, struct db_checkpoint *ret,
    struct err *err) MUST_USE;

/* As db_checkpoint() with truncate, but does not wait: RC_BUSY when a reader
 * uses the log (what it does not need is moved even then).  Writer only. */
enum rc db_log_cut(struct db *db, struct err *err) MUST_USE;

/* Copies all that is committed now into ${path}, a new or an empty file, which
 * is not synced; writers go on meanwhile.  RC_BUSY: the log, which cannot be
 * emptied during the copy, grew beyond ${log_limit} bytes; RC_FULL: no room.
 * After an error there is no file.  DB_COPIER only. */
enum rc db_backup(struct db *db, const char *path, int64_t log_limit,
    struct err *err) MUST_USE;

/* Bytes that the write-ahead log holds now (0 where there is none). */
int64_t db_log_bytes(struct db *db);

/* The schema that the database has (0: none yet) and the newest one that this
 * program knows.  A newer database is refused (RC_INVALID) in one sentence. */
enum rc db_schema_number(
    struct db *db, int *ret_has, int *ret_newest, struct err *err) MUST_USE;

/* Runs the migrations that are missing, each in a transaction of its own
 * together with its number.  ${ret_from}, ${ret_to}: before and after.  A
 * newer database is refused (RC_INVALID) in one sentence. */
enum rc db_migrate(struct db *db, int64_t now_ms, int *ret_from, int *ret_to,
    struct err *err) MUST_USE;

/* Makes an empty database in memory with the migrations of ${db}'s program up
 * to ${number}; *ret: the caller closes it, or NULL where the backend has none
 * (a server). */
enum rc db_fresh(
    struct db *db, int number, struct db **ret, struct err *err) MUST_USE;

/* What a prepared statement takes and gives. */
struct db_description {
	int nparams, ncolumns;
	char columns[1024]; /* their names, with ", " between them */
};

/* Prepares statement ${stmt} (as db_run would) and describes it, for tests;
 * ${plan} (may be NULL): its query plan. */
enum rc db_describe(struct db *db, int stmt, struct db_description *ret,
    char *plan, size_t plan_size, struct err *err) MUST_USE;

/* From the next transaction on each statement may take an hour, and a query
 * gives its rows as the server finds them: for those that read or write the
 * whole database.  Before db_begin(). */
enum rc db_allow_long_statements(struct db *db, struct err *err) MUST_USE;

/* Whether the database has several writers: then what one transaction has read
 * may be different in the next. */
bool db_multi_writer(const struct db *db);

/* Whether the last failure was a conflict between transactions (a deadlock, a
 * lock that is not waited for, a row that another transaction has just made):
 * the same transaction may succeed if it is run again at once. */
bool db_retryable(const struct db *db);

/* From the next transaction on a statement waits for another transaction's lock
 * for at most ${ms}.  A file has no such locks. */
void db_set_lock_timeout(struct db *db, int64_t ms);

/* Whether the last failure was that time-out. */
bool db_lock_timed_out(const struct db *db);

/* Whether after ${rc} this process can never trust the database again.  A lost
 * connection is mended, a lost disk is not. */
bool db_is_fatal(const struct db *db, enum rc rc);

/* For statements that give one number: stores it in the int64_t ${arg}. */
enum rc db_take_i64(
    void *arg, const struct db_row *row, struct err *err) MUST_USE;

/* From now on transactions begin only where db_options.lineage says.  Kept. */
void db_follow_lineage(struct db *db, const atomic_int_fast64_t *lineage);

/* On which lineage the server is.  RC_AWAY: it is a standby. */
enum rc db_lineage_get(
    struct db *db, struct db_lineage *ret, struct err *err) MUST_USE;

/* Whether a commit at the server of ${db} waits for a standby now (a file has
 * none).  A query; not in a transaction. */
enum rc db_waits_for_standby(
    struct db *db, bool *ret, struct err *err) MUST_USE;

/* Rows of which each node has its own (outbox_totals) are those of ${node} when
 * this connection writes them; of node 0 until then. */
enum rc db_set_node(struct db *db, int64_t node, struct err *err) MUST_USE;

/* ---- notifications between the nodes of a database (LISTEN, NOTIFY) ----
 *
 * They may be lost: a node that needs what they say also asks the database now
 * and then.  After an error the connection must listen again. */

/* From now on this connection gets the notifications on ${channel} (a plain
 * word). */
enum rc db_notification_listen(
    struct db *db, const char *channel, struct err *err) MUST_USE;

/* Sends ${text} (below 8,000 bytes) to all connections that listen, this one
 * too. */
enum rc db_notification_send(struct db *db, const char *channel,
    const char *text, struct err *err) MUST_USE;

/* The descriptor that is readable when a notification has come; -1: there is no
 * connection. */
int db_notification_fd(const struct db *db);

/* Called for a notification; ${text} is borrowed. */
typedef void (*db_notification_fn)(void *arg, const char *text);

/* Calls ${each} for the notifications that have come; does not wait. */
enum rc db_notification_poll(struct db *db, db_notification_fn each, void *arg,
    struct err *err) MUST_USE;

/* Statements run, for the tests that count. */
uint64_t db_statements(const struct db *db);

/* Columns, counted from 0.  A NULL is 0, or NULL with *ret_n 0; so may be an
 * empty blob. */
bool db_row_null(const struct db_row *row, int col);
int64_t db_row_i64(const struct db_row *row, int col);
const char *db_row_text(const struct db_row *row, int col, size_t *ret_n);
const void *db_row_blob(const struct db_row *row, int col, size_t *ret_n);

/* A uuid column; all zero when NULL or of another size. */
struct uuid db_row_uuid(const struct db_row *row, int col);

/* Copies a text column into ${ret} of ${size} bytes, cut and NUL-terminated. */
void db_row_copy_text(
    const struct db_row *row, int col, char *ret, size_t size);

#endif
