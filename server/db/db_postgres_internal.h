/* SPDX-License-Identifier: MIT */
/*
 * The PostgreSQL driver's connection.  Only db_postgres*.c include this.
 */
#ifndef DB_DB_POSTGRES_INTERNAL_H
#define DB_DB_POSTGRES_INTERNAL_H

#include <libpq-fe.h>

#include "base/buf.h"
#include "db/db_internal.h"

#define DB_POSTGRES_PARAMS_MAX 32
#define DB_POSTGRES_COLUMNS_MAX 32

/* A migration, and waiting for another node's. */
#define DB_POSTGRES_MIGRATE_MS 600000

/* A prepared statement, as the server describes it. */
struct db_postgres_stmt {
	bool parsed;   /* the server has it … */
	bool prepared; /* … and we know what it says of it */
	bool set;      /* its parameters are arrays: rows go out together */
	bool inserts;  /* as its first answer has shown */
	uint8_t nparams;
	uint8_t ncolumns;
	Oid types[DB_POSTGRES_PARAMS_MAX];
};

/* A question that is answered with the next one that somebody waits for. */
struct db_postgres_later {
	const char *what; /* the statement's name, or its text */
	int id;           /* -1: a text */
	bool exact;       /* so many ${rows} must change */
	int64_t rows;
	db_row_fn each; /* NULL: it gives none */
	void *arg;
};

/* So many questions may be open. */
#define DB_POSTGRES_LATER_MAX 24

struct db_postgres {
	struct db db; /* first */
	PGconn *conn; /* NULL: there is none now */
	char *url;
	/* db_answer is longer than db_statement and db_lock, so that it is the
	 * server that says no. */
	const struct timing *timing;
	int64_t lineage;     /* of the server, once it was asked; 0 */
	bool open;           /* a transaction was begun */
	bool slow;           /* it reads everything, and takes its time */
	bool committing;     /* COMMIT was sent */
	bool listens;        /* this connection, to a channel */
	bool warned;         /* by the server, since this was cleared */
	bool again;          /* the last failure was one between transactions */
	bool silent;         /* the last answer was given up, not lost */
	bool standbys;       /* commits wait for some, as the lineage says */
	bool opened;         /* a first connection was made */
	bool session_pooler; /* connections go through one, in session mode */
	void (*waits)(void *arg, const char *what); /* db_options */
	void *waits_arg;
	int64_t node;        /* what its rows are written as; 0: not said */
	int64_t lock_ms;     /* how long this connection waits for a lock */
	int64_t patience_ms; /* how long an answer may take */
	int64_t tried_ms;    /* monotonic: when to connect was tried last */
	int64_t retry_ms;    /* monotonic: not tried before */
	int64_t backoff_ms;  /* what the next wait is */
	unsigned cursors;    /* opened so far */
	struct db_postgres_later later[DB_POSTGRES_LATER_MAX];
	int nlater;
	bool taking; /* their answers: nothing may be asked */
	struct db_postgres_stmt *stmts; /* schema->nstatements */
	struct buf arrays;              /* the parameters of a set, encoded */
};

/* What a row's handle points to. */
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

/* ---- db_postgres_ask.c, db_postgres.c: asking and waiting ---- */

/* Sends ${sql}, one statement without parameters, and waits for its result.
 * ${ret} may be NULL; else the caller clears it. */
enum rc db_postgres_exec(struct db_postgres *p, const char *sql, PGresult **ret,
    struct err *err) MUST_USE;

/* Prepares statement ${id} if it is not yet on this connection. */
enum rc db_postgres_prepare(struct db_postgres *p, int id,
    struct db_postgres_stmt **ret, struct err *err) MUST_USE;

/* As db_postgres_exec(), with ${n} parameters, texts. */
enum rc db_postgres_exec_texts(struct db_postgres *p, const char *sql,
    const char *const texts[], int n, struct err *err) MUST_USE;

/* What came of a question that was ${sent}; the caller clears *ret (NULL after
 * an error). */
enum rc db_postgres_answer(struct db_postgres *p, bool sent, const char *what,
    PGresult **ret, struct err *err) MUST_USE;

/* In pipeline mode: the answer of the next question, as db_postgres_answer();
 * and whether the end of all of them came, which ends that mode. */
