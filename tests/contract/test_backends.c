/* SPDX-License-Identifier: MIT */
/*
 * Checks PostgreSQL's statements.  They have the parameters and columns that
 * they declare (the build compares the declarations with SQLite's, which
 * test_statements.c checks).  The driver knows their types.  Parameters are
 * arrays exactly where rows are sent together.  A statement locks rows exactly
 * where the writer must lock what it reads.  Plans use indexes, also on an
 * empty database, where the planner has no statistics.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contract/pg.h"
#include "schema/sql.h"
#include "store/rows.h"

static const char *
name_of(int stmt)
{

	return (sql_postgres[stmt].name);
}

static bool
begins(const char *text, const char *with)
{

	return (strncmp(text, with, strlen(with)) == 0);
}

/* ---- shape ---- */

/* Checks that statement ${stmt} takes and returns what it declares. */
static void
describe(struct db *db, int stmt, char *plan, size_t size)
{
	const struct sql_shape *declared = &sql_shapes[stmt];
	struct err err = ERR_INIT;
	struct db_description is;

	if (db_describe(db, stmt, &is, plan, size, &err) != RC_OK)
		fail_msg("%s: %s", name_of(stmt), err.text);
	if (is.nparams != declared->nparams)
		fail_msg("%s: %d parameters, not (%s)", name_of(stmt),
		    is.nparams, declared->params);
	if (strcmp(is.columns, declared->columns) != 0)
		fail_msg("%s: columns %s, not %s", name_of(stmt), is.columns,
		    declared->columns);
}

static void
test_declared_shape(void **state)
{
	struct db *writer, *reader;
	struct pg pg;
	int i;

	(void)state;
	pg_open(&pg);
	writer = pg_db(&pg, DB_WRITER, NULL);
	reader = pg_db(&pg, DB_READER, NULL);
	for (i = 0; i < SQL_STMT_COUNT; i++) {
		describe(writer, i, NULL, 0);
		describe(reader, i, NULL, 0);
	}
	print_message("# ok - %d statements have the declared shape\n", i);
	db_close(reader);
	db_close(writer);
	pg_close(&pg);
}

/* ---- types ---- */

/* Statements that run for many rows at once: those of store/rows.h, the
 * deletions of upkeep/purge_rows.c, the queries of cluster/node.c and
 * store/incoming.c, new people and conversations, the inserts of upkeep/copy.c,
 * and all of store/lock.c. */
static const int sets[] = {
#define X(id, columns) SQL_##id,
    STORE_ROWS_TABLE(X)
#undef X
	SQL_PURGE_OUTBOX,
    SQL_PURGE_ATTEMPTS_OF, SQL_PURGE_ATTEMPT, SQL_PURGE_PROCESSED,
    SQL_PURGE_DEAD, SQL_PURGE_AUDIT, SQL_PURGE_PEER_KEYS, SQL_PURGE_PEER,
    SQL_PURGE_DESTINATION, SQL_INBOX_HEADS, SQL_DEVICES_NOW, SQL_OUTBOX_CLAIM,
    SQL_PROCESSED_FIND, SQL_PROCESSED_INSERT, SQL_INCOMING_FIND,
    SQL_SEQUENCE_GET, SQL_SEQUENCE_SET, SQL_RECEIPT_TARGET, SQL_RECEIPT_ROWS,
    SQL_USER_REMOTE_INSERT, SQL_CONVERSATION_INSERT, SQL_PARTICIPANT_INSERT};

/* Returns true if ${stmt} inserts rows of a table that is copied.
 * "copy_numbers_put" sets sequences, not rows. */
static bool
is_copied_row(int stmt)
{
	const char *name = name_of(stmt);

	return (begins(name, "copy_") && stmt != SQL_COPY_NUMBERS_PUT &&
		strcmp(name + strlen(name) - 4, "_put") == 0);
}

