/* SPDX-License-Identifier: MIT */
/*
 * The interface to the database: prepared statements (enum sql_stmt),
 * parameters, rows, transactions.  SQLite and PostgreSQL differ in the text of
 * the statements (schema/) and in the driver behind `struct db_driver`; all
 * code above this interface is written once.
 *
 * A connection belongs to one thread; only db_sync() may be called from
 * another.  Pointers that a row returns are borrowed: they are valid until the
 * callback returns.
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
	/* A locking clause (FOR UPDATE ...), which the PostgreSQL driver
	 * appends to ${text} when a DB_WRITER prepares the statement.  Where
	 * there is such a clause, ${text} has no semicolon at its end.  NULL:
	 * nothing is appended. */
	const char *writer;
};

struct sql_migration {
	int number;
	const char *name;
	const char *text;
};

/* The statements and migrations of one backend.  The build generates them from
 * schema/<backend>/. */
struct db_schema {
	const struct sql_text *statements; /* indexed by enum sql_stmt */
	int nstatements;
	const struct sql_migration *migrations; /* ascending, without gaps */
	int nmigrations;
};

enum db_mode {
	DB_WRITER, /* on SQLite the only one that commits and checkpoints */
	DB_READER, /* read-only, sees committed transactions */
	DB_COPIER  /* read-only, for db_backup(); SQLite only */
};

/* When SQLite's writer syncs the write-ahead log.  DB_SYNC_FULL: at each commit
 * (after db_commit_early(): in db_sync()).  DB_SYNC_NORMAL: only at checkpoints
 * (synchronous=NORMAL), so a loss of power can undo commits.  No setting
 * selects DB_SYNC_NORMAL: only tests use it, to prove that they detect commits
 * that were undone. */
enum db_sync { DB_SYNC_FULL, DB_SYNC_NORMAL };

/* The value of the variable at db_options.lineage while no transaction may
 * begin.  No server has a lineage (a history of the database) with this id, so
 * on PostgreSQL db_begin() returns RC_AWAY. */
#define DB_LINEAGE_NOWHERE INT64_C(-1)

/*
 * A lineage is one history of a PostgreSQL database.  A promoted standby, a
 * restored dump, and a database that was restored to a point in time each begin
 * a new lineage: it continues from an earlier state of the original lineage,
 * and may lack the commits that the original lineage has after that state.  A
 * server that is not a standby keeps its lineage as long as a connection to the
 * server lives.  DB_LINEAGE_SIZE is the room for the name of a lineage, in
 * bytes, with the NUL.
 */
#define DB_LINEAGE_SIZE 80

/* The interval, in milliseconds, at which a node tries again to get the
 * migration lock while another node holds it. */
#define DB_WAITS_MS 200

struct db_lineage {
	int64_t id; /* hash of name; never 0 or DB_LINEAGE_NOWHERE */
	char name[DB_LINEAGE_SIZE]; /* SYSTEM/DATABASE/TIMELINE */
	bool standbys;              /* the server has synchronous standbys */
	bool waits; /* commits of this connection wait for one */
};

struct db_options {
	const char *url; /* "sqlite:PATH", "postgresql://..." */
	enum db_mode mode;
	enum db_sync sync;
	const char *vfs; /* SQLite VFS name for tests, or NULL */
	const struct db_schema *schema;

	const struct timing *timing; /* pointer is kept; NULL: timing_real() */

	/* Called every DB_WAITS_MS while db_migrate(), on PostgreSQL, waits
	 * for the migration of another node.  ${what}, for a log line, is "the
	 * migration of another node", followed by the other node's session if
	 * the session was found; it is borrowed for the call and never NULL.
	 * The callback may be NULL. */
	void (*waits)(void *arg, const char *what);
	void *waits_arg;

