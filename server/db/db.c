/* SPDX-License-Identifier: MIT */
/*
 * The functions of db.h.  db_open() selects the driver (SQLite or PostgreSQL)
 * by the URL; most others call the driver of their connection.  If the driver
 * lacks a function (NULL in struct db_driver), the function here, depending on
 * its purpose, calls other functions of the driver instead, does nothing and
 * returns RC_OK or a default, or returns RC_INTERNAL.
 */
#include <stdio.h>
#include <string.h>

#include "db/db_internal.h"

bool
db_url_multi_writer(const char *url)
{

	return (strncmp(url, "postgresql://", 13) == 0 ||
		strncmp(url, "postgres://", 11) == 0);
}

#ifndef HAVE_POSTGRES
enum rc
db_postgres_open(
    const struct db_options *options, struct db **ret, struct err *err)
{

	(void)options;
	(void)ret;
	return (err_set(
	    err, RC_INVALID, "db: this program was built without PostgreSQL"));
}
#endif

enum rc
db_open(const struct db_options *options, struct db **ret, struct err *err)
{

	if (strncmp(options->url, "sqlite:", 7) == 0)
		return (db_sqlite_open(options, options->url + 7, ret, err));
	if (db_url_multi_writer(options->url))
		return (db_postgres_open(options, ret, err));
	return (err_set(err, RC_INVALID,
	    "db: \"%s\" is not a database URL; use sqlite:PATH or "
	    "postgresql://HOST/NAME",
	    options->url));
}

void
db_close(struct db *db)
{

	if (db != NULL)
		db->driver->close(db);
}

struct db_val
db_v_str(const char *s)
{

	if (s == NULL)
		return (DB_V_NULL);
	return (db_v_text(s, strlen(s)));
}

struct db_val
db_v_text_most(const char *s, size_t most)
{
	size_t n;

	if (s == NULL || s[0] == '\0')
		return (DB_V_NULL);
	n = strlen(s);
	return (db_v_text(s, n < most ? n : most));
}

enum rc
db_run(struct db *db, int stmt, const struct db_val *params, size_t n,
    db_row_fn each, void *arg, int64_t *ret_changed, struct err *err)
{

	db->statements++;
	return (
	    db->driver->run(db, stmt, params, n, each, arg, ret_changed, err));
}

enum rc
db_exec_many(struct db *db, int stmt, const struct db_val *params, size_t n,
    size_t nrows, int64_t *ret_changed, struct err *err)
{

	if (ret_changed != NULL)
		*ret_changed = 0;
	if (nrows == 0)
		return (RC_OK);
	db->statements += nrows;
	return (db->driver->exec_many(
	    db, stmt, params, n, nrows, ret_changed, err));
}

enum rc
db_run_many(struct db *db, int stmt, const struct db_set *set, db_row_fn each,
    void *arg, struct err *err)
{
	enum rc rc = RC_OK;
	size_t i;

	if (set->n > 0 && db->driver->run_many != NULL) {
		db->statements++;
		return (db->driver->run_many(db, stmt, set, each, arg, err));
	}
	for (i = 0; i < set->n && rc == RC_OK; i++)
		rc = db_run(db, stmt, set->v + i * set->width, set->width, each,
		    arg, NULL, err);
	return (rc);
}

enum rc
db_pipeline_write(
    struct db *db, int stmt, const struct db_set *set, struct err *err)
{
	int64_t changed;
	enum rc rc;

	if (set->n > 0 && db->driver->pipeline_write != NULL) {
		db->statements++;
		return (db->driver->pipeline_write(db, stmt, set, err));
	}
	rc = db_exec_many(db, stmt, set->v, set->width, set->n, &changed, err);
	if (rc == RC_OK && changed != (int64_t)set->n)
		rc = err_set(err, RC_CONFLICT,
		    "%s: a row is not in the state it should be in",
		    db->schema->statements[stmt].name);
	return (rc);
}

