/* SPDX-License-Identifier: MIT */
/*
 * Prepares every statement on a new database, and checks its parameters and
 * columns against the declarations.  Reads the plans of all of them: none may
 * scan a table or the inbox of a user, except those that this file names with a
 * reason.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contract/rig.h"
#include "schema/sql.h"
#include "upkeep/copy.h"

/* Returns true if a parameter of the statement limits the rows that it reads:
 * LIMIT $1. */
static bool
is_bounded(const char *name)
{
	const struct sql_text *st = sql_sqlite_schema.statements;
	int i;

	for (i = 0; i < SQL_STMT_COUNT; i++)
		if (strcmp(st[i].name, name) == 0)
			return (strstr(st[i].text, "LIMIT $1") != NULL);
	return (false);
}

/* The queries for operators read rare rows, or the first waiting ones: along a
 * partial index, and no further than their parameter says. */
static bool
admin_may_scan(const char *name, const char *line)
{
	static const char *const small[] = {"outbox_scheduled",
	    "outbox_pending", "outbox_expiry", "lanes_ready", "lanes_leased",
	    "dead_waiting"};
	size_t i;

	if (!is_bounded(name))
		return (false);
	for (i = 0; i < sizeof(small) / sizeof(small[0]); i++)
		if (strstr(line, small[i]) != NULL)
			return (true);
	/* The rows that those have found. */
	return (strcmp(line, "SCAN w") == 0 ||
		strcmp(line, "SCAN (subquery-1)") == 0);
}

static bool
may_scan(const char *name, const char *line)
{

	/* fsck and copy read everything. */
	if (strncmp(name, "check_", 6) == 0 || strncmp(name, "copy_", 5) == 0)
		return (true);
	if (strncmp(name, "inspect_", 8) == 0)
		return (admin_may_scan(name, line));
	/* Any user: the first row ends it. */
	if (strcmp(name, "user_any") == 0 ||
	    strcmp(name, "preflight_content") == 0)
		return (true);
	/* All users, when an operator takes the rights of the only
	 * administrator: 10 ms for 100,000 users.  This is too rare for an
	 * index, which each registration would have to write. */
	if (strcmp(name, "admin_other") == 0)
		return (strcmp(line, "SCAN users") == 0);
	/* No table. */
	if (strcmp(line, "SCAN CONSTANT ROW") == 0)
		return (true);
	/* A full count at the start, over the index of waiting rows. */
	if (strcmp(name, "outbox_pending_count") == 0)
		return (strstr(line, "outbox_pending") != NULL);
	/* The least of a partial index: one step. */
	if (strcmp(name, "outbox_next_scheduled") == 0)
		return (strstr(line, "outbox_scheduled") != NULL);
	if (strcmp(name, "lanes_lease_next") == 0)
		return (strstr(line, "lanes_leased") != NULL);
	/* Tables with few rows. */
	if (strcmp(name, "nodes_alive") == 0)
		return (strcmp(line, "SCAN nodes") == 0);
	if (strcmp(name, "nodes_left") == 0)
		return (strcmp(line, "SCAN n") == 0);
	if (strncmp(name, "server_keys_", 12) == 0)
		return (true);
	/* The waiting rows, counted by sender at the start. */
	if (strncmp(name, "outbox_waiting_", 15) == 0)
		return (true);
	/* The last row of a table: one step; then the ids after it. */
	if (strcmp(name, "message_last_id") == 0 ||
	    strcmp(name, "message_ids") == 0 ||
	    strcmp(name, "outbox_ids") == 0 ||
	    strcmp(name, "preflight_last_id") == 0 ||
	    strcmp(name, "outbox_last_id") == 0)
		return (true);
	/* The rows of its two parts, each of which uses an index. */
	if (strcmp(name, "lanes_ready") == 0)
		return (strncmp(line, "SCAN (subquery-", 15) == 0);
	/* The lanes or destinations that the recursion has found. */
	if (strcmp(name, "lanes_pending") == 0 ||
	    strcmp(name, "destinations_ready") == 0)
		return (strcmp(line, "SCAN w") == 0);
	/* Each walk of the gauges has a limit (LIMIT).  The known servers are
	 * as many rows as there are names. */
	if (strcmp(name, "gauges_destinations") == 0)
		return (strcmp(line, "SCAN d") == 0);
	if (strncmp(name, "gauges_", 7) == 0)
		return (strcmp(line, "SCAN w") == 0 ||
			strncmp(line, "SCAN (subquery-", 15) == 0 ||
			strstr(line, " USING INDEX ") != NULL ||
			strstr(line, " USING COVERING INDEX ") != NULL);
	/* The keys of one peer: at most STORE_PEER_KEYS_ALL, and the new
	 * ones. */
	if (strcmp(name, "peer_keys_trim") == 0)
		return (strncmp(line, "USE TEMP B-TREE", 15) == 0);
	/* The caller's own conversations, which an index finds, sorted by the
	 * time of their last messages; and the page of them. */
	if (strcmp(name, "conversation_recent") == 0)
		return (strcmp(line, "SCAN r") == 0 ||
			strcmp(line, "SCAN g") == 0 ||
			strcmp(line, "USE TEMP B-TREE FOR ORDER BY") == 0);
	/* The subquery's few rows with unread messages. */
	if (strcmp(name, "unread_list") == 0)
		return (strstr(line, "SCAN u") != NULL);
	return (false);
}