static bool
is_set(int stmt)
{
	size_t i;

	for (i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		if (sets[i] == stmt)
			return (true);
	return ((begins(name_of(stmt), "lock_") && stmt != SQL_LOCK_DUE) ||
		is_copied_row(stmt));
}

/* int8, int4, int2, bool, text, varchar, bytea, uuid. */
static bool
is_plain(Oid type)
{

	return (type == 20 || type == 23 || type == 21 || type == 16 ||
		type == 25 || type == 1043 || type == 17 || type == 2950);
}

/* int8[], text[], bytea[], uuid[]. */
static bool
is_array(Oid type)
{

	return (type == 1016 || type == 1009 || type == 1001 || type == 2951);
}

/* Returns what is wrong with the types of the described statement, or NULL. */
static const char *
bad_types(const PGresult *d, bool set)
{
	int i;

	for (i = 0; i < PQnparams(d); i++)
		if (set ? !is_array(PQparamtype(d, i))
			: !is_plain(PQparamtype(d, i)))
			return (set ? "a parameter is not an array"
				    : "a parameter has an unknown type");
	for (i = 0; i < PQnfields(d); i++)
		if (!is_plain(PQftype(d, i)))
			return ("a column has an unknown type");
	return (NULL);
}

static const char *
bad_types_of(struct pg *pg, const char *sql, bool set)
{
	PGresult *d;
	const char *why;

	d = PQprepare(pg->conn, "", sql, 0, NULL);
	if (PQresultStatus(d) != PGRES_COMMAND_OK)
		fail_msg("%s: %s", sql, PQresultErrorMessage(d));
	PQclear(d);
	d = PQdescribePrepared(pg->conn, "");
	why = bad_types(d, set);
	PQclear(d);
	return (why);
}

static void
test_types(void **state)
{
	const char *why;
	struct pg pg;
	int i;

	(void)state;
	pg_open(&pg);
	for (i = 0; i < SQL_STMT_COUNT; i++) {
		why = bad_types_of(&pg, sql_postgres[i].text, is_set(i));
		if (why != NULL)
			fail_msg("%s: %s", name_of(i), why);
	}
	/* Statements that this check must refuse. */
	assert_non_null(
	    bad_types_of(&pg, "SELECT sum(mid) FROM messages", false));
	assert_non_null(bad_types_of(
	    &pg, "SELECT mid FROM messages WHERE mid < $1 + 0.5", false));
	assert_non_null(
	    bad_types_of(&pg, "SELECT 1 WHERE 1 = ANY ($1::bigint[])", false));
	assert_non_null(bad_types_of(&pg, "SELECT $1::bigint", true));
	pg_close(&pg);
}

/* ---- locks ---- */

/* The statements that read what the writer then changes must lock.  Lanes are
 * covered by the lock of their conversation. */
static void
test_locks(void **state)
{
	static const int locking[] = {SQL_CONVERSATION_BY_KEY,
	    SQL_CONVERSATION_BY_PUBLIC, SQL_CONVERSATION_BY_ID,
	    SQL_CONVERSATION_IF_FREE, SQL_LOCK_CONVERSATIONS, SQL_LOCK_DUE,
	    SQL_LOCK_INBOXES, SQL_LOCK_INBOXES_NOWAIT, SQL_LOCK_DEVICES,
	    SQL_LOCK_CONVERSATIONS_SKIP, SQL_LOCK_INBOXES_SKIP,
	    SQL_LOCK_DEVICES_SKIP, SQL_DEVICE_ACKED_GET, SQL_LANES_READY,
	    SQL_LANES_STALE};
	size_t k, n = sizeof(locking) / sizeof(locking[0]);
	int i;

	(void)state;
	for (i = 0; i < SQL_STMT_COUNT; i++) {
		assert_null(sql_sqlite[i].writer);
		for (k = 0; k < n && locking[k] != i; k++)
			;
		if ((sql_postgres[i].writer != NULL) != (k < n))
			fail_msg("%s: %s", name_of(i),
			    k < n ? "locks nothing" : "locks what it reads");
	}
}

/* ---- plans ---- */

static bool
is_named(const char *name, const char *const *names)
{

	for (; *names != NULL; names++)
		if (strcmp(*names, name) == 0)
			return (true);
	return (false);
}

/* Returns true if statement ${name} may read all rows of ${node}. */
static bool
may_walk(const char *name, const char *node)
{
	/* The first row ends it; or the table has one row for each node. */
	static const char *const one[] = {"user_any", "preflight_content",
	    "totals_get", "gauges_totals", NULL};
	/* All users, when an operator takes the rights of the only
	 * administrator: too rare for an index. */
	static const char *const seldom[] = {"admin_other", NULL};
	/* All waiting rows, at the start. */
	static const char *const start[] = {"outbox_pending_count",
	    "outbox_waiting_local", "outbox_waiting_remote", NULL};
	/* Partial indexes, which hold only rows that are under way or in
	 * trouble.  Where such an index can be large, a LIMIT ends the walk. */
	static const char *const small[] = {"outbox_scheduled",
	    "outbox_pending", "outbox_expiry", "outbox_sending",
	    "outbox_retrying", "lanes_ready", "lanes_leased", "dead_waiting",
	    "outbox_lanes_put_off", NULL};
	size_t i;

	if (begins(name, "check_") || begins(name, "copy_") ||
	    is_named(name, one) || is_named(name, seldom) ||
	    is_named(name, start))
		return (true);
	/* Tables with few rows. */
	if (strcmp(name, "nodes_alive") == 0 || strcmp(name, "nodes_left") == 0)
		return (strstr(node, " on nodes") != NULL);
	if (strcmp(name, "gauges_destinations") == 0)
		return (strstr(node, " on destinations") != NULL);
	if (strcmp(name, "server_keys_live") == 0 ||
	    strcmp(name, "server_keys_wipe") == 0)
		return (strstr(node, " on server_keys") != NULL);
	for (i = 0; small[i] != NULL; i++)
		if (strstr(node, small[i]) != NULL)
			return (true);
	return (false);
}

/* Returns true if ${line} of a plan is a node. */
static bool
is_node(const char *line)
{

	line += strspn(line, " ");
	return (begins(line, "->") || begins(line, "Index ") ||
		begins(line, "Seq ") || begins(line, "Bitmap "));
}

/* Returns true if the node at ${line} has a condition: a line "Index Cond"
 * before the next node. */
static bool
has_condition(const char *line)
{
	const char *next;

	for (;;) {
		next = strchr(line, '\n');
		if (next == NULL)
			return (false);
		line = next + 1;
		if (begins(line + strspn(line, " "), "Index Cond"))
			return (true);
		if (is_node(line))
			return (false);
	}
}

/* Returns true if ${node} sorts rows that were already found and are few. */
static bool
may_sort(const char *name, const char *node)
{
	/* The rows of one batch; the lanes or destinations of one walk; keys;
	 * the keys of one peer; the conversations of one person. */
	static const char *const few[] = {"message_insert", "lanes_pending",
	    "gauges_lanes_kept", "destinations_ready", "lock_names",
	    "server_keys_live", "peer_keys_trim", "conversation_recent", NULL};

	return (begins(node, "Sort") && is_named(name, few));
}

/* Returns the first node of ${plan} for which this file has no reason, or NULL.
 * Static storage. */
static const char *
bad_node(const char *name, const char *plan)
{
	static const char *const bad[] = {
	    "Seq Scan on ", "Sort", "Hash Join", "Merge Join", NULL};
	static const char *const index[] = {
	    "Index Scan ", "Index Only Scan ", "Bitmap Index Scan ", NULL};
	static char copy[160];
	const char *line, *node;
	size_t i;

	for (line = plan; line != NULL && *line != '\0';
	     line = strchr(line, '\n'), line += line != NULL) {
		node = line + strspn(line, " ->");
		(void)snprintf(
		    copy, sizeof(copy), "%.*s", (int)strcspn(node, "\n"), node);
		for (i = 0; bad[i] != NULL; i++)
			if (begins(node, bad[i]) && !begins(node, "Sort Key") &&
			    !may_sort(name, copy) && !may_walk(name, copy))
				return (copy);
		for (i = 0; index[i] != NULL; i++)
			if (begins(node, index[i]) && !has_condition(line) &&
			    !may_walk(name, copy))
				return (copy);
	}
	return (NULL);
}

static void
test_plans(void **state)
{
	static char plan[16384];
	const char *node;
	struct db *db;
	struct pg pg;
	int i;

	(void)state;
	pg_open(&pg);
	db = pg_db(&pg, DB_WRITER, NULL);
	for (i = 0; i < SQL_STMT_COUNT; i++) {
		describe(db, i, plan, sizeof(plan));
		node = bad_node(name_of(i), plan);
		if (node != NULL)
			fail_msg("%s: %s\n%s", name_of(i), node, plan);
	}
	print_message("# ok - %d statements, their plans read\n", i);
	db_close(db);
	pg_close(&pg);
}

/* A server on which all messages have arrived.  Its statistics say that the
 * indexes of waiting and ended rows are empty, so reading a whole index seems
 * to cost nothing.  When the messages to an unreachable server expire,
 * thousands of such rows come within minutes, before the next statistics. */
static void
test_plans_all_arrived(void **state)
{
	static char plan[16384];
	const char *node;
	struct db *db;
	struct pg pg;
	int i;

	(void)state;
	pg_open(&pg);
	pg_exec(&pg,
	    "INSERT INTO outbox (id, event_id, kind, mid, conversation_id, "
	    "conversation_seq, sender_id, lane_id, lane_seq, dest_kind, "
	    "dest_id, state, event_time, created_at, last_status_at) "
	    "SELECT i, gen_random_uuid(), 1, i, i % 500, i / 500, i % 100, "
	    "i % 500, i / 500, 'user', i % 100, 'acked', 1, 1, 1 "
	    "FROM generate_series(1, 20000) i; ANALYZE outbox");
	db = pg_db(&pg, DB_WRITER, NULL);
	for (i = 0; i < SQL_STMT_COUNT; i++) {
		describe(db, i, plan, sizeof(plan));
		node = bad_node(name_of(i), plan);
		if (node != NULL)
			fail_msg("%s: %s\n%s", name_of(i), node, plan);
	}
	db_close(db);
	pg_close(&pg);
}

/* The check of plans finds these, in the planner's own words. */
static void
test_bad_plans(void **state)
{
	static const struct {
		const char *sql;
		const char *node; /* the beginning; NULL: the plan is good */
	} table[] = {
	    {"SELECT mid FROM messages WHERE mid = 1", NULL},
	    {"SELECT max(mid) FROM messages", NULL},
	    {"SELECT body FROM messages WHERE created_at = 1",
		"Seq Scan on messages"},
	    {"SELECT mid FROM messages ORDER BY mid",
		"Index Only Scan using messages_pkey"},
	    {"SELECT o.id FROM outbox o WHERE mid = 1 ORDER BY id",
		"Index Scan using outbox_pkey"},
	    {"SELECT seq FROM inbox WHERE user_id = 1 ORDER BY mid", "Sort"},
	};
	char plan[4096], sql[256];
	const char *node;
	PGresult *result;
	struct pg pg;
	size_t i;
	int k;

	(void)state;
	pg_open(&pg);
	pg_exec(&pg, "SET enable_sort TO off; SET enable_seqscan TO off");
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		(void)snprintf(
		    sql, sizeof(sql), "EXPLAIN (COSTS OFF) %s", table[i].sql);
		result = PQexec(pg.conn, sql);
		assert_int_equal(PQresultStatus(result), PGRES_TUPLES_OK);
		for (plan[0] = '\0', k = 0; k < PQntuples(result); k++)
			(void)snprintf(plan + strlen(plan),
			    sizeof(plan) - strlen(plan), "%s\n",
			    PQgetvalue(result, k, 0));
		PQclear(result);
		node = bad_node("any", plan);
		if ((node == NULL) != (table[i].node == NULL) ||
		    (node != NULL && !begins(node, table[i].node)))
			fail_msg("%s: %s\n%s", table[i].sql,
			    node != NULL ? node : "nothing", plan);
	}
	pg_close(&pg);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_declared_shape),
	    cmocka_unit_test(test_types),
	    cmocka_unit_test(test_locks),
	    cmocka_unit_test(test_plans),
	    cmocka_unit_test(test_plans_all_arrived),
	    cmocka_unit_test(test_bad_plans),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
