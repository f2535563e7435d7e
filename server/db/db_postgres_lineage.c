/* SPDX-License-Identifier: MIT */
/*
 * The lineage (struct db_lineage), which is the history that the database of a
 * connection continues, and the query for commits that wait for a standby.
 *
 * The name of a lineage consists of the system identifier that initdb chose,
 * the number (oid) of the database, and the timeline.  A copy that was restored
 * from a dump has another identifier or another oid.  A promotion and a restore
 * to a point in time change the timeline.  A server that is not a standby keeps
 * all three as long as it runs, so one query for each connection is enough.
 */
#include <stdio.h>
#include <stdlib.h>

#include "db/db_postgres_internal.h"

/* The query takes the timeline from the name of the write-ahead log file that
 * is written now.  pg_control_checkpoint() would return the timeline of the
 * last checkpoint, which may be an older timeline. */
static const char lineage_sql[] =
    "SELECT name, hashtextextended(name, 0)::text, standbys, waits FROM "
    "(SELECT (SELECT system_identifier FROM pg_control_system()) || '/' || "
    "(SELECT oid FROM pg_database WHERE datname = current_database()) || '/' || "
    "CASE WHEN pg_is_in_recovery() THEN NULL ELSE ('x' || "
    "substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))"
    "::bit(32)::bigint END AS name, "
    "current_setting('synchronous_standby_names') <> '' AS standbys, "
    "current_setting('synchronous_commit') IN ('on', 'remote_apply') AS waits) "
    "AS here";

static bool
is_true(const PGresult *result, int column)
{

	return (PQgetvalue(result, 0, column)[0] == 't');
}

enum rc
db_postgres_lineage_get(struct db *db, struct db_lineage *ret, struct err *err)
{
	struct db_postgres *p = db_postgres_of(db);
	PGresult *result;
	enum rc rc;

	rc = db_postgres_exec(p, lineage_sql, &result, err);
	if (rc != RC_OK)
		return (rc);
	if (PQntuples(result) != 1 || PQgetisnull(result, 0, 0) != 0) {
		PQclear(result);
		return (err_set(err, RC_AWAY, "the database is a standby"));
	}
	(void)snprintf(
	    ret->name, sizeof(ret->name), "%s", PQgetvalue(result, 0, 0));
	ret->id = strtoll(PQgetvalue(result, 0, 1), NULL, 10);
	if (ret->id == 0 || ret->id == DB_LINEAGE_NOWHERE)
		ret->id = 1;
	ret->standbys = is_true(result, 2);
	ret->waits = ret->standbys && is_true(result, 3);
	PQclear(result);
	p->lineage = ret->id;
	p->standbys = ret->waits;
	return (RC_OK);
}

bool
db_postgres_lineage_kept(const struct db_postgres *p)
{
	int64_t wanted;

	if (p->db.lineage == NULL)
		return (true);
	wanted = atomic_load(p->db.lineage);
	return (wanted == 0 || wanted == p->lineage);
}

enum rc
db_postgres_lineage_check(struct db_postgres *p, struct err *err)
{
	struct db_lineage lineage;
	enum rc rc;

	if (p->db.lineage == NULL)
		return (RC_OK);
	rc = db_postgres_lineage_get(&p->db, &lineage, err);
	if (rc != RC_OK || db_postgres_lineage_kept(p))
		return (rc);
	/* The next attempt to connect follows after the shortest pause
	 * (db_retry_first), because the module cluster/ decides soon whether
	 * this node accepts the new lineage. */
	p->backoff_ms = 0;
	return (err_set(err, RC_AWAY,
	    "the database goes on in another lineage, which was not checked "
	    "yet"));
}

/* ---- standbys that do not confirm ---- */

/* A commit for which a node has stopped waiting (db_answer of base/timing.h)
 * continues to wait for its standby at the server and keeps its locks.  Other
 * transactions then fail because of these locks, and their errors do not name
 * the standby.  This query returns whether any commit in this database waits
 * for a standby now, be it such a commit or one that waits only for a
 * moment. */
static const char standby_sql[] =
    "SELECT EXISTS (SELECT 1 FROM pg_stat_activity "
    "WHERE datname = current_database() AND wait_event = 'SyncRep')";

enum rc
db_postgres_waits_for_standby(struct db *db, bool *ret, struct err *err)
{
	struct db_postgres *p = db_postgres_of(db);
	PGresult *result;
	enum rc rc;

	rc = db_postgres_connect(p, err);
	if (rc == RC_OK)
		rc = db_postgres_exec(p, standby_sql, &result, err);
	if (rc != RC_OK)
		return (rc);
	*ret = is_true(result, 0);
	PQclear(result);
	return (RC_OK);
}
