/* SPDX-License-Identifier: MIT */
/*
 * The PostgreSQL driver's connection and what its files share.  Only
 * db_postgres*.c include this.
 */
#ifndef DB_DB_POSTGRES_INTERNAL_H
#define DB_DB_POSTGRES_INTERNAL_H

#include <libpq-fe.h>
#include <stddef.h>

#include "base/buf.h"
#include "db/db_internal.h"

#define DB_POSTGRES_PARAMS_MAX 32
#define DB_POSTGRES_COLUMNS_MAX 32

/* The longest wait, in milliseconds, of a node for the answer to one statement
 * of a migration, except its COMMIT (db_answer_ms); also the longest wait for
 * the migration lock before each migration, while another node holds the
 * lock. */
#define DB_POSTGRES_MIGRATE_MS 600000

/* A prepared statement, as the server describes it. */
struct db_postgres_stmt {
	bool parsed;   /* the server has parsed it */
	bool prepared; /* its description is known, too */
	bool set;      /* its parameters are arrays: one run for many rows */
	bool inserts;  /* it is an INSERT; known from its first result */
	uint8_t nparams;
	uint8_t ncolumns;
	Oid types[DB_POSTGRES_PARAMS_MAX];
};

/* A statement in the pipeline whose result has not been taken yet. */
struct db_postgres_pending {
	const char *what; /* the statement's name, or its text */
	int id;           /* of the prepared statement; -1: a text */
	bool exact;       /* it must change ${rows} rows */
	int64_t rows;
	db_row_fn each; /* NULL: its rows are ignored */
	void *arg;
};

/* How many statements the pipeline can hold.  One more flushes it first. */
#define DB_POSTGRES_PIPELINE_MAX 24

struct db_postgres {
	struct db db; /* must be the first member */
	PGconn *conn; /* NULL: not connected */
	char *url;
	/* The time-outs and pauses of base/timing.h; borrowed, never NULL.  The
	 * wait of the node for an answer (db_answer_ms) is longer than the time
	 * for which the server lets a statement run (db_statement_ms) or wait
	 * for a lock (db_lock_ms), so that the server ends a statement before
	 * the node gives up the connection. */
	const struct timing *timing;
	int64_t lineage;      /* of the server; 0: not known yet */
	bool open;            /* a transaction has begun */
	bool long_statements; /* db_allow_long_statements() */
	bool committing;      /* COMMIT was sent */
	bool listens;         /* this connection listens to a channel */
	bool warned;    /* the server has sent a warning since this was reset */
	bool retryable; /* of the last failure: db_retryable() */
	bool silent;    /* the last wait timed out on a sound connection */
	bool standbys;  /* commits wait for a standby (db_lineage.waits) */
	bool opened;    /* a connection has been made at least once */
	bool session_pooler; /* a pooler in session mode is in between */
	void (*waits)(void *arg, const char *what); /* db_options */
	void *waits_arg;
	int64_t node;            /* db_set_node() */
	int64_t lock_timeout_ms; /* how long this connection waits for a lock */
	int64_t patience_ms;     /* how long the server may take to answer */
	int64_t tried_ms;        /* monotonic: last attempt to connect */
	int64_t retry_ms;        /* monotonic: no attempt before this time */
	int64_t backoff_ms; /* the length of the last pause between attempts */
	unsigned cursors;   /* the number in the last one's name */
	struct db_postgres_pending pipeline[DB_POSTGRES_PIPELINE_MAX];
	int npipeline;
	bool flushing; /* results are being taken: nothing may be sent */
	struct db_postgres_stmt *stmts; /* schema->nstatements */
	struct buf arrays;              /* the parameters of a set, encoded */
};

/* The handle of a row points to this. */
struct db_postgres_row {
	const PGresult *result;
	int row;
};

/* The parameters of one run of a statement, in the form that
 * PQsendQueryPrepared() takes.  Each element of ${values} is NULL (the
 * parameter is NULL) or points to an integer encoded in ${room}, to a text or
 * blob of the caller (not copied), or to an array in the buffer of
 * db_postgres_encode_set(). */
struct db_postgres_params {
	int n;
	const char *values[DB_POSTGRES_PARAMS_MAX];
	int lengths[DB_POSTGRES_PARAMS_MAX];
	int formats[DB_POSTGRES_PARAMS_MAX];
	uint8_t room[DB_POSTGRES_PARAMS_MAX][8];
};

_Static_assert(offsetof(struct db_postgres, db) == 0, "db is the first member");