/* Returns true if ${line} reads all rows of a user's inbox, by the first column
 * of its key only.  The statements named here read the last number of an inbox,
 * which is one step. */
static bool
walks_inbox(const char *name, const char *line)
{
	static const char *const last[] = {"counter_get", "inbox_heads",
	    "lock_counters", "lock_inboxes", "lock_inboxes_nowait",
	    "lock_inboxes_skip"};
	size_t i;

	if (strstr(line, "USING PRIMARY KEY (user_id=?)") == NULL ||
	    may_scan(name, line))
		return (false);
	for (i = 0; i < sizeof(last) / sizeof(last[0]); i++)
		if (strcmp(name, last[i]) == 0)
			return (false);
	return (true);
}

/* Returns the line of ${plan} (which is cut into lines) for which this file has
 * no reason, or NULL. */
static const char *
bad_line(const char *name, char *plan)
{
	char *line, *save;

	for (line = strtok_r(plan, "\n", &save); line != NULL;
	     line = strtok_r(NULL, "\n", &save)) {
		if (strncmp(line, "SCAN", 4) == 0 && !may_scan(name, line))
			return (line);
		if (strstr(line, "USE TEMP B-TREE") != NULL &&
		    !may_scan(name, line))
			return (line);
		if (walks_inbox(name, line))
			return (line);
	}
	return (NULL);
}

static void
test_every_statement(void **state)
{
	struct err err = ERR_INIT;
	struct db_description is;
	char plan[4096];
	const char *line;
	struct rig r;
	int i;

	(void)state;
	rig_open(&r);
	assert_true(SQL_STMT_COUNT > 30);
	for (i = 0; i < SQL_STMT_COUNT; i++) {
		if (db_describe(r.db, i, &is, plan, sizeof(plan), &err) !=
		    RC_OK)
			fail_msg("%s: %s", sql_sqlite_schema.statements[i].name,
			    err.text);
		if (is.nparams != sql_shapes[i].nparams)
			fail_msg("%s: %d parameters, not (%s)",
			    sql_sqlite[i].name, is.nparams,
			    sql_shapes[i].params);
		if (strcmp(is.columns, sql_shapes[i].columns) != 0)
			fail_msg("%s: columns %s, not %s", sql_sqlite[i].name,
			    is.columns, sql_shapes[i].columns);
		line = bad_line(sql_sqlite_schema.statements[i].name, plan);
		if (line != NULL)
			fail_msg("%s: %s", sql_sqlite_schema.statements[i].name,
			    line);
	}
	print_message("# ok - %d statements, their plans read\n", i);
	rig_close(&r);
}

/* One C function fills the parameters of each group, with the struct of the
 * first statement. */
