/* SPDX-License-Identifier: MIT */
/*
 * PostgreSQL's transactions.
 *
 * Promises: a commit returns RC_UNCERTAIN (the answer to COMMIT was lost or did
 * not come in time) or RC_UNCONFIRMED (no standby has confirmed the commit in
 * time, or the server warned during it) if it may or may not be durable; after
 * all other errors nothing is committed.
 *
 * Relies on: a synchronous_commit other than off; db_postgres_open.c sets it to
 * on in a session in which it is off.
 */
#include <stdio.h>
#include <string.h>

#include "db/db_postgres_internal.h"

/* Sets the time-out of db_set_lock_timeout() in the session at the server,
 * unless the session has it already.  Does nothing if db_set_lock_timeout() was
 * never called: a new session has db_lock of base/timing.h. */
static enum rc
set_lock_timeout(struct db_postgres *p, struct err *err)
{
	const int64_t ms = p->db.lock_timeout_ms;
	char sql[64];
	enum rc rc;

	if (ms == 0 || ms == p->lock_timeout_ms)
		return (RC_OK);
	(void)snprintf(
	    sql, sizeof(sql), "SET lock_timeout TO %lld", (long long)ms);
	rc = db_postgres_exec(p, sql, NULL, err);
	if (rc == RC_OK)
		p->lock_timeout_ms = ms;
	return (rc);
}

/* BEGIN is only queued: it is sent with the first statement, which also takes
 * the snapshot of a reader. */
enum rc
db_postgres_begin(struct db *db, struct err *err)
{
	struct db_postgres *p = db_postgres_of(db);
	enum rc rc;

	p->retryable = false;
	rc = db_postgres_connect(p, err);
	if (rc == RC_OK)
		rc = set_lock_timeout(p, err);
	if (rc == RC_OK)
		rc = db_postgres_pipeline_add_text(p,
		    db->mode == DB_WRITER ? "BEGIN"
					  : "BEGIN ISOLATION LEVEL REPEATABLE "
					    "READ READ ONLY",
		    err);
	p->open = rc == RC_OK;
	return (rc);
}

bool
db_postgres_in_transaction(const struct db *db)
{
	const struct db_postgres *p = db_postgres_of_const(db);

	return (
	    p->conn != NULL && PQtransactionStatus(p->conn) != PQTRANS_IDLE);
}

/* Sends COMMIT in one round trip with the queued statements, if the server
 * alone detects all their errors (db_postgres_pipeline_only_inserts()).
 * Otherwise flushes the pipeline first, and sends COMMIT only if that succeeds:
 * a check of a result that fails after the commit would come too late.  *ret,
 * on success: the result of COMMIT, which the caller clears. */
static enum rc
commit_all(struct db_postgres *p, PGresult **ret, struct err *err)
{
	enum rc rc = RC_OK;

	if (!db_postgres_pipeline_only_inserts(p))
		rc = db_postgres_pipeline_flush(p, err);
	if (rc == RC_OK && p->conn == NULL)
		rc = err_set(err, RC_AWAY, "the database is away");
	if (rc != RC_OK)
		return (rc);
	p->committing = true;
	p->warned = false;
	rc = db_postgres_pipeline_add_text(p, "COMMIT", err);
	return (
	    rc == RC_OK ? db_postgres_pipeline_flush_last(p, ret, err) : rc);
}

/* Returns the error of a commit whose outcome is unknown.  RC_UNCONFIRMED: the
 * answer did not come in time, the connection had no error, and commits wait
 * for a standby; the server is assumed to wait for the standby, because hardly
 * anything else delays a commit until the time-out.  RC_UNCERTAIN: every other
 * case. */
static enum rc
lost_commit(const struct db_postgres *p, struct err *err)
{

	if (p->silent && p->standbys)
		return (err_set(err, RC_UNCONFIRMED,
		    "no standby has confirmed a commit in %lld ms",
		    (long long)p->patience_ms));
	return (
	    err_set(err, RC_UNCERTAIN, "the connection was lost in a commit"));
}

enum rc
db_postgres_commit(struct db *db, struct err *err)
{
	struct db_postgres *p = db_postgres_of(db);
	PGresult *result = NULL;
	bool refused;
	enum rc rc;

	p->open = false;
	p->retryable = false;
	p->committing = p->silent = false;
	rc = commit_all(p, &result, err);
	/* If the connection is lost after the sending of COMMIT has begun, the
	 * outcome is unknown.  If the connection is lost before, or lasts and
	 * the server reports an error, nothing is committed. */
	if (rc != RC_OK && p->conn == NULL && p->committing)
		return (lost_commit(p, err));
	if (rc != RC_OK)
		return (rc);
	refused = strcmp(PQcmdStatus(result), "COMMIT") != 0;
	PQclear(result);
	if (!refused && p->warned)
		return (err_set(err, RC_UNCONFIRMED,
		    "the server warned in a commit: a standby may lack it"));
	return (refused ? err_set(err, RC_INTERNAL,
			      "a transaction had failed and was committed")
			: RC_OK);
}

/* As db_postgres_commit(): after RC_OK the commit is durable, so *ret_owed (the
 * commit still needs db_sync()) is always false.  PostgreSQL itself serves all
 * transactions that commit at the same time with one sync, so a commit before
 * its sync would gain nothing. */
enum rc
db_postgres_commit_early(struct db *db, bool *ret_owed, struct err *err)
{

	*ret_owed = false;
	return (db_postgres_commit(db, err));
}

enum rc
db_postgres_sync(struct db *db, struct err *err)
{

	(void)db;
	(void)err;
	return (RC_OK);
}

void
db_postgres_rollback(struct db *db)
{
	struct db_postgres *p = db_postgres_of(db);
	bool retryable = p->retryable;
	enum rc rc;
	int i;

	p->open = false;
	/* The queued statements are still sent, but their results are not
	 * checked or passed to callbacks: the caller needs no result after a
	 * rollback, and may have freed the callbacks' arguments. */
	for (i = 0; i < p->npipeline; i++) {
		p->pipeline[i].each = NULL;
		p->pipeline[i].exact = false;
	}
	rc = db_postgres_pipeline_flush(p, NULL);
	if (db_postgres_in_transaction(db))
		rc = db_postgres_exec(p, "ROLLBACK", NULL, NULL);
	if (rc != RC_OK && db_postgres_in_transaction(db))
		db_postgres_drop(p);
	p->retryable = retryable;
}

bool
db_postgres_retryable(const struct db *db)
{

	return (db_postgres_of_const(db)->retryable);
}
