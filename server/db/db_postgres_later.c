/* SPDX-License-Identifier: MIT */
/*
 * What was asked and is not answered yet: questions that nobody waits for go
 * out together with the next one that somebody does, one round trip for all
 * (pipeline mode, documentation 34.5).
 *
 * Promises: answers are taken in the order of the questions.  When one fails,
 * the server passes over all after it; whoever asks next is told of that one.
 * A connection has either no question open, or is in pipeline mode.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clk.h"
#include "db/db_postgres_internal.h"

/* Room for one more question. */
static enum rc
make_room(struct db_postgres *p, struct err *err)
{
	enum rc rc = RC_OK;

	if (p->nlater == DB_POSTGRES_LATER_MAX)
		rc = db_postgres_settle(p, err);
	if (rc == RC_OK && p->conn == NULL)
		rc = err_set(err, RC_AWAY, "the database is away");
	if (rc == RC_OK && p->nlater == 0 && PQenterPipelineMode(p->conn) != 1)
		rc = err_set(
		    err, RC_INTERNAL, "pipeline: %s", PQerrorMessage(p->conn));
	return (rc);
}

static enum rc
note(struct db_postgres *p, bool sent, const struct db_postgres_later *later,
    struct err *err)
{

	if (!sent) {
		(void)err_set(err, RC_AWAY, "%s: %.*s", later->what,
		    (int)strcspn(PQerrorMessage(p->conn), "\n"),
		    PQerrorMessage(p->conn));
		db_postgres_drop(p);
		return (RC_AWAY);
	}
	p->later[p->nlater++] = *later;
	return (RC_OK);
}

enum rc
db_postgres_later_text(struct db_postgres *p, const char *sql, struct err *err)
{
	const struct db_postgres_later later = {.what = sql, .id = -1};
	enum rc rc;
	int sent;

	rc = make_room(p, err);
	if (rc != RC_OK)
		return (rc);
	sent = PQsendQueryParams(p->conn, sql, 0, NULL, NULL, NULL, NULL, 1);
	return (note(p, sent == 1, &later, err));
}

enum rc
db_postgres_later(struct db_postgres *p,
    const struct db_postgres_params *params,
    const struct db_postgres_later *later, struct err *err)
{
	enum rc rc;
	int sent;

	rc = make_room(p, err);
	if (rc != RC_OK)
		return (rc);
	sent = PQsendQueryPrepared(p->conn, later->what, params->n,
	    params->values, params->lengths, params->formats, 1);
	return (note(p, sent == 1, later, err));
}

/* What the answer ${result} means to whom ${later} was asked for. */
static enum rc
take(struct db_postgres *p, const struct db_postgres_later *later,
    PGresult *result, struct err *err)
{

	if (later->id >= 0 &&
	    strncmp(PQcmdStatus(result), "INSERT", strlen("INSERT")) == 0)
		p->stmts[later->id].inserts = true;
	if (later->exact &&
	    strtoll(PQcmdTuples(result), NULL, 10) != later->rows)
		return (err_set(err, RC_CONFLICT,
		    "%s: a row is not in the state it should be in",
		    later->what));
	if (later->each != NULL)
		return (db_postgres_each_row(
		    p, result, later->each, later->arg, err));
	return (RC_OK);
}

/* The failure of a question that nobody waits for.  Who waits for another
 * (${ret}) might think that it is his own: that what he makes exists, that his
 * lease is lost. */
static enum rc
anothers(enum rc rc, PGresult *const *ret)
{

	if (rc == RC_EXISTS || rc == RC_CONFLICT)
		return (ret != NULL ? RC_INTERNAL : RC_CONFLICT);
	return (rc);
}

/* The answers of all that was asked; *ret (NULL: not wanted): the last one. */
static enum rc
take_all(
    struct db_postgres *p, int64_t until_ms, PGresult **ret, struct err *err)
{
	const int n = p->nlater;
	PGresult *result;
	enum rc rc = RC_OK, one;
	int i;

	p->taking = true;
	for (i = 0; i < n && p->conn != NULL; i++) {
		/* What comes after a failure was passed over. */
		one = db_postgres_result(p, until_ms, p->later[i].what, &result,
		    rc == RC_OK ? err : NULL);
		if (one == RC_OK && rc == RC_OK)
			one = take(p, &p->later[i], result, err);
		if (rc == RC_OK)
			rc = ret != NULL && i == n - 1 ? one
						       : anothers(one, ret);
		if (ret != NULL && i == n - 1 && rc == RC_OK)
			*ret = result;
		else
			PQclear(result);
	}
	p->taking = false;
	return (rc);
}

static enum rc
answers(struct db_postgres *p, PGresult **ret, struct err *err)
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
	p->nlater = 0;
	if (p->conn != NULL && !db_postgres_synced(p, until)) {
		/* Nobody knows what is said next. */
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
db_postgres_settle(struct db_postgres *p, struct err *err)
{

	return (
	    p->nlater == 0 || p->conn == NULL ? RC_OK : answers(p, NULL, err));
}

enum rc
db_postgres_settle_last(struct db_postgres *p, PGresult **ret, struct err *err)
{

	*ret = NULL;
	return (answers(p, ret, err));
}

bool
db_postgres_later_only_inserts(const struct db_postgres *p)
{
	int i;

	for (i = 0; i < p->nlater; i++)
		if (p->later[i].each != NULL ||
		    (p->later[i].exact && !p->stmts[p->later[i].id].inserts))
			return (false);
	return (true);
}
