/* SPDX-License-Identifier: MIT */
/*
 * The PostgreSQL driver's connection.  Only db_postgres*.c include this.
 */
#ifndef DB_DB_POSTGRES_INTERNAL_H
#define DB_DB_POSTGRES_INTERNAL_H

#include <libpq-fe.h>
#include <stddef.h>

#include "base/buf.h"
#include "db/db_internal.h"

#define DB_POSTGRES_PARAMS_MAX 32
#define DB_POSTGRES_COLUMNS_MAX 32

/* A migration, and waiting for another node's. */
#define DB_POSTGRES_MIGRATE_MS 600000

/* A prepared statement, as the server describes it. */
struct db_postgres_stmt {
	bool parsed;   /* the server has it … */
	bool prepared; /* … and its description is known */
	bool set;      /* its parameters are arrays: many rows at once */
	bool inserts;  /* known from its first result */
	uint8_t nparams;
	uint8_t ncolumns;
	Oid types[DB_POSTGRES_PARAMS_MAX];
};

/* A statement in the pipeline: its result was not taken yet. */
struct db_postgres_pending {
	const char *what; /* the statement's name, or its text */
	int id;           /* -1: a text */
	bool exact;       /* it must change ${rows} rows */
	int64_t rows;
	db_row_fn each; /* NULL: its rows are not wanted */
	void *arg;
};

/* How many statements the pipeline holds. */
#define DB_POSTGRES_PIPELINE_MAX 24

struct db_postgres {
	struct db db; /* first */
	PGconn *conn; /* NULL: there is none now */
	char *url;
	/* db_answer is longer than db_statement and db_lock, so that the server
	 * ends a statement before the connection is given up. */
	const struct timing *timing;
	int64_t lineage;      /* of the server; 0: not known yet */
	bool open;            /* a transaction was begun */
	bool long_statements; /* db_allow_long_statements() */
	bool committing;      /* COMMIT was sent */
	bool listens;         /* this connection, to a channel */
	bool warned;          /* by the server, since this was cleared */
	bool retryable;       /* the last failure: db_retryable() */
	bool silent;          /* the last wait timed out; connection well */
	bool standbys;        /* commits wait for some (db_lineage.waits) */
	bool opened;          /* a first connection was made */
	bool session_pooler;  /* connections go through one, in session mode */
	void (*waits)(void *arg, const char *what); /* db_options */
	void *waits_arg;
	int64_t node;            /* db_set_node() */
	int64_t lock_timeout_ms; /* how long this connection waits for a lock */
	int64_t patience_ms;     /* how long an answer may take */
	int64_t tried_ms;        /* monotonic: the last attempt to connect */
	int64_t retry_ms;        /* monotonic: no attempt before */
	int64_t backoff_ms;      /* the next wait */
	unsigned cursors;        /* opened so far */
	struct db_postgres_pending pipeline[DB_POSTGRES_PIPELINE_MAX];
	int npipeline;
	bool flushing; /* results are taken: nothing may be sent */
	struct db_postgres_stmt *stmts; /* schema->nstatements */
	struct buf arrays;              /* the parameters of a set, encoded */
};

/* The handle of a row points to this. */
struct db_postgres_row {
	const PGresult *result;
	int row;
};

/* One set of parameters, as libpq takes it.  Integers are kept in ${room}. */
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

/* Whether values of type ${type} can be sent and read; *ret_array: it is an
 * array of such. */
bool db_postgres_type_known(Oid type, bool *ret_array);

/* Makes the parameters of a plain statement. */
enum rc db_postgres_encode(const struct db_postgres_stmt *st,
    const struct db_val *v, struct db_postgres_params *ret,
    struct err *err) MUST_USE;

/* Makes the parameters of a set: of ${nrows} rows an array for each column, in
 * ${room}, which must stay as it is until they are sent. */
enum rc db_postgres_encode_set(const struct db_postgres_stmt *st,
    const struct db_val *v, size_t nrows, struct buf *room,
    struct db_postgres_params *ret, struct err *err) MUST_USE;

/* Column ${col} of a row, of whatever integer type. */
int64_t db_postgres_i64(const PGresult *result, int row, int col);

/* ---- db_postgres_query.c: statements and their results ---- */

/* Sends ${sql}, one statement without parameters, and waits for its result.
 * ${ret} may be NULL; else the caller clears it. */
enum rc db_postgres_exec(struct db_postgres *p, const char *sql, PGresult **ret,
    struct err *err) MUST_USE;

/* As db_postgres_exec(); *ret: the number in the first column of the only row.
 */
enum rc db_postgres_query_i64(struct db_postgres *p, const char *sql,
    int64_t *ret, struct err *err) MUST_USE;

/* As db_postgres_exec(), with ${n} parameters, texts. */
enum rc db_postgres_exec_texts(struct db_postgres *p, const char *sql,
    const char *const texts[], int n, struct err *err) MUST_USE;

/* Waits for the result of a statement that libpq took (${sent}) or not; the
 * caller clears *ret (NULL after an error). */
enum rc db_postgres_await_result(struct db_postgres *p, bool sent,
    const char *what, PGresult **ret, struct err *err) MUST_USE;

/* In pipeline mode: waits for the result of the next statement, as
 * db_postgres_await_result(). */
enum rc db_postgres_pipeline_result(struct db_postgres *p, int64_t until_ms,
    const char *what, PGresult **ret, struct err *err) MUST_USE;

/* Takes the end of the pipeline, which ends that mode; false: something else
 * came, or nothing. */
bool db_postgres_pipeline_end(struct db_postgres *p, int64_t until_ms) MUST_USE;

/* Gives up the connection: the next transaction makes another. */
void db_postgres_drop(struct db_postgres *p);

