/* SPDX-License-Identifier: MIT */
/*
 * The pipeline: statements whose result is not needed at once are sent together
 * with the next one whose result is, in one round trip (libpq's pipeline mode,
 * PostgreSQL documentation, chapter "Pipeline Mode").
 *
 * Promises: results are taken in the order of the statements.  When a statement
 * fails at the server, the server skips all later ones in the pipeline, and the
 * flush returns that failure.  When only the driver's own check of a result
 * fails (a wrong number of changed rows, an error of a callback), the server
 * runs the later statements all the same, and the flush returns the failure of
 * the check.
 * Between two calls of this driver a connection is in pipeline mode exactly
 * while its pipeline is not empty.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clk.h"
#include "db/db_postgres_internal.h"

/* Makes room for one more statement, and enters pipeline mode for the first. */
static enum rc
make_room(struct db_postgres *p, struct err *err)
{
	enum rc rc = RC_OK;

	if (p->npipeline == DB_POSTGRES_PIPELINE_MAX)
		rc = db_postgres_pipeline_flush(p, err);
	if (rc == RC_OK && p->conn == NULL)
		rc = err_set(err, RC_AWAY, "the database is away");
	if (rc == RC_OK && p->npipeline == 0 &&
	    PQenterPipelineMode(p->conn) != 1)
		rc = err_set(
		    err, RC_INTERNAL, "pipeline: %s", PQerrorMessage(p->conn));
	return (rc);
}

/* Appends a copy of ${pending} to ${p}->pipeline if libpq has accepted the
 * statement (${sent}); else closes the connection and returns RC_AWAY. */
static enum rc
add(struct db_postgres *p, bool sent, const struct db_postgres_pending *pending,
    struct err *err)
{

	if (!sent) {
		(void)err_set(err, RC_AWAY, "%s: %.*s", pending->what,
		    (int)strcspn(PQerrorMessage(p->conn), "\n"),
		    PQerrorMessage(p->conn));
		db_postgres_drop(p);
		return (RC_AWAY);
	}
	p->pipeline[p->npipeline++] = *pending;
	return (RC_OK);
}

enum rc
db_postgres_pipeline_add_text(
    struct db_postgres *p, const char *sql, struct err *err)
{
	const struct db_postgres_pending pending = {.what = sql, .id = -1};
	enum rc rc;
	int sent;

	rc = make_room(p, err);
	if (rc != RC_OK)
		return (rc);
	sent = PQsendQueryParams(p->conn, sql, 0, NULL, NULL, NULL, NULL, 1);
	return (add(p, sent == 1, &pending, err));
}

enum rc
db_postgres_pipeline_add(struct db_postgres *p,
    const struct db_postgres_params *params,
    const struct db_postgres_pending *pending, struct err *err)
{
	enum rc rc;
	int sent;

	rc = make_room(p, err);
	if (rc != RC_OK)
		return (rc);
	sent = PQsendQueryPrepared(p->conn, pending->what, params->n,
	    params->values, params->lengths, params->formats, 1);
	return (add(p, sent == 1, pending, err));
}

/* Checks ${result} of ${pending} and passes its rows to the callback. */
static enum rc
take(struct db_postgres *p, const struct db_postgres_pending *pending,
    PGresult *result, struct err *err)
{

	if (pending->id >= 0 &&
	    strncmp(PQcmdStatus(result), "INSERT", strlen("INSERT")) == 0)
		p->stmts[pending->id].inserts = true;
	if (pending->exact &&
	    strtoll(PQcmdTuples(result), NULL, 10) != pending->rows)
		return (err_set(err, RC_CONFLICT,
		    "%s: a row is not in the state it should be in",
		    pending->what));
	if (pending->each != NULL)
		return (db_postgres_each_row(
		    p, result, pending->each, pending->arg, err));
	return (RC_OK);
}

/* Returns the code for ${rc}, the result of a queued statement, if the caller
 * also runs a statement of its own: RC_INTERNAL for RC_EXISTS and RC_CONFLICT,
 * else ${rc}.  The caller could take those two for a failure of its own
 * statement, for example that the row to insert exists or that a lease is
 * lost. */
static enum rc
failure_of_earlier(enum rc rc)
{

	return (rc == RC_EXISTS || rc == RC_CONFLICT ? RC_INTERNAL : rc);
}

/* Takes the results of all statements in the pipeline, until the connection is
 * lost, and calls their callbacks until the first failure, which is returned.
 * If nothing has failed, *ret is the result of the last statement, which the
 * caller clears; else *ret is not changed.  If ${ret} is not NULL, RC_EXISTS
 * and RC_CONFLICT of a statement before the last one are returned as
 * RC_INTERNAL; if ${ret} is NULL, they are returned unchanged. */
static enum rc
take_all(
    struct db_postgres *p, int64_t until_ms, PGresult **ret, struct err *err)
{
	const int n = p->npipeline;
	PGresult *result;
	enum rc rc = RC_OK, one;
	int i;

	p->flushing = true;
	for (i = 0; i < n && p->conn != NULL; i++) {
		/* Only the first failure is stored in ${err}.  The later ones
		 * follow from it: as a rule the server has skipped the rest. */
		one = db_postgres_pipeline_result(p, until_ms,
		    p->pipeline[i].what, &result, rc == RC_OK ? err : NULL);
		if (one == RC_OK && rc == RC_OK)
			one = take(p, &p->pipeline[i], result, err);
		if (rc == RC_OK)
			rc = ret != NULL && i < n - 1 ? failure_of_earlier(one)
						      : one;
		if (ret != NULL && i == n - 1 && rc == RC_OK)
			*ret = result;
		else
			PQclear(result);
	}
	p->flushing = false;
	return (rc);
}

static enum rc
flush(struct db_postgres *p, PGresult **ret, struct err *err)
{
	const int64_t until = clk_mono_ms(clk_system()) + p->patience_ms;
	enum rc rc;

	if (PQpipelineSync(p->conn) != 1) {
		rc = err_set(
		    err, RC_AWAY, "pipeline: %s", PQerrorMessage(p->conn));
		db_postgres_drop(p);
		return (rc);
	}
	rc = take_all(p, until, ret, err);
	p->npipeline = 0;
	if (p->conn != NULL && !db_postgres_pipeline_end(p, until)) {
		/* The results may be out of step with the statements, so the
		 * connection cannot be used any more. */
		db_postgres_drop(p);
		if (rc == RC_OK)
			rc = err_set(
			    err, RC_AWAY, "the database does not answer");
	}
	if (rc != RC_OK && ret != NULL) {
		PQclear(*ret);
		*ret = NULL;
	}
	return (rc);
}

enum rc
db_postgres_pipeline_flush(struct db_postgres *p, struct err *err)
{
	enum rc rc;

	rc = p->npipeline == 0 || p->conn == NULL ? RC_OK : flush(p, NULL, err);
	return (rc == RC_EXISTS ? RC_CONFLICT : rc);
}

enum rc
db_postgres_pipeline_flush_before(struct db_postgres *p, struct err *err)
{

	return (failure_of_earlier(db_postgres_pipeline_flush(p, err)));
}

enum rc
db_postgres_pipeline_flush_last(
    struct db_postgres *p, PGresult **ret, struct err *err)
{

	*ret = NULL;
	return (flush(p, ret, err));
}

bool
db_postgres_pipeline_only_inserts(const struct db_postgres *p)
{
	int i;

	for (i = 0; i < p->npipeline; i++)
		if (p->pipeline[i].each != NULL ||
		    (p->pipeline[i].exact &&
			!p->stmts[p->pipeline[i].id].inserts))
			return (false);
	return (true);
}