enum rc
db_pipeline_query(struct db *db, int stmt, const struct db_set *set,
    db_row_fn each, void *arg, struct err *err)
{

	if (set->n == 0 || db->driver->pipeline_query == NULL)
		return (db_run_many(db, stmt, set, each, arg, err));
	db->statements++;
	return (db->driver->pipeline_query(db, stmt, set, each, arg, err));
}

enum rc
db_pipeline_flush(struct db *db, struct err *err)
{

	return (db->driver->pipeline_flush != NULL
		    ? db->driver->pipeline_flush(db, err)
		    : RC_OK);
}

enum rc
db_begin(struct db *db, struct err *err)
{

	return (db->driver->begin(db, err));
}

enum rc
db_commit(struct db *db, struct err *err)
{

	return (db->driver->commit(db, err));
}

enum rc
db_commit_early(struct db *db, bool *ret_owed, struct err *err)
{

	return (db->driver->commit_early(db, ret_owed, err));
}

enum rc
db_sync(struct db *db, struct err *err)
{

	return (db->driver->sync(db, err));
}

void
db_rollback(struct db *db)
{

	db->driver->rollback(db);
}

bool
db_in_transaction(const struct db *db)
{

	return (db->driver->in_transaction(db));
}

enum rc
db_checkpoint(
    struct db *db, bool truncate, struct db_checkpoint *ret, struct err *err)
{

	return (db->driver->checkpoint(db, truncate, ret, err));
}

enum rc
db_log_cut(struct db *db, struct err *err)
{

	return (db->driver->log_cut(db, err));
}

enum rc
db_backup(struct db *db, const char *path, int64_t log_limit, struct err *err)
{

	return (db->driver->backup(db, path, log_limit, err));
}

int64_t
db_log_bytes(struct db *db)
{

	return (db->driver->log_bytes(db));
}

enum rc
db_schema_number(struct db *db, int *ret_has, int *ret_newest, struct err *err)
{

	return (db->driver->schema_number(db, ret_has, ret_newest, err));
}

enum rc
db_schema_check(const struct db *db, int64_t number, int *ret_has,
    int *ret_newest, struct err *err)
{
	const struct db_schema *schema = db->schema;

	*ret_has = (int)number;
	*ret_newest = schema->migrations[schema->nmigrations - 1].number;
	if (number > *ret_newest)
		return (err_set(err, RC_INVALID,
		    "the database has schema %d, this program knows %d: use the "
		    "newer program",
		    (int)number, *ret_newest));
	return (RC_OK);
}

enum rc
db_migrate(
    struct db *db, int64_t now_ms, int *ret_from, int *ret_to, struct err *err)
{

	return (db->driver->migrate(db, now_ms, ret_from, ret_to, err));
}

enum rc
db_fresh(struct db *db, int number, struct db **ret, struct err *err)
{

	*ret = NULL;
	return (db->driver->fresh != NULL
		    ? db->driver->fresh(db, number, ret, err)
		    : RC_OK);
}

enum rc
db_describe(struct db *db, int stmt, struct db_description *ret, char *plan,
    size_t plan_size, struct err *err)
{

	ret->nparams = ret->ncolumns = 0;
	ret->columns[0] = '\0';
	return (db->driver->describe(db, stmt, ret, plan, plan_size, err));
}

void
db_describe_column(struct db_description *ret, const char *name)
{
	const size_t n = strlen(ret->columns);

	(void)snprintf(ret->columns + n, sizeof(ret->columns) - n, "%s%s",
	    ret->ncolumns++ > 0 ? ", " : "", name);
}

enum rc
db_allow_long_statements(struct db *db, struct err *err)
{

	return (db->driver->allow_long_statements != NULL
		    ? db->driver->allow_long_statements(db, err)
		    : RC_OK);
}

bool
db_multi_writer(const struct db *db)
{

	return (db->driver->multi_writer);
}

