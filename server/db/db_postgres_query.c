/* SPDX-License-Identifier: MIT */
/*
 * Sends statements to PostgreSQL and waits for their results, at most as long
 * as the connection's patience_ms (then the connection is closed: RC_AWAY);
 * maps PostgreSQL's errors to result codes.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/clk.h"
#include "db/db_postgres_internal.h"

/* ---- errors ---- */

/* X(a prefix of an SQLSTATE, result code): the first matching prefix counts;
 * RC_INTERNAL if none matches.  See PostgreSQL's documentation, appendix A. */
#define STATES(X)                                                              \
	X("23505", RC_EXISTS)  /* unique_violation */                          \
	X("40", RC_CONFLICT)   /* serialization, deadlock: retryable */        \
	X("53100", RC_FULL)    /* disk_full */                                 \
	X("53200", RC_BUSY)    /* out_of_memory at the server */               \
	X("53", RC_BUSY)       /* too many connections */                      \
	X("55P03", RC_BUSY)    /* lock_not_available */                        \
	X("57014", RC_BUSY)    /* canceled: statement_timeout */               \
	X("57", RC_AWAY)       /* shut down, starting */                       \
	X("08", RC_AWAY)       /* connections */                               \
	X("25006", RC_AWAY)    /* read-only: a standby */                      \
	X("25P03", RC_BUSY)    /* idle_in_transaction_session_timeout */       \
	X("58", RC_BUSY)       /* system_error: its disk, can be repaired */   \
	X("XX001", RC_CORRUPT) /* data_corrupted */                            \
	X("XX002", RC_CORRUPT) /* index_corrupted */                           \
	X("28", RC_DENIED)     /* authorization */                             \
	X("3D", RC_NOT_FOUND)  /* no such database */                          \
	X("42501", RC_DENIED)  /* insufficient_privilege */

static enum rc
rc_of(const char *state)
{
	static const struct {
		const char *begin;
		enum rc rc;
	} states[] = {
#define X(begin, rc) {begin, rc},
	    STATES(X)
#undef X
	};
	size_t i;

	for (i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (strncmp(state, states[i].begin, strlen(states[i].begin)) ==
		    0)
			return (states[i].rc);
	return (RC_INTERNAL);
}

/* The length of the first line of ${s}. */
static int
line(const char *s)
{

	return ((int)strcspn(s, "\n"));
}

/* Returns whether ${what} is the name of a statement of the schema whose
 * locking clause has NOWAIT, so that the statement does not wait for locks.
 * Compares pointers, not strings: returns false for a copy of a name. */
static bool
never_waits(const struct db_postgres *p, const char *what)
{
	const struct sql_text *text = p->db.schema->statements;
	int i;

	for (i = 0; i < p->db.schema->nstatements; i++)
		if (text[i].name == what)
			return (text[i].writer != NULL &&
				strstr(text[i].writer, " NOWAIT") != NULL);
	return (false);
}

/* Stores the server's error ${result} in ${err}. */
static enum rc
fail_result(struct db_postgres *p, const PGresult *result, const char *what,
    struct err *err)
{
	const char *state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
	const char *text = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	enum rc rc;

	if (state == NULL)
		state = "08006";
	if (text == NULL)
		text = PQerrorMessage(p->conn);
	rc = rc_of(state);
	/* The transaction may succeed if it is repeated at once (retryable)
	 * after a deadlock or a serialization failure (class 40); after
	 * RC_EXISTS, because it may then find the row that another transaction
	 * has just inserted; and after 55P03 of a NOWAIT, because the row may
	 * then not be locked.  Any other 55P03 is a lock time-out. */
	p->db.lock_timed_out =
	    strcmp(state, "55P03") == 0 && !never_waits(p, what);
	p->retryable = strncmp(state, "40", 2) == 0 || rc == RC_EXISTS ||
		       (strcmp(state, "55P03") == 0 && never_waits(p, what));
	(void)err_set(
	    err, rc, "%s: %.*s (PostgreSQL %s)", what, line(text), text, state);
	/* The connection is lost, or the server shuts down or is a standby.
	 * The next transaction must use another connection. */
	if (PQstatus(p->conn) != CONNECTION_OK ||
	    strncmp(state, "57P", 3) == 0 || strcmp(state, "25006") == 0 ||
	    strncmp(state, "08", 2) == 0)
		db_postgres_drop(p);
	return (rc);
}

/* Stores the failure of the connection in ${err} and closes the connection. */
static enum rc
fail_connection(struct db_postgres *p, const char *what, struct err *err)
{
	const char *text = PQerrorMessage(p->conn);
	enum rc rc;

	/* If the connection itself is sound, the wait has timed out. */
	p->silent = PQstatus(p->conn) == CONNECTION_OK;
	rc = err_set(err, RC_AWAY, "%s: the database does not answer: %.*s",
	    what, line(text), text);
	db_postgres_drop(p);
	return (rc);
}

/* ---- statements and their results ---- */

/* Waits until the socket is ready for ${events}; returns false on time-out. */
static bool
wait_socket(struct db_postgres *p, short events, int64_t until_ms)
{
	struct pollfd fd = {PQsocket(p->conn), events, 0};
	int64_t left;

	for (;;) {
		left = until_ms - clk_mono_ms(clk_system());
		if (left <= 0)
			return (false);
		if (poll(&fd, 1, (int)left) > 0)
			return (true);
	}
}

/* Sends what libpq has buffered; returns false if the connection fails or the
 * time is up. */
static bool
send_all(struct db_postgres *p, int64_t until_ms)
{
	int left;

	while ((left = PQflush(p->conn)) > 0) {
		if (!wait_socket(p, POLLIN | POLLOUT, until_ms) ||
		    PQconsumeInput(p->conn) == 0)
			return (false);
	}
	return (left == 0);
}

/* Returns the next result in *ret, which the caller clears, or NULL at the end
 * of a statement's results.  Returns false, and does not set *ret, if the
 * connection fails or the time is up. */
static bool
next_result(struct db_postgres *p, int64_t until_ms, PGresult **ret)
{

	while (PQisBusy(p->conn)) {
		if (!wait_socket(p, POLLIN, until_ms) ||
		    PQconsumeInput(p->conn) == 0)
			return (false);
	}
	*ret = PQgetResult(p->conn);
	return (true);
}

/* Sends the rest of the statement that libpq has accepted, and returns its last
 * result, which the caller clears; NULL: the connection failed or the time is
 * up. */
static PGresult *
await(struct db_postgres *p, int64_t until_ms)
{
	PGresult *result, *next;

	if (!send_all(p, until_ms))
		return (NULL);
	for (result = NULL;; result = next) {
		if (!next_result(p, until_ms, &next)) {
			PQclear(result);
			return (NULL);
		}
		if (next == NULL)
			return (result);
		PQclear(result);
	}
}

/* Passes ${result} on in *ret; an error is stored in ${err} and cleared. */
static enum rc
judge(struct db_postgres *p, PGresult *result, const char *what, PGresult **ret,
    struct err *err)
{
	ExecStatusType status = PQresultStatus(result);
	enum rc rc;

	if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK) {
		*ret = result;
		return (RC_OK);
	}
	rc = status == PGRES_PIPELINE_ABORTED
		 ? RC_CONFLICT
		 : fail_result(p, result, what, err);
	PQclear(result);
	return (rc);
}