static void
test_same_parameters(void **state)
{
	static const int groups[][20] = {{SQL_META_GET, SQL_META_LOCK},
	    {SQL_META_SET, SQL_META_MAKE}, {SQL_OUTBOX_IDS, SQL_MESSAGE_IDS},
	    {SQL_HISTORY_BEFORE, SQL_HISTORY_AFTER},
	    {SQL_LOCK_CONVERSATIONS, SQL_LOCK_FIND},
	    {SQL_INSPECT_DEAD_LETTER_WALK, SQL_INSPECT_DEAD_LETTER_OPEN},
	    {SQL_INSPECT_BACKLOG_LOCAL, SQL_INSPECT_BACKLOG_REMOTE},
	    {SQL_INSPECT_SET_SENDING, SQL_INSPECT_SET_RETRYING},
	    {SQL_INSPECT_SET_SCHEDULED, SQL_INSPECT_SET_PENDING_LOCAL,
		SQL_INSPECT_SET_PENDING_REMOTE},
	    {SQL_PURGE_OUTBOX_LOOK, SQL_PURGE_ATTEMPT_LOOK,
		SQL_PURGE_AUDIT_LOOK},
	    {SQL_PURGE_OUTBOX, SQL_PURGE_ATTEMPT, SQL_PURGE_DEAD,
		SQL_PURGE_AUDIT, SQL_PURGE_PEER_KEYS, SQL_PURGE_PEER,
		SQL_PURGE_DESTINATION},
	    {SQL_PURGE_DEAD_LOOK, SQL_PURGE_NONCE_LOOK},
	    {SQL_SCRUB_MESSAGES, SQL_SCRUB_OUTBOX, SQL_SCRUB_LANES,
		SQL_SCRUB_USERS, SQL_SCRUB_DEVICES, SQL_SCRUB_INBOXES,
		SQL_SCRUB_CONVERSATIONS, SQL_SCRUB_DESTINATIONS,
		SQL_SCRUB_ATTEMPTS, SQL_SCRUB_DEAD, SQL_SCRUB_AUDIT,
		SQL_SCRUB_TOTALS, SQL_SCRUB_META, SQL_SCRUB_NODES,
		SQL_SCRUB_SERVER_KEYS, SQL_SCRUB_PEERS},
	    {SQL_SCRUB_CHAIN, SQL_SCRUB_INBOX, SQL_SCRUB_PARTICIPANTS,
		SQL_SCRUB_PROCESSED, SQL_SCRUB_FEDERATION_LANES}};
	size_t i, k;

	(void)state;
	for (i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		for (k = 1; groups[i][k] != 0; k++)
			assert_string_equal(sql_shapes[groups[i][0]].params,
			    sql_shapes[groups[i][k]].params);
	assert_string_equal(sql_shapes[SQL_TOTALS_ADD].params,
	    sql_shapes[SQL_TOTALS_GET].columns);
}

/* The columns that are read from a copied table are the columns that are
 * written. */
static void
test_copied_columns(void **state)
{
	static const struct {
		int get, put;
	} tables[] = {
#define X(id, name, columns) {SQL_COPY_##id##_GET, SQL_COPY_##id##_PUT},
	    STORE_COPY_TABLE(X)
#undef X
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		assert_string_equal(sql_shapes[tables[i].get].columns,
		    sql_shapes[tables[i].put].params);
}

/* The check of plans finds these, in the planner's own words. */
static void
test_bad_plans(void **state)
{
	static const struct {
		const char *sql;
		const char *line; /* the beginning; NULL: the plan is good */
	} table[] = {
	    {"SELECT mid FROM messages WHERE message_id = x'00'", NULL},
	    {"SELECT body FROM messages WHERE created_at = 1", "SCAN messages"},
	    {"SELECT id FROM outbox WHERE last_error = 'x'", "SCAN outbox"},
	    {"SELECT seq FROM inbox WHERE event_id = x'00' ORDER BY mid",
		"USE TEMP B-TREE FOR ORDER BY"},
	};
	char plan[4096], sql[256];
	const char *line;
	sqlite3_stmt *st;
	struct rig r;
	size_t i, n;

	(void)state;
	rig_open(&r);
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		(void)snprintf(
		    sql, sizeof(sql), "EXPLAIN QUERY PLAN %s", table[i].sql);
		assert_int_equal(
		    sqlite3_prepare_v2(r.look, sql, -1, &st, NULL), SQLITE_OK);
		for (n = 0; sqlite3_step(st) == SQLITE_ROW;)
			n += (size_t)snprintf(plan + n, sizeof(plan) - n,
			    "%s\n", (const char *)sqlite3_column_text(st, 3));
		(void)sqlite3_finalize(st);
		line = bad_line("any", plan);
		if (table[i].line == NULL)
			assert_null(line);
		else
			assert_memory_equal(
			    line, table[i].line, strlen(table[i].line));
	}
	rig_close(&r);
}

/* R295 R336 R380: the database itself refuses changes of protected columns. */
static void
test_immutable(void **state)
{
	sqlite3 *db;
	struct rig r;
	int64_t alice;

	(void)state;
	rig_open(&r);
	alice = rig_user(&r, "alice", NULL);
	(void)rig_user(&r, "bob", NULL);
	(void)rig_send(&r, alice, "bob", "hello", NULL);
	assert_int_equal(sqlite3_open(r.path, &db), SQLITE_OK);
	assert_int_equal(
	    sqlite3_exec(db, "UPDATE outbox SET event_time=1", 0, 0, 0),
	    SQLITE_CONSTRAINT);
	assert_int_equal(
	    sqlite3_exec(db, "UPDATE outbox SET created_at=1", 0, 0, 0),
	    SQLITE_CONSTRAINT);
	assert_int_equal(
	    sqlite3_exec(db, "UPDATE messages SET event_time=1", 0, 0, 0),
	    SQLITE_CONSTRAINT);
	assert_int_equal(
	    sqlite3_exec(db, "UPDATE outbox SET state='lost'", 0, 0, 0),
	    SQLITE_CONSTRAINT);
	(void)sqlite3_close(db);
	rig_close(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_every_statement),
	    cmocka_unit_test(test_same_parameters),
	    cmocka_unit_test(test_copied_columns),
	    cmocka_unit_test(test_bad_plans),
	    cmocka_unit_test(test_immutable),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
