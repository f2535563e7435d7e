/* SPDX-License-Identifier: MIT */
/*
 * Connections that PostgreSQL has ended, and a PostgreSQL that accepts none for
 * some time.  A new transaction does not fail because an idle connection has
 * ended.  It does not wait for the pause between attempts if other connections
 * work again.  Also the settings of each connection, so that no statement waits
 * for ever.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "contract/pg.h"

enum { WHO, LISTEN, SETTINGS, IMPATIENT, ROWS, STATEMENTS };

static const struct sql_text statements[] = {
    {"who", "SELECT pg_backend_pid()::bigint", NULL},
    {"listen", "LISTEN twinbox_test_told", NULL},
    {"settings",
	"SELECT string_agg(name || '=' || setting, ' ' ORDER BY name) "
	"FROM pg_settings WHERE name IN ('application_name', "
	"'default_transaction_isolation', 'default_transaction_read_only', "
	"'idle_in_transaction_session_timeout', 'lock_timeout', "
	"'statement_timeout', 'synchronous_commit', 'transaction_isolation')",
	NULL},
    {"impatient", "SET LOCAL idle_in_transaction_session_timeout TO 1", NULL},
    {"rows", "SELECT generate_series(1, $1::bigint)", NULL}};

static const struct db_schema schema = {
    .statements = statements, .nstatements = STATEMENTS};

static struct err err = ERR_INIT;

/* A role of its own, whose connections can be ended and forbidden.  The server
 * must let the role in without a password, as that of with-postgres does. */
struct guest {
	struct pg pg;
	char url[640];
};

/* Runs ${before}, the role's name and ${after} as one statement. */
static void
say(struct guest *g, const char *before, const char *after)
{
	char sql[256];

	(void)snprintf(sql, sizeof(sql), "%s%s%s", before, g->pg.schema, after);
	pg_exec(&g->pg, sql);
}

static void
open_guest(struct guest *g)
{

	pg_open(&g->pg);
	say(g, "CREATE ROLE ", " LOGIN");
	(void)snprintf(
	    g->url, sizeof(g->url), "%s&user=%s", g->pg.url, g->pg.schema);
	err = (struct err)ERR_INIT;
}

static void
close_guest(struct guest *g)
{

	say(g, "DROP ROLE ", "");
	pg_close(&g->pg);
}

static struct db *
connect_as(const struct guest *g, enum db_mode mode)
{
	const struct db_options options = {
	    .mode = mode, .schema = &schema, .url = g->url};
	struct db *db;

	must(db_open(&options, &db, &err));
	return (db);
}

/* Ends all connections of the role and waits until they are gone. */
static void
end_all(struct guest *g)
{
	const struct timespec moment = {0, 1000000};
	char sql[128];

	say(g,
	    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE "
	    "usename = '",
	    "'");
	(void)snprintf(sql, sizeof(sql),
	    "SELECT count(*) FROM pg_stat_activity WHERE usename = '%s'",
	    g->pg.schema);
	while (pg_number(&g->pg, sql) > 0)
		(void)nanosleep(&moment, NULL);
}

static enum rc
see(void *arg, const struct db_row *row, struct err *e)
{

	(void)e;
	*(int64_t *)arg = db_row_i64(row, 0);
	return (RC_OK);
}

/* Returns the process id that serves a transaction. */
static enum rc
who(struct db *db, int64_t *ret)
{
	enum rc rc = db_begin(db, &err);

	if (rc != RC_OK)
		return (rc);
	rc = db_run(db, WHO, NULL, 0, see, ret, NULL, &err);
	db_rollback(db);
	return (rc);
}

/* The connection ended while it was idle, as in a restart of PostgreSQL.  The
 * next transaction uses a new one. */
static void
test_left(void **state)
{
	struct db *reader, *writer;
	int64_t was, is;
	struct guest g;
	int i;

	(void)state;
	open_guest(&g);
	reader = connect_as(&g, DB_READER);
	writer = connect_as(&g, DB_WRITER);
	for (i = 0; i < 3; i++) {
		must(who(reader, &was));
		end_all(&g);
		must(who(reader, &is));
		assert_true(is != was);
		must(who(writer, &is));
	}
	db_close(reader);
	db_close(writer);
	close_guest(&g);
}

/* A statement outside of a transaction returns the end of the connection
 * once. */