static inline struct db_postgres *
db_postgres_of(struct db *db)
{

	return ((struct db_postgres *)(void *)db);
}

static inline const struct db_postgres *
db_postgres_of_const(const struct db *db)
{

	return ((const struct db_postgres *)(const void *)db);
}

extern const struct db_driver db_postgres_driver;

/* ---- db_postgres_wire.c: values in the server's binary forms ---- */

/* Returns true if this driver can send and read values of PostgreSQL's type
 * ${type}, and also if ${type} is an array of such values; an array can only be
 * sent.  *ret_array: whether ${type} is such an array; set in every case. */
bool db_postgres_type_known(Oid type, bool *ret_array);

/* Encodes the parameters of a statement for one row: ${v} holds ${st}->nparams
 * values, as the caller has checked.  *ret points to the texts and blobs of
 * ${v}, without a copy, and into itself: *ret and these texts and blobs must
 * stay where they are until libpq has accepted the statement.  RC_INTERNAL: a
 * value does not fit the type of its parameter; *ret is then not valid. */
enum rc db_postgres_encode(const struct db_postgres_stmt *st,
    const struct db_val *v, struct db_postgres_params *ret,
    struct err *err) MUST_USE;

/* Encodes the parameters of a statement for ${nrows} rows, which follow one
 * another in ${v}: one array of ${nrows} elements for each of the
 * ${st}->nparams parameters.  The arrays replace the content of ${room}; *ret
 * points into ${room}, which must not change until libpq has accepted the
 * statement.  RC_INTERNAL: a value does not fit the type of its parameter.
 * After this error and RC_NO_MEMORY, *ret is not valid. */
enum rc db_postgres_encode_set(const struct db_postgres_stmt *st,
    const struct db_val *v, size_t nrows, struct buf *room,
    struct db_postgres_params *ret, struct err *err) MUST_USE;

/* Column ${col} of a row, of any integer type; a NULL is 0. */
int64_t db_postgres_i64(const PGresult *result, int row, int col);

/* ---- db_postgres_query.c: statements and their results ---- */

/* Flushes the pipeline; if that fails, returns the error and does not send
 * ${sql}.  Then sends ${sql}, which has no parameters, and waits for its result
 * (of several statements the last one), whose values are texts.  *ret is set on
 * success only, and the caller clears it; ${ret} may be NULL.  RC_AWAY: no
 * connection exists (this call makes none), it is lost, or no result arrived
 * within ${p}->patience_ms. */
enum rc db_postgres_exec(struct db_postgres *p, const char *sql, PGresult **ret,
    struct err *err) MUST_USE;

/* Runs the query ${sql} as db_postgres_exec().  *ret, set on success only, is
 * the number in the first column of the first row.  The query must return a
 * row: this function does not check that. */
enum rc db_postgres_query_i64(struct db_postgres *p, const char *sql,
    int64_t *ret, struct err *err) MUST_USE;

/* As db_postgres_exec(), with ${n} parameters, all of type text. */
enum rc db_postgres_exec_texts(struct db_postgres *p, const char *sql,
    const char *const texts[], int n, struct err *err) MUST_USE;

/* Waits, for ${p}->patience_ms at most, for the result of the statement that
 * the caller has just passed to libpq.  ${sent}: whether libpq has accepted the
 * statement; if not, this call does not wait, and the error has libpq's text
 * (RC_NO_MEMORY on a sound connection, else RC_AWAY).  ${what} names the
 * statement in errors.  The connection is closed if the statement was not
 * accepted, if the connection fails, if no result arrives in time (RC_AWAY),
 * and if the server shuts down or is a standby.  The caller clears *ret, which
 * is NULL after an error. */
enum rc db_postgres_await_result(struct db_postgres *p, bool sent,
    const char *what, PGresult **ret, struct err *err) MUST_USE;

/* Waits, until ${until_ms} (monotonic) at most, for the result of the first
 * statement in the pipeline whose result was not taken yet.  RC_CONFLICT
 * without an error text: the server has skipped the statement because an
 * earlier one failed.  RC_AWAY if the connection fails or no result arrives in
 * time; the connection is then closed.  Other errors: as
 * db_postgres_await_result().  The caller clears *ret, which is NULL after an
 * error. */
enum rc db_postgres_pipeline_result(struct db_postgres *p, int64_t until_ms,
    const char *what, PGresult **ret, struct err *err) MUST_USE;