/* ---- db_postgres.c: prepared statements ---- */

/* Prepares statement ${id} if it is not yet on this connection. */
enum rc db_postgres_prepare(struct db_postgres *p, int id,
    struct db_postgres_stmt **ret, struct err *err) MUST_USE;

/* Calls ${each} for the rows of ${result}. */
enum rc db_postgres_each_row(struct db_postgres *p, const PGresult *result,
    db_row_fn each, void *arg, struct err *err) MUST_USE;

/* ---- db_postgres_pipeline.c: statements that are sent with the next ---- */

/* Adds ${sql}, or a prepared statement with ${params} (borrowed for the call),
 * to the pipeline. */
enum rc db_postgres_pipeline_add_text(
    struct db_postgres *p, const char *sql, struct err *err) MUST_USE;
enum rc db_postgres_pipeline_add(struct db_postgres *p,
    const struct db_postgres_params *params,
    const struct db_postgres_pending *pending, struct err *err) MUST_USE;

/* Sends all that is in the pipeline and waits for the results.  Returns the
 * first failure.  *ret: the result of the last statement (there must be one),
 * which the caller clears. */
enum rc db_postgres_pipeline_flush(
    struct db_postgres *p, struct err *err) MUST_USE;
enum rc db_postgres_pipeline_flush_last(
    struct db_postgres *p, PGresult **ret, struct err *err) MUST_USE;

/* Whether the only error that the pipeline may still bring is that a statement
 * fails at the server: an INSERT adds as many rows as it was given, or fails.
 * Then no check is left that COMMIT would have to wait for. */
bool db_postgres_pipeline_only_inserts(const struct db_postgres *p);

/* ---- db_postgres_transaction.c ---- */

/* As db_begin() and so on. */
enum rc db_postgres_begin(struct db *db, struct err *err) MUST_USE;
enum rc db_postgres_commit(struct db *db, struct err *err) MUST_USE;
enum rc db_postgres_commit_early(
    struct db *db, bool *ret_owed, struct err *err) MUST_USE;
enum rc db_postgres_sync(struct db *db, struct err *err) MUST_USE;
void db_postgres_rollback(struct db *db);
bool db_postgres_in_transaction(const struct db *db);
bool db_postgres_retryable(const struct db *db);

/* ---- db_postgres_notification.c: between nodes ---- */

/* As db_set_node() and so on. */
enum rc db_postgres_set_node(
    struct db *db, int64_t node, struct err *err) MUST_USE;
enum rc db_postgres_notification_listen(
    struct db *db, const char *channel, struct err *err) MUST_USE;
enum rc db_postgres_notification_send(struct db *db, const char *channel,
    const char *text, struct err *err) MUST_USE;
int db_postgres_notification_fd(const struct db *db);
enum rc db_postgres_notification_poll(struct db *db, db_notification_fn each,
    void *arg, struct err *err) MUST_USE;

/* ---- db_postgres_lineage.c: which server's history it is ---- */

/* As db_lineage_get(). */
enum rc db_postgres_lineage_get(
    struct db *db, struct db_lineage *ret, struct err *err) MUST_USE;

/* As db_waits_for_standby(). */
enum rc db_postgres_waits_for_standby(
    struct db *db, bool *ret, struct err *err) MUST_USE;

/* Whether the connection may be used where its owner follows a lineage. */
bool db_postgres_lineage_kept(const struct db_postgres *p);

/* The same of a fresh connection, by a query; RC_AWAY: not yet. */
enum rc db_postgres_lineage_check(
    struct db_postgres *p, struct err *err) MUST_USE;

/* ---- db_postgres_cursor.c: long statements ---- */

/* The callback that gets the rows. */
struct db_each {
	db_row_fn fn;
	void *arg;
};

/* As db_allow_long_statements(). */
enum rc db_postgres_allow_long_statements(
    struct db *db, struct err *err) MUST_USE;

/* Runs statement ${id}, which is prepared, by a cursor.  In a transaction. */
enum rc db_postgres_run_cursor(struct db_postgres *p, int id,
    const struct db_postgres_params *params, const struct db_each *each,
    struct err *err) MUST_USE;

/* ---- db_postgres_pooler.c: poolers between us and the server ---- */

/* RC_INVALID: a connection pooler gives the server's sessions to other clients
 * between our transactions.  For a fresh connection, before anything is set in
 * its session. */
enum rc db_postgres_pooler_check(
    struct db_postgres *p, struct err *err) MUST_USE;

/* ---- db_postgres_open.c: connections ---- */

/* Allocates a db_postgres without a connection.  NULL: no memory.  db_close()
 * frees it. */
struct db_postgres *db_postgres_new(const struct db_options *options);

/* Connects; the settings of the session are those of the server. */
enum rc db_postgres_connect_bare(
    struct db_postgres *p, struct err *err) MUST_USE;

/* Connects, if there is no connection or the server has closed it.  After a
 * failure RC_AWAY until a back-off is over or another connection of this
 * process has been made. */
enum rc db_postgres_connect(struct db_postgres *p, struct err *err) MUST_USE;

/* ---- db_postgres_schema.c: migrations ---- */

/* As db_schema_number(), db_migrate(), db_describe(). */
enum rc db_postgres_schema_number(
    struct db *db, int *ret_has, int *ret_newest, struct err *err) MUST_USE;
enum rc db_postgres_migrate(struct db *db, int64_t now_ms, int *ret_from,
    int *ret_to, struct err *err) MUST_USE;
enum rc db_postgres_describe(struct db *db, int id, struct db_description *ret,
    char *plan, size_t plan_size, struct err *err) MUST_USE;

#endif
