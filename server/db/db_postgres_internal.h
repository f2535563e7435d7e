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

/* The longest time, in milliseconds, that each statement of a migration may
 * take, and that a node waits for the migration of another node. */
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
	/* The deadlines.  The member db_answer_ms is longer than
	 * db_statement_ms and db_lock_ms, so that the server ends a statement
	 * before the node gives up the connection. */
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

/* One set of parameters in the form that libpq takes.  ${room} holds the
 * encoded integers. */
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

/* Returns whether values of type ${type} can be sent and read.  *ret_array:
 * ${type} is an array of such values. */
bool db_postgres_type_known(Oid type, bool *ret_array);

/* Encodes the parameters of a statement for one row.  *ret points into ${v} and
 * into itself: both must stay where they are until they are sent.  RC_INTERNAL:
 * a value does not fit the type of its parameter. */
enum rc db_postgres_encode(const struct db_postgres_stmt *st,
    const struct db_val *v, struct db_postgres_params *ret,
    struct err *err) MUST_USE;

/* Encodes the parameters of a statement for many rows: one array of ${nrows}
 * elements for each column, in ${room}, whose content is replaced.  *ret points
 * into ${room}, which must not change until they are sent. */
enum rc db_postgres_encode_set(const struct db_postgres_stmt *st,
    const struct db_val *v, size_t nrows, struct buf *room,
    struct db_postgres_params *ret, struct err *err) MUST_USE;

/* Column ${col} of a row, of any integer type; a NULL is 0. */
int64_t db_postgres_i64(const PGresult *result, int row, int col);

/* ---- db_postgres_query.c: statements and their results ---- */

/* Flushes the pipeline, sends ${sql}, which has no parameters, and waits for
 * its result (of several statements the last one), whose values are texts.  The
 * caller clears *ret, which is set on success only; ${ret} may be NULL.
 * RC_AWAY: there is no connection (this call makes none), or it is lost. */
enum rc db_postgres_exec(struct db_postgres *p, const char *sql, PGresult **ret,
    struct err *err) MUST_USE;

/* As db_postgres_exec(); *ret is the number in the first column of the only
 * row, which must exist. */
enum rc db_postgres_query_i64(struct db_postgres *p, const char *sql,
    int64_t *ret, struct err *err) MUST_USE;

/* As db_postgres_exec(), with ${n} parameters, all of type text. */
enum rc db_postgres_exec_texts(struct db_postgres *p, const char *sql,
    const char *const texts[], int n, struct err *err) MUST_USE;

/* Waits for the result of a statement, for ${p}->patience_ms at most.  ${sent}:
 * whether libpq has accepted the statement; if not, the error is made from
 * libpq's message.  ${what} names the statement in errors.  The connection is
 * closed if the statement was not accepted, if the connection fails, if no
 * result arrives in time, and if the server shuts down or is a standby.  The
 * caller clears *ret (NULL after an error). */
enum rc db_postgres_await_result(struct db_postgres *p, bool sent,
    const char *what, PGresult **ret, struct err *err) MUST_USE;

/* Waits for the result of the next statement of the pipeline, until ${until_ms}
 * (monotonic).  RC_CONFLICT without an error text: the server has skipped the
 * statement because an earlier one failed.  Otherwise as
 * db_postgres_await_result(). */
enum rc db_postgres_pipeline_result(struct db_postgres *p, int64_t until_ms,
    const char *what, PGresult **ret, struct err *err) MUST_USE;

/* Takes the result that marks the end of the pipeline, and leaves pipeline
 * mode.  Returns false if the connection fails, if another result arrived, or
 * none until ${until_ms} (monotonic). */
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

/* Adds ${sql} (kept until its result is taken), or a prepared statement with
 * ${params} (borrowed for the call), to the pipeline.  A full pipeline is
 * flushed first.  RC_AWAY: there is no connection, or it is lost. */
enum rc db_postgres_pipeline_add_text(
    struct db_postgres *p, const char *sql, struct err *err) MUST_USE;
enum rc db_postgres_pipeline_add(struct db_postgres *p,
    const struct db_postgres_params *params,
    const struct db_postgres_pending *pending, struct err *err) MUST_USE;

/* Sends the statements in the pipeline and waits for their results.  Returns
 * the first failure, with the result codes that db.h describes ("the
 * pipeline"); RC_OK without a connection.  db_postgres_pipeline_flush_before()
 * is for a caller that runs a statement of its own next.
 * db_postgres_pipeline_flush_last() also returns the result of the last
 * statement in *ret (NULL after an error), which the caller clears; the
 * pipeline must not be empty. */
enum rc db_postgres_pipeline_flush(
    struct db_postgres *p, struct err *err) MUST_USE;
enum rc db_postgres_pipeline_flush_before(
    struct db_postgres *p, struct err *err) MUST_USE;
enum rc db_postgres_pipeline_flush_last(
    struct db_postgres *p, PGresult **ret, struct err *err) MUST_USE;

/* Returns whether the server alone detects every error of the statements in the
 * pipeline: no query has a callback, and each db_pipeline_write() is an INSERT,
 * which adds as many rows as it was given, or fails (so an INSERT with DO
 * NOTHING must not be written this way).  Then COMMIT can be sent with the
 * pipeline, because no check of a result has to precede it.  A statement counts
 * as an INSERT only after its first result on this connection or an earlier
 * one. */
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

/* Returns whether the server is on the lineage that the connection's owner
 * follows (db_options.lineage), or the owner follows none.  Uses what is known
 * of the server, without a query. */
bool db_postgres_lineage_kept(const struct db_postgres *p);

/* Queries the lineage of a new connection, unless db_options.lineage is NULL.
 * RC_AWAY: it is not the one that the owner follows, or the server is a
 * standby. */
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

/* Runs the text of statement ${id}, which must be prepared, through a cursor,
 * after flushing the pipeline.  A transaction must be open. */
enum rc db_postgres_run_cursor(struct db_postgres *p, int id,
    const struct db_postgres_params *params, const struct db_each *each,
    struct err *err) MUST_USE;

/* ---- db_postgres_pooler.c: poolers in front of the server ---- */

/* Checks a new connection for a pooler, before anything is set in its session.
 * RC_INVALID: a pooler gives the server's sessions to other clients between our
 * transactions. */
enum rc db_postgres_pooler_check(
    struct db_postgres *p, struct err *err) MUST_USE;

/* ---- db_postgres_open.c: connections ---- */

/* Allocates a db_postgres that is not connected; db_close() frees it.  NULL:
 * out of memory. */
struct db_postgres *db_postgres_new(const struct db_options *options);

/* Connects and leaves the session's settings at the server's defaults. */
enum rc db_postgres_connect_bare(
    struct db_postgres *p, struct err *err) MUST_USE;

/* Connects, if there is no connection, if the server has closed it or announced
 * its shutdown, or if it is on another lineage than the owner follows.  After a
 * failure, further calls return RC_AWAY at once until a pause (db_retry_first
 * of base/timing.h, doubling up to db_retry_most) is over or another connection
 * of this process succeeds.  After the first success RC_INVALID becomes
 * RC_AWAY. */
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
