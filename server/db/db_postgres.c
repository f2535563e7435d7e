/* SPDX-License-Identifier: MIT */
/*
 * The PostgreSQL driver: prepared statements, rows and columns.
 *
 * Promises: whatever happens to the server or the network, each wait for the
 * answer to a statement ends within db_answer of base/timing.h (in a migration:
 * DB_POSTGRES_MIGRATE_MS; after db_allow_long_statements(): an hour).  A call
 * may wait for several answers, and to connect has time limits of its own
 * (db_postgres_open.c).  A connection that failed is never used again; the next
 * transaction, or the next statement outside one, makes another.
 *
 * Relies on: only one thread uses a connection; the statements have the same
 * names for SQLite and for PostgreSQL (schema/).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "db/db_postgres_internal.h"

/* ---- statements ---- */

/* Stores the server's description of statement ${id}. */
static enum rc
take_description(
    struct db_postgres *p, int id, const PGresult *result, struct err *err)
{
	const char *name = p->db.schema->statements[id].name;
	struct db_postgres_stmt *st = &p->stmts[id];
	int i, arrays = 0, n = PQnparams(result), columns = PQnfields(result);
	bool array;

	if (n > DB_POSTGRES_PARAMS_MAX || columns > DB_POSTGRES_COLUMNS_MAX)
		return (err_set(err, RC_INTERNAL,
		    "%s: too many parameters or columns", name));
	for (i = 0; i < n; i++) {
		st->types[i] = PQparamtype(result, i);
		if (!db_postgres_type_known(st->types[i], &array))
			return (err_set(err, RC_INTERNAL,
			    "%s: $%d is of type %u: cast it", name, i + 1,
			    st->types[i]));
		arrays += array ? 1 : 0;
	}
	for (i = 0; i < columns; i++)
		if (!db_postgres_type_known(PQftype(result, i), &array) ||
		    array)
			return (err_set(err, RC_INTERNAL,
			    "%s: column %d is of type %u: cast it", name, i,
			    PQftype(result, i)));
	if (arrays != 0 && arrays != n)
		return (err_set(err, RC_INTERNAL,
		    "%s: all parameters are arrays, or none", name));
	st->nparams = (uint8_t)n;
	st->ncolumns = (uint8_t)columns;
	st->set = arrays > 0;
	return (RC_OK);
}

/* Returns the text that a DB_WRITER connection prepares for the statement
 * ${text}: the text of the statement, and its locking clause (FOR UPDATE ...).
 * The caller frees the result; NULL: out of memory. */
static char *
writers_text(const struct sql_text *text)
{
	struct buf b = BUF_INIT;
	size_t n;

	buf_adds(&b, text->text);
	buf_adds(&b, text->writer);
	buf_addc(&b, '\0');
	return (buf_take(&b, &n));
}

static enum rc
prepare_text(struct db_postgres *p, int id, const char *sql, struct err *err)
{
	const char *name = p->db.schema->statements[id].name;
	PGresult *result;
	enum rc rc = RC_OK;

	if (!p->stmts[id].parsed) {
		rc = db_postgres_await_result(p,
		    PQsendPrepare(p->conn, name, sql, 0, NULL) == 1, name,
		    &result, err);
		PQclear(result);
		p->stmts[id].parsed = rc == RC_OK;
	}
	if (rc == RC_OK)
		rc = db_postgres_await_result(p,
		    PQsendDescribePrepared(p->conn, name) == 1, name, &result,
		    err);
	if (rc != RC_OK)
		return (rc);
	rc = take_description(p, id, result, err);
	PQclear(result);
	return (rc);
}

enum rc
db_postgres_prepare(struct db_postgres *p, int id,
    struct db_postgres_stmt **ret, struct err *err)
{
	const struct sql_text *text = &p->db.schema->statements[id];
	char *locking = NULL;
	enum rc rc;