	/* PostgreSQL only.  A variable with the id of the lineage (history of
	 * the database) that the server must have; 0: any server that is not a
	 * standby is accepted.  The pointer is kept; db_open(), each db_begin()
	 * and every other call that may connect again read the variable.  If
	 * the server has another lineage, db_open() returns RC_AWAY; db_begin()
	 * first makes a new connection, and returns RC_AWAY if the new
	 * connection also reaches a server of another lineage.  NULL: the
	 * lineage is not checked; unless the url sets target_session_attrs, a
	 * writer refuses a standby and a reader accepts it. */
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

/* A NUL-terminated text; a NULL pointer gives NULL. */
struct db_val db_v_str(const char *s);

/* A text parameter: at most the first ${most} bytes of the NUL-terminated
 * ${s}, even if that cuts a UTF-8 character.  The value points into ${s}.  For
 * NULL and for "" the parameter is an SQL NULL. */
struct db_val db_v_text_most(const char *s, size_t most);

/* ${v}, or NULL when ${v} is ${none}. */
static inline struct db_val
db_v_i64_or_null(int64_t v, int64_t none)
{

	return (v == none ? DB_V_NULL : db_v_i64(v));
}

struct db;
struct db_row;

/* Called for each row of a statement's result.  After the callback has returned
 * other than RC_OK it is not called again, and the function that runs the
 * statement returns that code.  For a queued statement, the call that sends the
 * queue returns it, but may replace RC_EXISTS and RC_CONFLICT (see "the
 * pipeline"). */
typedef enum rc (*db_row_fn)(
    void *arg, const struct db_row *row, struct err *err);

/* Returns whether ${url} begins with postgresql:// or postgres://, that is,
 * names a database to which several processes may write.  An SQLite file has
 * only one writer, this process. */
bool db_url_multi_writer(const char *url);

/* Opens a connection; a DB_WRITER creates the SQLite file if it does not exist.
 * *ret is set on success only; db_close() frees it.  RC_CORRUPT: the file is
 * damaged or not of SQLite.  RC_IO: the file cannot be read or written because
 * of its disk.  RC_INVALID: a bad url, a PostgreSQL database that does not
 * exist or is not in UTF-8, an SQLite file of another program, a server or a
 * pooler that is not supported, settings or a file system that do not make
 * commits durable, or PostgreSQL with DB_COPIER or in a build without
 * PostgreSQL.  RC_NOT_FOUND: the file or its folder does not exist.  RC_DENIED:
 * a missing right, or the server rejects the user.  RC_AWAY: the server cannot
 * be reached, accepts no connection now, is a standby where none is accepted,
 * or has another lineage (see db_options.lineage).  RC_BUSY: another process
 * has locked the file. */
enum rc db_open(const struct db_options *options, struct db **ret,
    struct err *err) MUST_USE;

/* Closes the connection and rolls back an open transaction.  NULL is allowed.
 */
void db_close(struct db *db);

/* Runs statement ${stmt} with ${n} parameters (see DB_PARAMS; $1 is params[0]).
 * If no transaction is open, the statement is a transaction of its own.
 * ${each} (may be NULL) is called for each row.  *ret_changed (NULL: not
 * wanted) is the number of rows that an INSERT, UPDATE or DELETE has changed;
 * after other statements, and after an error, it means nothing.  RC_EXISTS: a
 * row with this key exists.  RC_BUSY: a lock was not free in time (with NOWAIT:
 * at once), or on PostgreSQL the statement took too long or the server lacks a
 * resource.
 * RC_CONFLICT: PostgreSQL reports a deadlock or a serialization failure.
 * RC_AWAY: the connection to PostgreSQL was lost in this call, or earlier in
 * the transaction; if it was lost before the call and no transaction is open,
 * the call first connects again. */
enum rc db_run(struct db *db, int stmt, const struct db_val *params, size_t n,
    db_row_fn each, void *arg, int64_t *ret_changed, struct err *err) MUST_USE;

/* Runs ${stmt} once for each of ${nrows} rows of ${n} parameters, in order.  On
 * PostgreSQL a statement that takes arrays runs once for each group of up to
 * 512 rows.  If no transaction is open, each run is a transaction of its own.
 * Stops at the first error.  *ret_changed (NULL: not wanted) is the total of
 * changed rows; after an error, the total of the runs before the one that
 * failed. */
enum rc db_exec_many(struct db *db, int stmt, const struct db_val *params,
    size_t n, size_t nrows, int64_t *ret_changed, struct err *err) MUST_USE;

/* ${n} rows of ${width} parameters, one after another. */
struct db_set {
	const struct db_val *v;
	size_t width, n;
};

/* Expands to two arguments of db_run() for ${p}, a struct of named values
 * (schema/sql.h): a pointer to the values and their number. */
#define DB_PARAMS(p)                                                           \
	(const struct db_val *)&(p), sizeof(p) / sizeof(struct db_val)

/* The set of ${count} such structs at ${rows}. */
#define DB_SET(rows, count)                                                    \
	((struct db_set){.v = (const struct db_val *)(rows),                   \
	    .width = sizeof(*(rows)) / sizeof(struct db_val),                  \
	    .n = (count)})

/* Runs ${stmt} as db_run() does, for each row of ${set}, and calls ${each},
 * which must not be NULL, for all result rows.  On SQLite ${stmt} runs once for
 * each row of ${set}, in order.  On PostgreSQL ${stmt} must take arrays (else
 * RC_INTERNAL): it runs once for all rows of ${set}, and ${each} receives the
 * result rows in any order. */
enum rc db_run_many(struct db *db, int stmt, const struct db_set *set,
    db_row_fn each, void *arg, struct err *err) MUST_USE;

/*
 * ---- the pipeline ----
 *
 * On a server each statement costs a round trip.  Inside a transaction,
 * db_pipeline_write() and db_pipeline_query() therefore only queue a statement;
 * outside, they also wait for its result.  The queue is sent by
 * db_pipeline_flush(), with or just before the next statement whose result is
 * needed at once (db_run(), db_commit() and so on), before a statement that is
 * run or queued for the first time on this connection, and by a call that finds
 * the queue full.  Results are taken in the order of the statements.
 *
 * An error of a queued statement or of its callback is returned by the call
 * that sends the queue, at the latest by db_commit(); db_rollback() ignores it.
 * If this call also runs or queues a statement of its own, it returns
 * RC_INTERNAL in place of RC_EXISTS and RC_CONFLICT of an earlier statement, so
 * that its caller does not take the error for one of its own statement.  But
 * db_pipeline_flush(), and a call that sends the queue because it is full,
 * return RC_CONFLICT for these two codes; db_commit() returns RC_INTERNAL for
 * them if it sends COMMIT together with the queue, and RC_CONFLICT if it sends
 * the queue before.
 *
 * With a driver without a pipeline (SQLite), db_pipeline_write() and
 * db_pipeline_query() run each statement at once, and return its error
 * unchanged.
 */

/* Queues ${stmt} for each row of ${set}.  For each of these rows ${stmt} must
 * change exactly one row of a table; else the database is not in the state that
 * the caller has in memory, and the call that takes the result fails with
 * RC_CONFLICT, or with RC_INTERNAL (see above).  The check compares only the
 * total of changed rows with the number of rows of ${set} (on PostgreSQL, of up
 * to 512 of them).  ${stmt} must not be an INSERT with ON CONFLICT DO NOTHING,
 * because COMMIT may be sent before an INSERT is checked.  ${set} is borrowed
 * for the call. */
enum rc db_pipeline_write(struct db *db, int stmt, const struct db_set *set,
    struct err *err) MUST_USE;

/* Queues ${stmt} for each row of ${set}, as db_run_many(), but on PostgreSQL
 * ${stmt} need not take arrays if ${set} has only one row.  ${each}, which must
 * not use ${db}, is called for the result rows by this call on SQLite and
 * outside a transaction, else by the call that sends the queue, but never by
 * db_rollback(); ${arg} must live until db_pipeline_flush(), db_commit() or
 * db_rollback() has returned.  ${set} is borrowed for the call. */
enum rc db_pipeline_query(struct db *db, int stmt, const struct db_set *set,
    db_row_fn each, void *arg, struct err *err) MUST_USE;

/* Sends the queued statements and waits for all results. */
enum rc db_pipeline_flush(struct db *db, struct err *err) MUST_USE;

/* Begins a transaction: for writing (on SQLite BEGIN IMMEDIATE, on PostgreSQL
 * READ COMMITTED) on a writer's connection, a read snapshot on a reader's.
 * SQLite takes the reader's snapshot now, PostgreSQL with the first statement.
 * If the connection to PostgreSQL is lost, or its server is not of the lineage
 * at db_options.lineage, this call connects again.  RC_AWAY: the attempt to
 * connect failed, or was not made because the pause after an earlier failed
 * attempt is not over.  RC_BUSY: on SQLite a lock was not free within 5 s.
 * RC_INTERNAL: on SQLite a transaction was open, and has been rolled back; the
 * next call can succeed. */
enum rc db_begin(struct db *db, struct err *err) MUST_USE;

/* Commits.  After RC_IO, RC_UNCERTAIN (the answer to COMMIT was lost) or
 * RC_UNCONFIRMED (no standby has confirmed the commit, or PostgreSQL warned
 * during it) the commit may or may not be durable; after other errors nothing
 * is committed.  After any error the caller must call db_rollback(). */
enum rc db_commit(struct db *db, struct err *err) MUST_USE;

/* As db_commit(), but SQLite does not wait for the sync.  Readers see the
 * commit, and it survives the death of the process, but until db_sync() a loss
 * of power may undo it together with all later commits.  *ret_owed, valid if
 * RC_OK: true if the commit is durable only after db_sync() has returned RC_OK;
 * false: it is durable now (always on PostgreSQL).  Writer only. */
enum rc db_commit_early(
    struct db *db, bool *ret_owed, struct err *err) MUST_USE;

/* Makes all commits durable that db_commit_early() made before this call.
 * RC_IO: the sync failed; every later db_sync(), and every later db_commit()
 * that writes, returns RC_IO, too, because the system does not say which writes
 * it has lost.  On PostgreSQL it does nothing and returns RC_OK.  Thread: any,
 * also while the owner of the connection works. */
enum rc db_sync(struct db *db, struct err *err) MUST_USE;

/* Rolls back if a transaction is open. */
void db_rollback(struct db *db);

/* Returns whether a transaction is open.  False also after SQLite has rolled it
 * back by itself or the connection to PostgreSQL was lost.  A transaction of
 * PostgreSQL that has failed stays open until db_rollback(). */
bool db_in_transaction(const struct db *db);

/* The result of a checkpoint: how many frames (pages) the write-ahead log
 * holds, and how many of them are in the database file now. */
struct db_checkpoint {
	int64_t log_frames;
	int64_t done_frames;
};

/* Copies the pages in the write-ahead log into the database file.  Without
 * ${truncate} the checkpoint is passive: it copies what it can without a wait,
 * and the log keeps its size.  With ${truncate} it waits up to 5 s for readers
 * (then RC_BUSY), copies all pages and truncates the log to 0 bytes.  *ret
 * (${ret} may be NULL) is set on success only.  Writer only.  Does nothing on
 * PostgreSQL: RC_OK, *ret all 0. */
enum rc db_checkpoint(struct db *db, bool truncate, struct db_checkpoint *ret,
    struct err *err) MUST_USE;

/* As db_checkpoint() with ${truncate}, but does not wait for readers: returns
 * RC_BUSY if a reader uses the write-ahead log.  The log is not truncated then,
 * but the frames (pages) that are not newer than the oldest reader's snapshot
 * are copied into the database file.  Writer only. */
enum rc db_log_cut(struct db *db, struct err *err) MUST_USE;

/* Copies everything that is committed now into ${path}, a new or an empty file;
 * the caller syncs the copy.  The writer continues to commit meanwhile.
 * RC_EXISTS: the file is not empty, and is left as it is; after every other
 * error on SQLite the file at ${path} is removed.  RC_BUSY: the copy was given
 * up because the write-ahead log of the database, which cannot be emptied
 * during the copy, is larger than ${log_limit} bytes.  RC_FULL: the disk of the
 * copy is full.  DB_COPIER only, and SQLite only; RC_INVALID: PostgreSQL, and
 * ${path} is not touched.  ${err} must not be NULL. */
enum rc db_backup(struct db *db, const char *path, int64_t log_limit,
    struct err *err) MUST_USE;

/* Returns the bytes in the write-ahead log; 0 on PostgreSQL. */
int64_t db_log_bytes(struct db *db);

/* *ret_has: the schema number of the database (0: no schema yet); *ret_newest:
 * the newest schema number that this program knows.  Both are valid if RC_OK.
 * RC_INVALID: the schema of the database is newer than this program, or on
 * PostgreSQL the database holds only tables of another program; the error text
 * says which. */
enum rc db_schema_number(
    struct db *db, int *ret_has, int *ret_newest, struct err *err) MUST_USE;

/* Runs the missing migrations, each in its own transaction, which also stores
 * the migration's number and on PostgreSQL the time ${now_ms}.  *ret_from,
 * *ret_to: the schema before and after, if RC_OK.  After an error the
 * migrations that were already committed stay.  RC_INVALID: as
 * db_schema_number().  RC_BUSY: on PostgreSQL another node held the migration
 * lock for 10 minutes. */
enum rc db_migrate(struct db *db, int64_t now_ms, int *ret_from, int *ret_to,
    struct err *err) MUST_USE;

/* Makes an empty database in memory and runs the migrations that this program
 * has, up to and with ${number}, in it.  The caller closes *ret.  *ret is NULL
 * after an error, and also with RC_OK if the backend cannot make such a
 * database (PostgreSQL). */
enum rc db_fresh(
    struct db *db, int number, struct db **ret, struct err *err) MUST_USE;

/* The parameters and the result columns of a prepared statement. */
struct db_description {
	int nparams, ncolumns;
	char columns[1024]; /* their names, with ", " between them */
};

/* Prepares statement ${stmt} and stores in *ret the number of its parameters
 * and the number and names of its result columns, for tests.  ${plan} (may be
 * NULL) receives its query plan as a text, truncated to ${plan_size} bytes with
 * the NUL. */
enum rc db_describe(struct db *db, int stmt, struct db_description *ret,
    char *plan, size_t plan_size, struct err *err) MUST_USE;

/* For connections that read or write the whole database (fsck, copy).  On
 * PostgreSQL, from now until db_close(), the server has no time-out for
 * statements, this program waits up to an hour for each answer, and in a
 * transaction db_run() with a callback fetches 500 rows at a time instead of
 * collecting all of them first.  Must be called before db_begin(), and after
 * db_migrate() if that is called, too.  Does nothing on SQLite. */
enum rc db_allow_long_statements(struct db *db, struct err *err) MUST_USE;

/* Returns whether other processes may write to the database, too (PostgreSQL).
 * If so, rows that the writer of this process has read in one transaction may
 * be different in its next one. */
bool db_multi_writer(const struct db *db);

/* Returns whether the last call that ran or queued statements failed because of
 * a conflict between transactions: a deadlock or a serialization failure, a
 * lock that the statement does not wait for (NOWAIT), or a unique key that
 * exists (another transaction may have just inserted the row).  The same
 * transaction may then succeed if it is run again at once.  db_rollback() does
 * not change the answer; the next statement, db_begin(), db_commit() and
 * db_pipeline_flush() first reset it to false.
 * False on SQLite. */
bool db_retryable(const struct db *db);

/* From the next db_begin() on, a statement waits at most ${ms} (above 0)
 * milliseconds for another transaction's lock, then fails with RC_BUSY.  Before
 * the first call the limit is db_lock of base/timing.h.  PostgreSQL only; on
 * SQLite the call has no effect. */
void db_set_lock_timeout(struct db *db, int64_t ms);

/* Returns whether the last error that PostgreSQL has reported was that a
 * statement waited for a lock longer than the limit of db_set_lock_timeout().
 * Call it directly after RC_BUSY: a statement that succeeds does not reset the
 * answer to false.  False on SQLite. */
bool db_lock_timed_out(const struct db *db);

/* Returns whether this process can never trust the database again after ${rc}:
 * RC_CORRUPT, and on SQLite RC_IO and RC_UNCERTAIN.  A lost connection can be
 * replaced; a disk that has failed cannot. */
bool db_is_fatal(const struct db *db, enum rc rc);

/* A db_row_fn for statements that return one number: stores the first column (0
 * for NULL) in the int64_t at ${arg}, which stays as it is if there is no row.
 */
enum rc db_take_i64(
    void *arg, const struct db_row *row, struct err *err) MUST_USE;

/* Replaces db_options.lineage, from the next transaction on.  The pointer is
 * kept. */
void db_follow_lineage(struct db *db, const atomic_int_fast64_t *lineage);

/* Queries the lineage (history of the database) of the server, and stores it in
 * *ret, which is valid if RC_OK.  RC_AWAY: the server is a standby, or the
 * connection is lost (this call makes no new one).  RC_INTERNAL: SQLite. */
enum rc db_lineage_get(
    struct db *db, struct db_lineage *ret, struct err *err) MUST_USE;

/* *ret: whether a commit of any connection to the database of ${db} waits for a
 * standby now; false on SQLite and after an error.  Runs a query, on a new
 * connection if the old one is lost; must not be called in a transaction. */
enum rc db_waits_for_standby(
    struct db *db, bool *ret, struct err *err) MUST_USE;

/* Sets the number of the node for which this connection writes.  The table
 * outbox_totals has one row for each node, and the statement that adds to the
 * totals (totals_add) changes only the row of the connection's node; before
 * this call that is node 0.  The number also applies after ${db} has connected
 * again.  RC_INTERNAL: SQLite. */
enum rc db_set_node(struct db *db, int64_t node, struct err *err) MUST_USE;

/* ---- notifications between the nodes of a database (LISTEN, NOTIFY) ----
 *
 * A notification may be lost: a node that depends on its content must also
 * query the database at intervals.  A new connection to the server listens to
 * no channel: after a call on ${db} has failed, and may have lost the
 * connection, db_notification_listen() must be called again.  On SQLite
 * db_notification_fd() returns -1, and the other db_notification_ functions
 * return RC_INTERNAL. */

/* From now on this connection receives the notifications on ${channel} (a plain
 * word). */
enum rc db_notification_listen(
    struct db *db, const char *channel, struct err *err) MUST_USE;

/* Sends ${text} (less than 8,000 bytes) to all connections that listen on
 * ${channel}, this one included if it listens, in a transaction of its own that
 * does not wait for the sync: it sets synchronous_commit to off until its end.
 * Must not be called in a transaction, whose commit would then not wait for the
 * sync either.  RC_AWAY: the connection is lost, and is not made again here. */
enum rc db_notification_send(struct db *db, const char *channel,
    const char *text, struct err *err) MUST_USE;

/* Returns the descriptor that becomes readable when a notification arrives or
 * the server ends the connection; -1: there is no connection, or SQLite.  The
 * connection owns the descriptor; a new connection has another one. */
int db_notification_fd(const struct db *db);

/* Called for each notification; ${text} is borrowed. */
typedef void (*db_notification_fn)(void *arg, const char *text);

/* Calls ${each} for the notifications that have arrived, without waiting.
 * RC_AWAY: the connection is lost, and is not made again here. */
enum rc db_notification_poll(struct db *db, db_notification_fn each, void *arg,
    struct err *err) MUST_USE;

/* Returns the number of statements run, for tests that count them. */
uint64_t db_statements(const struct db *db);

/* Columns of a row, counted from 0.  *ret_n (${ret_n} may be NULL) is the
 * length in bytes.  For an SQL NULL, db_row_null() returns true, db_row_i64()
 * returns 0, and db_row_text() and db_row_blob() return NULL and set *ret_n to
 * 0.  db_row_blob() may return NULL for an empty blob, too.  The pointers are
 * borrowed until the callback returns; a text ends with a NUL, which *ret_n
 * does not count. */
bool db_row_null(const struct db_row *row, int col);
int64_t db_row_i64(const struct db_row *row, int col);
const char *db_row_text(const struct db_row *row, int col, size_t *ret_n);
const void *db_row_blob(const struct db_row *row, int col, size_t *ret_n);

/* A uuid column; all zero when NULL or of another size. */
struct uuid db_row_uuid(const struct db_row *row, int col);

/* Copies a text column into ${ret} of ${size} bytes (at least 1),
 * NUL-terminated and truncated to fit, even if that cuts a UTF-8 character.
 * NULL gives "". */
void db_row_copy_text(
    const struct db_row *row, int col, char *ret, size_t size);

#endif