bool
db_retryable(const struct db *db)
{

	return (db->driver->retryable != NULL && db->driver->retryable(db));
}

bool
db_lock_timed_out(const struct db *db)
{

	return (db->lock_timed_out);
}

void
db_set_lock_timeout(struct db *db, int64_t ms)
{

	db->lock_timeout_ms = ms;
}

bool
db_is_fatal(const struct db *db, enum rc rc)
{

	return (rc == RC_CORRUPT || (!db->driver->multi_writer &&
					(rc == RC_IO || rc == RC_UNCERTAIN)));
}

static enum rc
nobody_else(struct err *err)
{

	return (err_set(err, RC_INTERNAL, "db: it has no other nodes"));
}

enum rc
db_set_node(struct db *db, int64_t node, struct err *err)
{

	return (db->driver->set_node != NULL
		    ? db->driver->set_node(db, node, err)
		    : nobody_else(err));
}

void
db_follow_lineage(struct db *db, const atomic_int_fast64_t *lineage)
{

	db->lineage = lineage;
}

enum rc
db_lineage_get(struct db *db, struct db_lineage *ret, struct err *err)
{

	return (db->driver->lineage_get != NULL
		    ? db->driver->lineage_get(db, ret, err)
		    : nobody_else(err));
}

enum rc
db_waits_for_standby(struct db *db, bool *ret, struct err *err)
{

	*ret = false;
	return (db->driver->waits_for_standby != NULL
		    ? db->driver->waits_for_standby(db, ret, err)
		    : RC_OK);
}

enum rc
db_notification_listen(struct db *db, const char *channel, struct err *err)
{

	return (db->driver->notification_listen != NULL
		    ? db->driver->notification_listen(db, channel, err)
		    : nobody_else(err));
}

enum rc
db_notification_send(
    struct db *db, const char *channel, const char *text, struct err *err)
{

	return (db->driver->notification_send != NULL
		    ? db->driver->notification_send(db, channel, text, err)
		    : nobody_else(err));
}

int
db_notification_fd(const struct db *db)
{

	return (db->driver->notification_fd != NULL
		    ? db->driver->notification_fd(db)
		    : -1);
}

enum rc
db_notification_poll(
    struct db *db, db_notification_fn each, void *arg, struct err *err)
{

	return (db->driver->notification_poll != NULL
		    ? db->driver->notification_poll(db, each, arg, err)
		    : nobody_else(err));
}

uint64_t
db_statements(const struct db *db)
{

	return (db->statements);
}

bool
db_row_null(const struct db_row *row, int col)
{

	return (row->db->driver->col_null(row, col));
}

int64_t
db_row_i64(const struct db_row *row, int col)
{

	return (row->db->driver->col_i64(row, col));
}

const char *
db_row_text(const struct db_row *row, int col, size_t *ret_n)
{

	return (row->db->driver->col_bytes(row, col, true, ret_n));
}

const void *
db_row_blob(const struct db_row *row, int col, size_t *ret_n)
{

	return (row->db->driver->col_bytes(row, col, false, ret_n));
}

struct uuid
db_row_uuid(const struct db_row *row, int col)
{
	struct uuid u;
	const void *p;
	size_t n;

	memset(&u, 0, sizeof(u));
	p = db_row_blob(row, col, &n);
	if (p != NULL && n == sizeof(u.b))
		memcpy(u.b, p, n);
	return (u);
}

void
db_row_copy_text(const struct db_row *row, int col, char *ret, size_t size)
{
	const char *p;
	size_t n;

	p = db_row_text(row, col, &n);
	if (p == NULL)
		n = 0;
	if (n > size - 1)
		n = size - 1;
	if (n > 0)
		memcpy(ret, p, n);
	ret[n] = '\0';
}

enum rc
db_take_i64(void *arg, const struct db_row *row, struct err *err)
{

	(void)err;
	*(int64_t *)arg = db_row_i64(row, 0);
	return (RC_OK);
}