	*ret = &p->stmts[id];
	if (p->flushing)
		return (err_set(err, RC_INTERNAL,
		    "%s is run while results are taken", text->name));
	if (p->conn == NULL) {
		/* In a transaction the call fails and does not connect again:
		 * its earlier statements were lost, so its later statements
		 * must not run on a new connection. */
		rc = p->open ? err_set(err, RC_AWAY, "the database is away")
			     : db_postgres_connect(p, err);
		if (rc != RC_OK)
			return (rc);
	}
	if (p->stmts[id].prepared)
		return (RC_OK);
	rc = db_postgres_pipeline_flush_before(p, err);
	if (rc != RC_OK)
		return (rc);
	if (text->writer != NULL && p->db.mode == DB_WRITER &&
	    (locking = writers_text(text)) == NULL)
		return (err_set(err, RC_NO_MEMORY, "%s", text->name));
	rc = prepare_text(p, id, locking != NULL ? locking : text->text, err);
	mem_free(locking);
	p->stmts[id].prepared = rc == RC_OK;
	return (rc);
}

/* Runs a prepared statement, together with the pipeline if it is not empty. */
static enum rc
execute(struct db_postgres *p, int id, const struct db_postgres_params *params,
    PGresult **ret, struct err *err)
{
	const char *name = p->db.schema->statements[id].name;
	const struct db_postgres_pending pending = {.what = name, .id = id};
	enum rc rc;
	int sent;

	if (p->npipeline > 0) {
		rc = db_postgres_pipeline_add(p, params, &pending, err);
		return (rc == RC_OK
			    ? db_postgres_pipeline_flush_last(p, ret, err)
			    : rc);
	}
	sent = PQsendQueryPrepared(p->conn, name, params->n, params->values,
	    params->lengths, params->formats, 1);
	return (db_postgres_await_result(p, sent == 1, name, ret, err));
}

/* The number of rows that the statement of ${result} has changed. */
static int64_t
changed_by(PGresult *result)
{

	return (strtoll(PQcmdTuples(result), NULL, 10));
}

enum rc
db_postgres_each_row(struct db_postgres *p, const PGresult *result,
    db_row_fn each, void *arg, struct err *err)
{
	struct db_postgres_row at = {result, 0};
	const struct db_row row = {&p->db, &at};
	enum rc rc = RC_OK;
	int n = PQntuples(result);

	for (; at.row < n && rc == RC_OK; at.row++)
		rc = each(arg, &row, err);
	return (rc);
}

/* Prepares statement ${id} and encodes its parameters for ${nrows} rows. */
static enum rc
ready(struct db_postgres *p, int id, const struct db_val *v, size_t n,
    size_t nrows, struct db_postgres_params *ret, struct err *err)
{
	struct db_postgres_stmt *st;
	enum rc rc;

	rc = db_postgres_prepare(p, id, &st, err);
	if (rc != RC_OK)
		return (rc);
	if (n != st->nparams)
		return (err_set(err, RC_INTERNAL, "%s: %zu parameters for %u",
		    p->db.schema->statements[id].name, n, st->nparams));
	rc = st->set
		 ? db_postgres_encode_set(st, v, nrows, &p->arrays, ret, err)
		 : db_postgres_encode(st, v, ret, err);
	if (rc != RC_OK)
		return (err_wrap(err, "%s", p->db.schema->statements[id].name));
	return (RC_OK);
}

static enum rc
postgres_run(struct db *db, int id, const struct db_val *v, size_t n,
    db_row_fn each, void *arg, int64_t *ret_changed, struct err *err)
{
	struct db_postgres *p = db_postgres_of(db);
	struct db_postgres_params params;
	PGresult *result;
	enum rc rc;

	p->retryable = false;
	rc = ready(p, id, v, n, 1, &params, err);
	if (rc == RC_OK && p->long_statements && p->open && each != NULL)
		return (db_postgres_run_cursor(
		    p, id, &params, &(struct db_each){each, arg}, err));
	if (rc == RC_OK)
		rc = execute(p, id, &params, &result, err);
	if (rc != RC_OK)
		return (rc);
	if (ret_changed != NULL)
		*ret_changed = changed_by(result);
	if (each != NULL)
		rc = db_postgres_each_row(p, result, each, arg, err);
	PQclear(result);
	return (rc);
}