static void
test_left_alone(void **state)
{
	struct guest g;
	struct db *db;
	int64_t is;

	(void)state;
	open_guest(&g);
	db = connect_as(&g, DB_READER);
	must(who(db, &is));
	end_all(&g);
	assert_int_equal(
	    db_run(db, WHO, NULL, 0, see, &is, NULL, &err), RC_AWAY);
	must(db_run(db, WHO, NULL, 0, see, &is, NULL, &err));
	assert_true(is > 0);
	db_close(db);
	close_guest(&g);
}

/* The result of reading ROWS. */
struct rows {
	int64_t n;    /* the rows are 1, 2, ... n */
	int64_t upto; /* the reader fails at this row */
};

static enum rc
count_row(void *arg, const struct db_row *row, struct err *e)
{
	struct rows *r = arg;

	assert_int_equal(db_row_i64(row, 0), ++r->n);
	return (r->n == r->upto ? err_set(e, RC_CORRUPT, "enough") : RC_OK);
}

static enum rc
read_rows(struct db *db, int64_t n, int64_t upto, struct rows *ret)
{
	const struct db_val v = db_v_i64(n);
	enum rc rc;

	*ret = (struct rows){0, upto};
	must(db_begin(db, &err));
	rc = db_run(db, ROWS, &v, 1, count_row, ret, NULL, &err);
	db_rollback(db);
	return (rc);
}

/* A reader without a time-out gets all rows, in portions, or stops at the row
 * that its callback refuses. */
static void
test_everything(void **state)
{
	static const int64_t counts[] = {0, 1, 499, 500, 501, 1000, 1700};
	struct guest g;
	struct rows r;
	struct db *db;
	size_t i;

	(void)state;
	open_guest(&g);
	db = connect_as(&g, DB_READER);
	must(db_allow_long_statements(db, &err));
	for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		must(read_rows(db, counts[i], -1, &r));
		assert_int_equal(r.n, counts[i]);
	}
	assert_int_equal(read_rows(db, 1700, 600, &r), RC_CORRUPT);
	assert_int_equal(r.n, 600);
	must(read_rows(db, 1, -1, &r));
	db_close(db);
	close_guest(&g);
}

/* An unrequested message of the server is not the end of the connection. */
static void
test_told(void **state)
{
	int64_t was, is;
	struct guest g;
	struct db *db;
	int i;

	(void)state;
	open_guest(&g);
	db = connect_as(&g, DB_READER);
	must(who(db, &was));
	must(db_run(db, LISTEN, NULL, 0, NULL, NULL, NULL, &err));
	for (i = 0; i < 20; i++) {
		pg_exec(&g.pg, "NOTIFY twinbox_test_told");
		must(who(db, &is));
		assert_int_equal(is, was);
	}
	db_close(db);
	close_guest(&g);
}

static void
test_pauses_end(void **state)
{
	struct db *a, *b, *fresh;
	struct guest g;
	int64_t pid;
	int i;

	(void)state;
	open_guest(&g);
	a = connect_as(&g, DB_READER);
	b = connect_as(&g, DB_WRITER);
	say(&g, "ALTER ROLE ", " NOLOGIN");
	end_all(&g);
	/* The pause grows with each failed attempt, here up to 400 ms. */
	for (i = 0; i < 3;) {
		assert_int_equal(who(b, &pid), RC_AWAY);
		i += strstr(err.text, "away") == NULL;
	}
	assert_int_equal(who(a, &pid), RC_AWAY);
	assert_int_equal(who(a, &pid), RC_AWAY);
	assert_non_null(strstr(err.text, "away"));
	say(&g, "ALTER ROLE ", " LOGIN");
	assert_int_equal(who(b, &pid), RC_AWAY);
	assert_non_null(strstr(err.text, "away"));
	fresh = connect_as(&g, DB_READER);
	must(who(a, &pid));
	must(who(b, &pid));
	db_close(fresh);
	db_close(a);
	db_close(b);
	close_guest(&g);
}

static void
hear(void *arg, const char *text)
{

	(void)snprintf(arg, 8, "%s", text);
}

/* A listener gets an error when its connection has ended, instead of waiting
 * for notifications that cannot come. */
static void
test_listener_is_told(void **state)
{
	char heard[8] = "";
	struct guest g;
	struct db *db;
	int64_t pid;

	(void)state;
	open_guest(&g);
	db = connect_as(&g, DB_WRITER);
	must(db_notification_listen(db, g.pg.schema, &err));
	end_all(&g);
	assert_int_equal(who(db, &pid), RC_AWAY);
	must(db_notification_listen(db, g.pg.schema, &err));
	must(db_notification_send(db, g.pg.schema, "hello", &err));
	must(db_notification_poll(db, hear, heard, &err));
	assert_string_equal(heard, "hello");
	db_close(db);
	close_guest(&g);
}

