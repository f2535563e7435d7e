/* SPDX-License-Identifier: MIT */
/*
 * Long statements, for fsck and copy, which read whole tables.  On a connection
 * that allows them the server has no time-out for statements, the program waits
 * up to LONG_MS (an hour) for each answer, and the planner may scan whole
 * tables.  In a transaction, db_run() with a callback fetches the rows through
 * a cursor, so that memory holds only FETCH_ROWS of them at a time.
 */
#include <stdio.h>
#include <string.h>

#include "db/db_postgres_internal.h"

/* Rows fetched at a time. */
#define FETCH_ROWS "500"
/* How long one statement, or one fetch, may take, milliseconds. */
#define LONG_MS 3600000

enum rc
db_postgres_set_long(struct db_postgres *p, struct err *err)
{

	return (db_postgres_exec(p,
	    "SET statement_timeout TO 0; "
	    "SET idle_in_transaction_session_timeout TO 0; "
	    "RESET plan_cache_mode; RESET enable_seqscan; "
	    "RESET enable_hashjoin; RESET enable_mergejoin; "
	    "RESET enable_sort; RESET random_page_cost",
	    NULL, err));
}

enum rc
db_postgres_allow_long_statements(struct db *db, struct err *err)
{
	struct db_postgres *p = db_postgres_of(db);
	enum rc rc;

	rc = db_postgres_connect(p, err);
	if (rc == RC_OK)
		rc = db_postgres_set_long(p, err);
	if (rc != RC_OK)
		return (rc);
	p->patience_ms = LONG_MS;
	p->long_statements = true;
	return (RC_OK);
}

/* Declares cursor ${name} for the text of statement ${id}, with ${params}. */
static enum rc
declare(struct db_postgres *p, int id, const char *name,
    const struct db_postgres_params *params, struct err *err)
{
	const struct sql_text *text = &p->db.schema->statements[id];
	struct buf sql = BUF_INIT;
	PGresult *result;
	enum rc rc;
	int sent;

	buf_addf(&sql, "DECLARE %s NO SCROLL CURSOR FOR %s", name, text->text);
	buf_addc(&sql, '\0');
	if (!buf_ok(&sql)) {
		buf_fini(&sql);
		return (err_set(err, RC_NO_MEMORY, "%s", text->name));
	}
	sent =
	    PQsendQueryParams(p->conn, sql.data, params->n, p->stmts[id].types,
		params->values, params->lengths, params->formats, 1);
	rc = db_postgres_await_result(p, sent == 1, text->name, &result, err);
	PQclear(result);
	buf_fini(&sql);
	return (rc);
}

/* Fetches the next rows, up to FETCH_ROWS, from cursor ${name}, and calls
 * ${each} for them until a call fails, whose code is returned.  *ret_n: the
 * number of fetched rows; 0: the cursor is at its end. */
static enum rc
fetch(struct db_postgres *p, const char *name, const struct db_each *each,
    int *ret_n, struct err *err)
{
	PGresult *result;
	char sql[64];
	enum rc rc;
	int sent;

	(void)snprintf(
	    sql, sizeof(sql), "FETCH FORWARD " FETCH_ROWS " FROM %s", name);
	sent = PQsendQueryParams(p->conn, sql, 0, NULL, NULL, NULL, NULL, 1);
	rc = db_postgres_await_result(p, sent == 1, name, &result, err);
	if (rc != RC_OK)
		return (rc);
	*ret_n = PQntuples(result);
	rc = db_postgres_each_row(p, result, each->fn, each->arg, err);
	PQclear(result);
	return (rc);
}

enum rc
db_postgres_run_cursor(struct db_postgres *p, int id,
    const struct db_postgres_params *params, const struct db_each *each,
    struct err *err)
{
	char name[24], close[40];
	enum rc rc;
	int n = 1;

	(void)snprintf(name, sizeof(name), "long_%u", ++p->cursors);
	rc = db_postgres_pipeline_flush_before(p, err);
	if (rc == RC_OK)
		rc = declare(p, id, name, params, err);
	while (rc == RC_OK && n > 0)
		rc = fetch(p, name, each, &n, err);
	(void)snprintf(close, sizeof(close), "CLOSE %s", name);
	return (rc == RC_OK ? db_postgres_exec(p, close, NULL, err) : rc);
}