/* Returns the error RC_INTERNAL: the caller has a set of rows for statement
 * ${id}, but the parameters of the statement are not arrays, so the statement
 * would run for the first row only. */
static enum rc
not_for_many(const struct db_postgres *p, int id, struct err *err)
{

	return (err_set(err, RC_INTERNAL, "%s is not for many rows",
	    p->db.schema->statements[id].name));
}

/* The most rows of parameters that one run of a statement receives, as arrays,
 * in db_pipeline_write() and db_exec_many(); db_pipeline_query() and
 * db_run_many() pass all rows to one run.  Longer arrays make larger messages
 * and save little. */
#define SET_ROWS 512

/* Adds statement ${id} for the rows of ${set} to the pipeline. */
static enum rc
pipeline_add_rows(struct db_postgres *p, int id, const struct db_set *set,
    bool exact, struct db_each each, struct err *err)
{
	const struct db_postgres_pending pending = {
	    .what = p->db.schema->statements[id].name,
	    .id = id,
	    .exact = exact,
	    .rows = (int64_t)set->n,
	    .each = each.fn,
	    .arg = each.arg};
	struct db_postgres_params params;
	enum rc rc;

	rc = ready(p, id, set->v, set->width, set->n, &params, err);
	if (rc == RC_OK && set->n > 1 && !p->stmts[id].set)
		rc = not_for_many(p, id, err);
	if (rc == RC_OK)
		rc = db_postgres_pipeline_add(p, &params, &pending, err);
	/* Outside a transaction nothing may follow soon that would send it. */
	return (
	    rc == RC_OK && !p->open ? db_postgres_pipeline_flush(p, err) : rc);
}

static enum rc
postgres_pipeline_write(
    struct db *db, int id, const struct db_set *all, struct err *err)
{
	struct db_postgres *p = db_postgres_of(db);
	struct db_postgres_stmt *st;
	struct db_set set = {all->v, all->width, 0};
	size_t i, most;
	enum rc rc;

	p->retryable = false;
	rc = db_postgres_prepare(p, id, &st, err);
	for (i = 0; i < all->n && rc == RC_OK; i += set.n) {
		most = st->set ? SET_ROWS : 1;
		set.v = all->v + i * all->width;
		set.n = all->n - i < most ? all->n - i : most;
		rc = pipeline_add_rows(
		    p, id, &set, true, (struct db_each){NULL, NULL}, err);
	}
	return (rc);
}

static enum rc
postgres_pipeline_query(struct db *db, int id, const struct db_set *set,
    db_row_fn each, void *arg, struct err *err)
{
	struct db_postgres *p = db_postgres_of(db);

	p->retryable = false;
	return (pipeline_add_rows(
	    p, id, set, false, (struct db_each){each, arg}, err));
}

static enum rc
postgres_pipeline_flush(struct db *db, struct err *err)
{

	db_postgres_of(db)->retryable = false;
	return (db_postgres_pipeline_flush(db_postgres_of(db), err));
}

static enum rc
postgres_exec_many(struct db *db, int id, const struct db_val *v, size_t n,
    size_t nrows, int64_t *ret_changed, struct err *err)
{
	struct db_postgres *p = db_postgres_of(db);
	struct db_postgres_params params;
	struct db_postgres_stmt *st;
	PGresult *result;
	size_t i, most;
	enum rc rc;

	p->retryable = false;
	rc = db_postgres_prepare(p, id, &st, err);
	for (i = 0; i < nrows && rc == RC_OK; i += most) {
		most = !st->set               ? 1
		       : nrows - i < SET_ROWS ? nrows - i
					      : SET_ROWS;
		rc = ready(p, id, v + i * n, n, most, &params, err);
		if (rc == RC_OK)
			rc = execute(p, id, &params, &result, err);
		if (rc != RC_OK)
			return (rc);
		if (ret_changed != NULL)
			*ret_changed += changed_by(result);
		PQclear(result);
	}
	return (rc);
}