/* Takes the result that marks the end of the pipeline, and leaves pipeline
 * mode.  Returns false if the connection fails, another result arrives, nothing
 * arrives until ${until_ms} (monotonic), or libpq does not leave pipeline mode.
 * The caller then closes the connection. */
bool db_postgres_pipeline_end(struct db_postgres *p, int64_t until_ms) MUST_USE;

/* Closes the connection; the next transaction connects again. */
void db_postgres_drop(struct db_postgres *p);

/* ---- db_postgres.c: prepared statements ---- */

/* Prepares statement ${id} unless this connection has already prepared it. */
enum rc db_postgres_prepare(struct db_postgres *p, int id,
    struct db_postgres_stmt **ret, struct err *err) MUST_USE;

/* Calls ${each} for the rows of ${result}. */
enum rc db_postgres_each_row(struct db_postgres *p, const PGresult *result,
    db_row_fn each, void *arg, struct err *err) MUST_USE;

/* ---- db_postgres_pipeline.c: statements in one round trip ---- */

/* Add a statement to the end of the pipeline: db_postgres_pipeline_add_text()
 * the text ${sql}, and db_postgres_pipeline_add() the prepared statement
 * ${pending}->what with ${params} (borrowed for the call).  ${sql} and the
 * pointers in ${pending}, which is copied, must stay valid until the result is
 * taken.  A full pipeline is flushed first; if that fails, the statement is not
 * added, and the error of the flush is returned.  RC_AWAY: there is no
 * connection, or it was closed because libpq has not accepted the statement.
 * RC_INTERNAL: libpq cannot enter pipeline mode. */
enum rc db_postgres_pipeline_add_text(
    struct db_postgres *p, const char *sql, struct err *err) MUST_USE;
enum rc db_postgres_pipeline_add(struct db_postgres *p,
    const struct db_postgres_params *params,
    const struct db_postgres_pending *pending, struct err *err) MUST_USE;

/* Send the statements in the pipeline and wait for all their results.  Return
 * the first failure.  In place of RC_EXISTS and RC_CONFLICT,
 * db_postgres_pipeline_flush() returns RC_CONFLICT, and
 * db_postgres_pipeline_flush_before(), which is for a caller that runs a
 * statement of its own next, returns RC_INTERNAL.  Both return RC_OK if the
 * pipeline is empty; the loss of the connection empties it.  For
 * db_postgres_pipeline_flush_last() the pipeline must not be empty: it also
 * returns the result of the last statement in *ret (NULL after an error), which
 * the caller clears; it returns RC_INTERNAL in place of RC_EXISTS and
 * RC_CONFLICT of an earlier statement, but those of the last statement
 * unchanged. */
enum rc db_postgres_pipeline_flush(
    struct db_postgres *p, struct err *err) MUST_USE;
enum rc db_postgres_pipeline_flush_before(
    struct db_postgres *p, struct err *err) MUST_USE;
enum rc db_postgres_pipeline_flush_last(
    struct db_postgres *p, PGresult **ret, struct err *err) MUST_USE;

/* Returns whether the server alone detects every error of the statements in the
 * pipeline, so that COMMIT can be sent with them: no query has a callback, and
 * each db_pipeline_write() is an INSERT.  An INSERT is assumed, without a
 * check, to add as many rows as it was given, or to fail (so an INSERT with DO
 * NOTHING must not be written this way).  A statement counts as an INSERT only
 * after the pipeline has taken a result of it, on this connection or an earlier
 * one of ${p}. */
bool db_postgres_pipeline_only_inserts(const struct db_postgres *p);

/* ---- db_postgres_transaction.c ---- */

/* As db_begin() and the other functions of db.h. */
enum rc db_postgres_begin(struct db *db, struct err *err) MUST_USE;
enum rc db_postgres_commit(struct db *db, struct err *err) MUST_USE;
enum rc db_postgres_commit_early(
    struct db *db, bool *ret_owed, struct err *err) MUST_USE;
enum rc db_postgres_sync(struct db *db, struct err *err) MUST_USE;
void db_postgres_rollback(struct db *db);
bool db_postgres_in_transaction(const struct db *db);
bool db_postgres_retryable(const struct db *db);

/* ---- db_postgres_notification.c: between nodes ---- */

/* As db_set_node() and the other functions of db.h. */
enum rc db_postgres_set_node(
    struct db *db, int64_t node, struct err *err) MUST_USE;
enum rc db_postgres_notification_listen(
    struct db *db, const char *channel, struct err *err) MUST_USE;