/* ---- settings of a connection ---- */

static enum rc
keep_text(void *arg, const struct db_row *row, struct err *e)
{
	size_t n;
	const char *text = db_row_text(row, 0, &n);

	(void)e;
	(void)snprintf(arg, 512, "%.*s", (int)n, text);
	return (RC_OK);
}

/* Checks the settings that the connection has in a transaction. */
static void
check_settings(struct db *db, const char *want)
{
	char got[512] = "";

	must(db_begin(db, &err));
	must(db_run(db, SETTINGS, NULL, 0, keep_text, got, NULL, &err));
	db_rollback(db);
	assert_string_equal(got, want);
}

#define TIMES                                                                  \
	"idle_in_transaction_session_timeout=10000 lock_timeout=5000 "         \
	"statement_timeout=10000 synchronous_commit=on "
#define SETTINGS_OF(mode, read_only, isolation)                                \
	"application_name=twinbox " mode                                       \
	" default_transaction_isolation=read committed "                       \
	"default_transaction_read_only=" read_only " " TIMES                   \
	"transaction_isolation=" isolation

/* The wait for a lock is limited to less than the time of a statement, and that
 * to less than the wait for its answer (15 s), whatever settings the role
 * has. */
static void
test_settings(void **state)
{
	static const char writers[] =
	    SETTINGS_OF("writer", "off", "read committed");
	static const char readers[] =
	    SETTINGS_OF("reader", "on", "repeatable read");
	static const char patient[] =
	    "application_name=twinbox reader "
	    "default_transaction_isolation=read committed "
	    "default_transaction_read_only=on "
	    "idle_in_transaction_session_timeout=0 lock_timeout=5000 "
	    "statement_timeout=0 synchronous_commit=on "
	    "transaction_isolation=repeatable read";
	static const char *const of_role[] = {" SET statement_timeout TO 0",
	    " SET lock_timeout TO 0",
	    " SET idle_in_transaction_session_timeout TO 0",
	    " SET synchronous_commit TO off",
	    " SET default_transaction_isolation TO serializable"};
	struct db *reader, *writer;
	struct guest g;
	size_t i;

	(void)state;
	open_guest(&g);
	reader = connect_as(&g, DB_READER);
	writer = connect_as(&g, DB_WRITER);
	check_settings(reader, readers);
	check_settings(writer, writers);
	for (i = 0; i < sizeof(of_role) / sizeof(of_role[0]); i++)
		say(&g, "ALTER ROLE ", of_role[i]);
	/* A new connection has the same settings. */
	end_all(&g);
	check_settings(reader, readers);
	check_settings(writer, writers);
	/* So it has after db_allow_long_statements(). */
	must(db_allow_long_statements(reader, &err));
	check_settings(reader, patient);
	end_all(&g);
	check_settings(reader, patient);
	db_close(reader);
	db_close(writer);
	close_guest(&g);
}

/* A transaction that stays idle for too long is lost.  The next one
 * succeeds. */
static void
test_idle(void **state)
{
	const struct timespec moment = {0, 1000000};
	struct guest g;
	struct db *db;
	int64_t pid;
	char sql[96];

	(void)state;
	open_guest(&g);
	db = connect_as(&g, DB_WRITER);
	must(db_begin(db, &err));
	must(db_run(db, WHO, NULL, 0, see, &pid, NULL, &err));
	must(db_run(db, IMPATIENT, NULL, 0, NULL, NULL, NULL, &err));
	(void)snprintf(sql, sizeof(sql),
	    "SELECT count(*) FROM pg_stat_activity WHERE pid = %lld",
	    (long long)pid);
	while (pg_number(&g.pg, sql) > 0)
		(void)nanosleep(&moment, NULL);
	assert_int_equal(
	    db_run(db, WHO, NULL, 0, see, &pid, NULL, &err), RC_AWAY);
	assert_false(db_retryable(db));
	db_rollback(db);
	must(who(db, &pid));
	db_close(db);
	close_guest(&g);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_left),
	    cmocka_unit_test(test_left_alone),
	    cmocka_unit_test(test_everything),
	    cmocka_unit_test(test_told),
	    cmocka_unit_test(test_pauses_end),
	    cmocka_unit_test(test_listener_is_told),
	    cmocka_unit_test(test_settings),
	    cmocka_unit_test(test_idle),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