static enum rc
postgres_run_many(struct db *db, int id, const struct db_set *set,
    db_row_fn each, void *arg, struct err *err)
{
	struct db_postgres *p = db_postgres_of(db);
	struct db_postgres_params params;
	PGresult *result;
	enum rc rc;

	p->retryable = false;
	rc = ready(p, id, set->v, set->width, set->n, &params, err);
	if (rc == RC_OK && !p->stmts[id].set)
		rc = not_for_many(p, id, err);
	if (rc == RC_OK)
		rc = execute(p, id, &params, &result, err);
	if (rc != RC_OK)
		return (rc);
	rc = db_postgres_each_row(p, result, each, arg, err);
	PQclear(result);
	return (rc);
}

/* ---- columns ---- */

static bool
postgres_col_null(const struct db_row *row, int col)
{
	const struct db_postgres_row *at = row->handle;

	return (PQgetisnull(at->result, at->row, col) != 0);
}

static int64_t
postgres_col_i64(const struct db_row *row, int col)
{
	const struct db_postgres_row *at = row->handle;

	return (db_postgres_i64(at->result, at->row, col));
}

static const void *
postgres_col_bytes(const struct db_row *row, int col, bool text, size_t *ret_n)
{
	const struct db_postgres_row *at = row->handle;
	bool null = PQgetisnull(at->result, at->row, col) != 0;

	(void)text;
	if (ret_n != NULL)
		*ret_n =
		    null ? 0 : (size_t)PQgetlength(at->result, at->row, col);
	return (null ? NULL : PQgetvalue(at->result, at->row, col));
}

/* ---- operations of SQLite files that a server does not have ---- */

static enum rc
postgres_checkpoint(
    struct db *db, bool truncate, struct db_checkpoint *ret, struct err *err)
{

	(void)db;
	(void)truncate;
	(void)err;
	if (ret != NULL)
		*ret = (struct db_checkpoint){0, 0};
	return (RC_OK);
}

static enum rc
postgres_log_cut(struct db *db, struct err *err)
{

	return (postgres_checkpoint(db, true, NULL, err));
}

static enum rc
postgres_backup(
    struct db *db, const char *path, int64_t log_limit, struct err *err)
{

	(void)db;
	(void)path;
	(void)log_limit;
	return (err_set(err, RC_INVALID,
	    "a PostgreSQL database is backed up by its own tools: pg_basebackup "
	    "with archived logs, or pg_dump"));
}

static int64_t
postgres_log_bytes(struct db *db)
{

	(void)db;
	return (0);
}

static void
postgres_close(struct db *db)
{
	struct db_postgres *p = db_postgres_of(db);

	PQfinish(p->conn);
	buf_fini(&p->arrays);
	mem_free(p->stmts);
	mem_free(p->url);
	mem_free(p);
}

const struct db_driver db_postgres_driver = {
    .multi_writer = true,
    .run = postgres_run,
    .exec_many = postgres_exec_many,
    .allow_long_statements = db_postgres_allow_long_statements,
    .run_many = postgres_run_many,
    .pipeline_write = postgres_pipeline_write,
    .pipeline_query = postgres_pipeline_query,
    .pipeline_flush = postgres_pipeline_flush,
    .set_node = db_postgres_set_node,
    .lineage_get = db_postgres_lineage_get,
    .waits_for_standby = db_postgres_waits_for_standby,
    .notification_listen = db_postgres_notification_listen,
    .notification_send = db_postgres_notification_send,
    .notification_fd = db_postgres_notification_fd,
    .notification_poll = db_postgres_notification_poll,
    .begin = db_postgres_begin,
    .commit = db_postgres_commit,
    .commit_early = db_postgres_commit_early,
    .sync = db_postgres_sync,
    .rollback = db_postgres_rollback,
    .in_transaction = db_postgres_in_transaction,
    .retryable = db_postgres_retryable,
    .checkpoint = postgres_checkpoint,
    .log_cut = postgres_log_cut,
    .backup = postgres_backup,
    .log_bytes = postgres_log_bytes,
    .schema_number = db_postgres_schema_number,
    .migrate = db_postgres_migrate,
    .describe = db_postgres_describe,
    .close = postgres_close,
    .col_null = postgres_col_null,
    .col_i64 = postgres_col_i64,
    .col_bytes = postgres_col_bytes,
};
