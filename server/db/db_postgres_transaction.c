/* SPDX-License-Identifier: MIT */
/*
 * PostgreSQL's transactions.
 *
 * Promises: a commit returns RC_UNCERTAIN (the answer to COMMIT was lost) or
 * RC_UNCONFIRMED (no standby has confirmed the commit, or the server warned
 * during it) if it may or may not be durable; after all other errors nothing is
 * committed.
 *
 * Relies on: synchronous_commit, which db_postgres_open.c enforces.
 */
#include <stdio.h>
#include <string.h>

#include "db/db_postgres_internal.h"

/* Sends the lock time-out to the server if it differs from the one that the
 * connection has: on a new connection, and after db_set_lock_timeout() has
 * changed it. */
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

/* Sends COMMIT together with the pipeline, if no check of a result is left:
 * such a check could fail after the commit.  Otherwise flushes the pipeline
 * first. */
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

/* Returns the error of a commit to which no answer came: RC_UNCONFIRMED or
 * RC_UNCERTAIN.  If the time-out has come on a connection without an error and
 * commits wait for standbys, the server is assumed to wait for a standby:
 * hardly anything else delays a commit until the time-out. */
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
	/* If the server reports an error and the connection lasts, the
	 * transaction certainly failed; if the connection is lost, the outcome
	 * is unknown. */
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

/* The server syncs during COMMIT, with one sync for all transactions that
 * commit at that time, so there is no early commit. */
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
	/* Nobody needs the results of the pipeline any more, and the arguments
	 * of its callbacks may be freed already. */
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
