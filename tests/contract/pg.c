/* SPDX-License-Identifier: MIT */
/*
 * Schemas for tests.  See pg.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "contract/pg.h"
#include "schema/sql.h"

#define VARIABLE "TWINBOX_TEST_POSTGRES"

/* Writes ${url} with the option that puts its connections into ${schema}. */
static void
url_in(const char *url, const char *schema, const char *more, char *ret,
    size_t size)
{
	int n;

	n = snprintf(ret, size, "%s%coptions=-csearch_path%%3D%s", url,
	    strchr(url, '?') != NULL ? '&' : '?', schema);
	assert_true(n > 0 && (size_t)n < size);
	for (; more != NULL && *more != '\0'; more++) {
		n += snprintf(ret + n, size - (size_t)n,
		    *more == ' ' || *more == '=' ? "%%%02X" : "%c", *more);
		assert_true((size_t)n < size);
	}
}

void
pg_open(struct pg *pg)
{
	static int made;
	const char *url = getenv(VARIABLE);
	struct err err = ERR_INIT;
	char sql[96];
	struct db *db;
	int from, to;

	if (url == NULL || url[0] == '\0') {
		print_message("# SKIP: " VARIABLE " names no database\n");
		skip();
	}
	(void)snprintf(pg->schema, sizeof(pg->schema), "twinbox_test_%ld_%d",
	    (long)getpid(), ++made);
	url_in(url, pg->schema, NULL, pg->url, sizeof(pg->url));
	pg->conn = PQconnectdb(pg->url);
	if (PQstatus(pg->conn) != CONNECTION_OK)
		fail_msg("%s: %s", VARIABLE, PQerrorMessage(pg->conn));
	(void)snprintf(sql, sizeof(sql), "CREATE SCHEMA %s", pg->schema);
	pg_exec(pg, "SET client_min_messages TO warning");
	pg_exec(pg, sql);
	db = pg_db(pg, DB_WRITER, NULL);
	if (db_migrate(db, 1, &from, &to, &err) != RC_OK)
		fail_msg("%s", err.text);
	assert_int_equal(from, 0);
	assert_int_equal(to, sql_postgres_schema.nmigrations);
	db_close(db);
}

void
pg_close(struct pg *pg)
{
	char sql[96];

	(void)snprintf(sql, sizeof(sql), "DROP SCHEMA %s CASCADE", pg->schema);
	pg_exec(pg, sql);
	PQfinish(pg->conn);
}

static struct db *
open_db(const struct pg *pg, enum db_mode mode, const char *settings,
    const struct db_schema *schema)
{
	struct db_options options = {.mode = mode, .schema = schema};
	struct err err = ERR_INIT;
	char url[640];
	struct db *db;

	url_in(getenv(VARIABLE), pg->schema, settings, url, sizeof(url));
	options.url = url;
	if (db_open(&options, &db, &err) != RC_OK)
		fail_msg("%s", err.text);
	return (db);
}

struct db *
pg_db(const struct pg *pg, enum db_mode mode, const char *settings)
{

	return (open_db(pg, mode, settings, &sql_postgres_schema));
}

struct db *
pg_db_with(const struct pg *pg, const struct db_schema *schema)
{

	return (open_db(pg, DB_WRITER, NULL, schema));
}

void
pg_exec(struct pg *pg, const char *sql)
{
	PGresult *result = PQexec(pg->conn, sql);
	ExecStatusType status = PQresultStatus(result);

	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
		fail_msg("%s: %s", sql, PQresultErrorMessage(result));
	PQclear(result);
}

const char *
pg_state(struct pg *pg, const char *sql)
{
	static char state[8];
	PGresult *result = PQexec(pg->conn, sql);
	const char *said = PQresultErrorField(result, PG_DIAG_SQLSTATE);

	(void)snprintf(state, sizeof(state), "%s", said != NULL ? said : "");
	PQclear(result);
	return (state);
}

int64_t
pg_number(struct pg *pg, const char *sql)
{
	PGresult *result = PQexec(pg->conn, sql);
	int64_t n = 0;

	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		fail_msg("%s: %s", sql, PQresultErrorMessage(result));
	if (PQntuples(result) > 0)
		n = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
	PQclear(result);
	return (n);
}

const char *
pg_text(struct pg *pg, const char *sql)
{
	static char text[4096];
	PGresult *result = PQexec(pg->conn, sql);

	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		fail_msg("%s: %s", sql, PQresultErrorMessage(result));
	assert_int_equal(PQntuples(result), 1);
	(void)snprintf(text, sizeof(text), "%s",
	    PQgetisnull(result, 0, 0) ? "(null)" : PQgetvalue(result, 0, 0));
	PQclear(result);
	return (text);
}

const char *
pg_list(struct pg *pg, const char *sql)
{
	static char text[4096];
	PGresult *result = PQexec(pg->conn, sql);
	size_t n = 0;
	int i;

	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		fail_msg("%s: %s", sql, PQresultErrorMessage(result));
	text[0] = '\0';
	for (i = 0; i < PQntuples(result) && n < sizeof(text); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s",
		    n > 0 ? " " : "", PQgetvalue(result, i, 0));
	PQclear(result);
	return (text);
}

size_t
pg_numbers(struct pg *pg, const char *sql, int64_t *ret, size_t max)
{
	PGresult *result = PQexec(pg->conn, sql);
	size_t i, n;

	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		fail_msg("%s: %s", sql, PQresultErrorMessage(result));
	n = (size_t)PQntuples(result);
	assert_true(n <= max);
	for (i = 0; i < n; i++)
		ret[i] = strtoll(PQgetvalue(result, (int)i, 0), NULL, 10);
	PQclear(result);
	return (n);
}

int64_t
pg_change(struct pg *pg, const char *sql)
{
	PGresult *result = PQexec(pg->conn, sql);
	int64_t n;

	if (PQresultStatus(result) != PGRES_COMMAND_OK &&
	    PQresultStatus(result) != PGRES_TUPLES_OK)
		fail_msg("%s: %s", sql, PQresultErrorMessage(result));
	n = strtoll(PQcmdTuples(result), NULL, 10);
	PQclear(result);
	return (n);
}

void
pg_two_open(struct pg_two *t)
{

	pg_open(&t->pg);
	t->a = pg_db(&t->pg, DB_WRITER, " -ctwinbox.node=7");
	t->b = pg_db(&t->pg, DB_WRITER, " -ctwinbox.node=8");
}

void
pg_two_close(struct pg_two *t)
{

	db_close(t->a);
	db_close(t->b);
	pg_close(&t->pg);
}