enum rc
db_postgres_await_result(struct db_postgres *p, bool sent, const char *what,
    PGresult **ret, struct err *err)
{
	const int64_t until = clk_mono_ms(clk_system()) + p->patience_ms;
	PGresult *result = sent ? await(p, until) : NULL;

	*ret = NULL;
	/* libpq has not accepted the statement on a sound connection, so it had
	 * no memory.  Part of the statement may be in its buffer and would be
	 * sent with the next statement, which would then get the wrong result;
	 * so the connection is closed. */
	if (!sent && PQstatus(p->conn) == CONNECTION_OK) {
		(void)err_set(err, RC_NO_MEMORY, "%s: %.*s", what,
		    line(PQerrorMessage(p->conn)), PQerrorMessage(p->conn));
		db_postgres_drop(p);
		return (RC_NO_MEMORY);
	}
	if (result == NULL)
		return (fail_connection(p, what, err));
	return (judge(p, result, what, ret, err));
}

enum rc
db_postgres_pipeline_result(struct db_postgres *p, int64_t until_ms,
    const char *what, PGresult **ret, struct err *err)
{
	PGresult *result;

	*ret = NULL;
	result = await(p, until_ms);
	if (result == NULL)
		return (fail_connection(p, what, err));
	return (judge(p, result, what, ret, err));
}

bool
db_postgres_pipeline_end(struct db_postgres *p, int64_t until_ms)
{
	PGresult *result;
	bool synced;

	if (!send_all(p, until_ms) || !next_result(p, until_ms, &result))
		return (false);
	synced = PQresultStatus(result) == PGRES_PIPELINE_SYNC;
	PQclear(result);
	return (synced && PQexitPipelineMode(p->conn) == 1);
}

enum rc
db_postgres_exec(
    struct db_postgres *p, const char *sql, PGresult **ret, struct err *err)
{
	PGresult *result;
	enum rc rc;

	rc = db_postgres_pipeline_flush_before(p, err);
	if (rc != RC_OK)
		return (rc);
	if (p->conn == NULL)
		return (err_set(err, RC_AWAY, "the database is away"));
	rc = db_postgres_await_result(
	    p, PQsendQuery(p->conn, sql) == 1, sql, &result, err);
	if (rc == RC_OK && ret != NULL)
		*ret = result;
	else
		PQclear(result);
	return (rc);
}

enum rc
db_postgres_query_i64(
    struct db_postgres *p, const char *sql, int64_t *ret, struct err *err)
{
	PGresult *result;
	enum rc rc;

	rc = db_postgres_exec(p, sql, &result, err);
	if (rc != RC_OK)
		return (rc);
	*ret = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
	PQclear(result);
	return (RC_OK);
}

enum rc
db_postgres_exec_texts(struct db_postgres *p, const char *sql,
    const char *const texts[], int n, struct err *err)
{
	PGresult *result;
	enum rc rc;
	int sent;

	rc = db_postgres_pipeline_flush_before(p, err);
	if (rc != RC_OK)
		return (rc);
	sent = PQsendQueryParams(p->conn, sql, n, NULL, texts, NULL, NULL, 1);
	rc = db_postgres_await_result(p, sent == 1, sql, &result, err);
	PQclear(result);
	return (rc);
}

void
db_postgres_drop(struct db_postgres *p)
{
	int i;

	PQfinish(p->conn);
	p->conn = NULL;
	p->listens = false;
	p->npipeline = 0;
	for (i = 0; i < p->db.schema->nstatements; i++)
		p->stmts[i].parsed = p->stmts[i].prepared = false;
}