enum rc db_postgres_notification_send(struct db *db, const char *channel,
    const char *text, struct err *err) MUST_USE;
int db_postgres_notification_fd(const struct db *db);
enum rc db_postgres_notification_poll(struct db *db, db_notification_fn each,
    void *arg, struct err *err) MUST_USE;

/* ---- db_postgres_lineage.c: the history that a server belongs to ---- */

/* As db_lineage_get(). */
enum rc db_postgres_lineage_get(
    struct db *db, struct db_lineage *ret, struct err *err) MUST_USE;

/* As db_waits_for_standby(). */
enum rc db_postgres_waits_for_standby(
    struct db *db, bool *ret, struct err *err) MUST_USE;

/* Returns whether the lineage of the server (the history of its database), as
 * the last query for it found it (${p}->lineage), is the one that the owner of
 * the connection follows (the variable at db_options.lineage).  Returns true,
 * too, if the pointer db_options.lineage is NULL or the variable is 0.  Runs no
 * query. */
bool db_postgres_lineage_kept(const struct db_postgres *p);

/* Queries the lineage of the server of a new connection (the history of its
 * database), and stores it in ${p}; returns RC_OK without a query if
 * db_options.lineage is NULL.  RC_AWAY: the lineage is not the one that the
 * owner of the connection follows (db_postgres_lineage_kept()), the server is a
 * standby, or the connection is lost.  The caller closes the connection after
 * an error. */
enum rc db_postgres_lineage_check(
    struct db_postgres *p, struct err *err) MUST_USE;

/* ---- db_postgres_cursor.c: long statements ---- */

/* The callback that receives the rows. */
struct db_each {
	db_row_fn fn;
	void *arg;
};

/* Makes the session's settings those of long statements, also on a new
 * connection. */
enum rc db_postgres_set_long(struct db_postgres *p, struct err *err) MUST_USE;

/* As db_allow_long_statements(). */
enum rc db_postgres_allow_long_statements(
    struct db *db, struct err *err) MUST_USE;

/* Flushes the pipeline, opens a cursor for the text of statement ${id} (without
 * the locking clause sql_text.writer), and calls ${each} for its rows.  The
 * caller has prepared the statement, because its parameter types are used here,
 * and a transaction is open. */
enum rc db_postgres_run_cursor(struct db_postgres *p, int id,
    const struct db_postgres_params *params, const struct db_each *each,
    struct err *err) MUST_USE;

/* ---- db_postgres_pooler.c: poolers in front of the server ---- */

/* Checks a new connection for a pooler, before anything is set in its session.
 * RC_INVALID: a pooler in transaction mode gives the server's sessions to other
 * clients between the transactions of this connection.  RC_OK: there is no
 * pooler, or one in session mode, which is stored in ${p}->session_pooler;
 * later connections of ${p} are then not checked for the mode again. */
enum rc db_postgres_pooler_check(
    struct db_postgres *p, struct err *err) MUST_USE;

/* ---- db_postgres_open.c: connections ---- */

/* Allocates a db_postgres that is not connected; db_close() frees it.  NULL:
 * out of memory. */
struct db_postgres *db_postgres_new(const struct db_options *options);

/* Connects and leaves the session's settings at the server's defaults. */
enum rc db_postgres_connect_bare(
    struct db_postgres *p, struct err *err) MUST_USE;

/* Connects and sets up the session.  Keeps an existing connection (RC_OK),
 * unless the server has closed it or announced its shutdown, or is on another
 * lineage (history of the database) than db_options.lineage requires: such a
 * connection is closed first, and a new one is made.  After a failed attempt,
 * further calls return RC_AWAY at once until a pause (db_retry_first of
 * base/timing.h, doubling up to db_retry_most) is over or another connection of
 * this process has succeeded since.  Once ${p} has been connected, later
 * attempts return RC_AWAY in place of RC_INVALID. */
enum rc db_postgres_connect(struct db_postgres *p, struct err *err) MUST_USE;

/* ---- db_postgres_schema.c: migrations ---- */

/* As db_schema_number(), db_migrate() and db_describe(). */
enum rc db_postgres_schema_number(
    struct db *db, int *ret_has, int *ret_newest, struct err *err) MUST_USE;
enum rc db_postgres_migrate(struct db *db, int64_t now_ms, int *ret_from,
    int *ret_to, struct err *err) MUST_USE;
enum rc db_postgres_describe(struct db *db, int id, struct db_description *ret,
    char *plan, size_t plan_size, struct err *err) MUST_USE;

#endif