enum rc db_postgres_result(struct db_postgres *p, int64_t until_ms,
    const char *what, PGresult **ret, struct err *err) MUST_USE;
bool db_postgres_synced(struct db_postgres *p, int64_t until_ms) MUST_USE;

/* Calls ${each} for the rows of ${result}. */
enum rc db_postgres_each_row(struct db_postgres *p, const PGresult *result,
    db_row_fn each, void *arg, struct err *err) MUST_USE;

/* Gives up the connection: the next transaction makes another. */
void db_postgres_drop(struct db_postgres *p);

/* ---- db_postgres_later.c: questions that nobody waits for ---- */

/* Asks ${sql}, or a prepared statement with ${params}, which may be freed. */
enum rc db_postgres_later_text(
    struct db_postgres *p, const char *sql, struct err *err) MUST_USE;
enum rc db_postgres_later(struct db_postgres *p,
    const struct db_postgres_params *params,
    const struct db_postgres_later *later, struct err *err) MUST_USE;

/* Waits for all answers; the first failure is what it returns.  *ret: the last
 * one, which the caller clears (there must be a question). */
enum rc db_postgres_settle(struct db_postgres *p, struct err *err) MUST_USE;
enum rc db_postgres_settle_last(
    struct db_postgres *p, PGresult **ret, struct err *err) MUST_USE;

/* Whether no answer that is still to come may say that something is not as it
 * should be, but that a statement failed: what only inserts adds as many rows
 * as it was given, or fails. */
bool db_postgres_later_only_inserts(const struct db_postgres *p);

/* ---- db_postgres_notes.c: between nodes ---- */

/* As db_be_node() and so on. */
enum rc db_postgres_be_node(
    struct db *db, int64_t node, struct err *err) MUST_USE;
enum rc db_postgres_listen(
    struct db *db, const char *channel, struct err *err) MUST_USE;
enum rc db_postgres_notify(struct db *db, const char *channel, const char *text,
    struct err *err) MUST_USE;
int db_postgres_fd(const struct db *db);
enum rc db_postgres_notes(
    struct db *db, db_note_fn each, void *arg, struct err *err) MUST_USE;

/* ---- db_postgres_lineage.c: which server's history it is ---- */

/* As db_lineage_get(). */
enum rc db_postgres_lineage_get(
    struct db *db, struct db_lineage *ret, struct err *err) MUST_USE;

/* As db_waits_for_standby(). */
enum rc db_postgres_waits_for_standby(
    struct db *db, bool *ret, struct err *err) MUST_USE;

/* Whether the connection may be used where its owner follows a lineage. */
bool db_postgres_lineage_kept(const struct db_postgres *p);

/* The same of a fresh connection, whose server is asked; RC_AWAY: not yet. */
enum rc db_postgres_lineage_check(
    struct db_postgres *p, struct err *err) MUST_USE;

/* ---- db_postgres_slow.c: reading everything ---- */

/* Who gets the rows. */
struct db_each {
	db_row_fn fn;
	void *arg;
};

/* As db_take_time(). */
enum rc db_postgres_take_time(struct db *db, struct err *err) MUST_USE;

/* Runs statement ${id}, which is prepared, by a cursor.  In a transaction. */
enum rc db_postgres_run_slow(struct db_postgres *p, int id,
    const struct db_postgres_params *params, const struct db_each *each,
    struct err *err) MUST_USE;

/* ---- db_postgres_pooler.c: what is between us and the server ---- */

/* RC_INVALID: a connection pooler gives the server's sessions to other clients
 * between our transactions.  Asked of a fresh connection before anything is
 * set in its session. */
enum rc db_postgres_pooler_check(
    struct db_postgres *p, struct err *err) MUST_USE;

/* ---- db_postgres_open.c: connections ---- */

/* Allocates what db_postgres_open() fills; no connection yet.  NULL: no
 * memory.  db_close() frees it. */
struct db_postgres *db_postgres_new(const struct db_options *options);

/* A connection whose session is as the server made it. */
enum rc db_postgres_connect_bare(
    struct db_postgres *p, struct err *err) MUST_USE;

/* A connection, if there is none, or the server has left: tried again after a
 * back-off, during which RC_AWAY is the answer, or when another connection of
 * this process has been made. */
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
