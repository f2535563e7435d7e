/* SPDX-License-Identifier: MIT */
/*
 * Detects a connection pooler between a node and PostgreSQL.
 *
 * A pooler answers the start of a connection itself and makes up the process id
 * in that answer, so PQbackendPID() differs from pg_backend_pid().  In session
 * mode it then keeps one server session for each of our connections, which is
 * all that a node needs.  In transaction mode a server session serves different
 * clients from one transaction to the next, so that one client meets the
 * prepared statements, LISTEN and settings of another.  Such a pooler is
 * refused before anything is set in a session that other clients get.
 *
 * The check distinguishes the two modes with two connections.  In session mode
 * each connection reports the same server process every time, and never the
 * process of the other connection.  An idle pool in transaction mode gives the
 * same process to both connections, one after the other.  In a busy pool the
 * process of a connection changes: each round opens a transaction on the first
 * connection, so that the second connection must get another process, and then
 * ends the transaction, which returns the first process to the pool.
 */
#include "db/db_postgres_internal.h"

/* The number of rounds.  One round may find nothing by chance. */
#define ROUNDS 8

/* The server process that serves the connection at this moment. */
static const char process_sql[] = "SELECT pg_backend_pid()";

/* Queries the server process that serves ${p} now.  *was is the process that
 * the previous call for ${p} has found (0: none yet), and is updated.
 * *ret_moved is set to true if the process has changed, and else stays as it
 * is. */
static enum rc
check_moved(
    struct db_postgres *p, int64_t *was, bool *ret_moved, struct err *err)
{
	int64_t now;
	enum rc rc;

	rc = db_postgres_query_i64(p, process_sql, &now, err);
	if (rc != RC_OK)
		return (rc);
	*ret_moved = *ret_moved || (*was != 0 && *was != now);
	*was = now;
	return (RC_OK);
}

/* Runs one round; *ret_shared is set if the pooler shares sessions between
 * clients. */
static enum rc
run_round(struct db_postgres *p, struct db_postgres *other, int64_t seen[2],
    bool *ret_shared, struct err *err)
{
	enum rc rc;

	if ((rc = check_moved(p, &seen[0], ret_shared, err)) != RC_OK ||
	    (rc = check_moved(other, &seen[1], ret_shared, err)) != RC_OK)
		return (rc);
	*ret_shared = *ret_shared || seen[0] == seen[1];
	if (*ret_shared)
		return (RC_OK);
	if ((rc = db_postgres_exec(p, "BEGIN", NULL, err)) == RC_OK &&
	    (rc = check_moved(p, &seen[0], ret_shared, err)) == RC_OK)
		rc = check_moved(other, &seen[1], ret_shared, err);
	if (rc == RC_OK)
		rc = db_postgres_exec(p, "ROLLBACK", NULL, err);
	return (rc);
}

/* Runs the rounds on ${p} and on a second connection. */
static enum rc
are_shared(struct db_postgres *p, bool *ret, struct err *err)
{
	const struct db_options options = {.url = p->url,
	    .mode = p->db.mode,
	    .schema = p->db.schema,
	    .timing = p->timing};
	int64_t seen[2] = {0, 0};
	struct db_postgres *other;
	enum rc rc;
	int i;

	if ((other = db_postgres_new(&options)) == NULL)
		return (err_set(err, RC_NO_MEMORY, "db: pooler"));
	rc = db_postgres_connect_bare(other, err);
	for (i = 0; rc == RC_OK && i < ROUNDS && !*ret; i++)
		rc = run_round(p, other, seen, ret, err);
	db_close(&other->db);
	return (rc);
}

enum rc
db_postgres_pooler_check(struct db_postgres *p, struct err *err)
{
	bool shared = false;
	int64_t process;
	enum rc rc;

	rc = db_postgres_query_i64(p, process_sql, &process, err);
	if (rc != RC_OK || process == PQbackendPID(p->conn) ||
	    p->session_pooler)
		return (rc);
	rc = are_shared(p, &shared, err);
	if (rc == RC_OK && shared)
		return (err_set(err, RC_INVALID,
		    "db: a connection pooler in transaction mode is between "
		    "twinbox and PostgreSQL: set pool_mode = session for this "
		    "database, or name the PostgreSQL server itself"));
	p->session_pooler = rc == RC_OK;
	return (rc);
}
