/* SPDX-License-Identifier: MIT */
/*
 * Every statement means the same on both databases.  It runs with the same
 * parameters, drawn at random, on the same rows.  It must return the same rows,
 * change the same number of them and leave the same tables, or be refused by
 * both databases.  Each statement must find a row at least once, because
 * otherwise nothing was compared.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "contract/draws.h"
#include "contract/twins.h"

/* The tries of a statement: the fewest, the fewest that find a row, and the
 * most.  Each try takes about ten round trips, which are slow when the
 * processors are busy.  Full runs try four times as often. */
#define TRIES 12
#define FINDS 6
#define TRIES_MOST 400

/* No result has more rows. */
#define RESULT_ROWS 512

static struct twins twins;
static int times = 1; /* the factor for TRIES and FINDS */

/* ---- known differences ---- */

/* Columns where SQLite has NULL and PostgreSQL the counter's 0, and columns
 * that only PostgreSQL keeps (a tail: test_postgres.c). */
static const struct {
	int stmt, column;
	bool skip;
} known[] = {{SQL_CONVERSATION_BY_KEY, COL_CONVERSATION_LAST_SEQ, false},
    {SQL_CONVERSATION_BY_PUBLIC, COL_CONVERSATION_LAST_SEQ, false},
    {SQL_CONVERSATION_BY_ID, COL_CONVERSATION_LAST_SEQ, false},
    {SQL_CONVERSATION_LIST, COL_CONVERSATION_ITEM_LAST_SEQ, false},
    {SQL_CONVERSATION_RECENT, COL_CONVERSATION_ITEM_LAST_SEQ, false},
    {SQL_CONVERSATION_ONE, COL_CONVERSATION_ITEM_LAST_SEQ, false},
    {SQL_UNREAD_LIST, COL_UNREAD_LIST_LAST_SEQ, false},
    {SQL_LOCK_CONVERSATIONS, COL_CONVERSATION_LAST_SEQ, false},
    {SQL_LOCK_CONVERSATIONS_SKIP, COL_CONVERSATION_LAST_SEQ, false},
    {SQL_LOCK_ABOUT, COL_LOCK_ABOUT_NUMBER, true},
    {SQL_LOCK_FIND, COL_LOCK_FIND_NUMBER,
	true}, /* SQLite is queried for one row at a time */
    {SQL_LOCK_LANES_OF, COL_LANE_TAIL_SEQ, true},
    {SQL_LANE_FIND, COL_LANE_TAIL_SEQ, true},
    {SQL_LANE_GET, COL_LANE_TAIL_SEQ, true},
    {SQL_INSPECT_LANE, COL_INSPECT_LANE_TAIL_SEQ, true},
    {SQL_COPY_OUTBOX_LANES_GET, COL_COPY_OUTBOX_LANES_GET_TAIL_SEQ, true}};

/* Returns 0 if the column must be the same, 1 if NULL equals 0, 2 if it may
 * differ. */
static int
tolerance(int stmt, int column)
{
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].stmt == stmt && known[i].column == column)
			return (known[i].skip ? 2 : 1);
	return (0);
}

/* Returns true if the statement reads what each database has of its own: the
 * file, a row of totals for each node, locks. */
static bool
is_own(int stmt)
{

	return (stmt == SQL_CHECK_FILE || stmt == SQL_CHECK_SCHEMA ||
		stmt == SQL_CHECK_SCHEMA_FRESH || stmt == SQL_LOCK_NAMES_SKIP ||
		stmt == SQL_TOTALS_FOLD);
}

/* Returns true if the statement is tested elsewhere: the new database as a
 * whole is compared with the old one (tests/postgres/copy.test.mjs). */
static bool
is_copy(int stmt)
{
	const char *name = sql_sqlite[stmt].name;

	return (strncmp(name, "copy_", 5) == 0 &&
		(strstr(name, "_put") != NULL || stmt == SQL_COPY_ALONE ||
		    stmt == SQL_COPY_ANALYZE || stmt == SQL_COPY_CLEAR ||
		    stmt == SQL_COPY_NUMBERS_GET ||
		    stmt == SQL_COPY_RESCUE_TOTALS));
}

/* Returns true if the caller accepts any row. */
static bool
is_any(int stmt)
{

	return (stmt == SQL_USER_ANY || stmt == SQL_PREFLIGHT_CONTENT);
}

/* Returns true if the statement names some of the damaged rows, in any
 * order. */
static bool
is_check(int stmt)
{

	return (strncmp(sql_sqlite[stmt].name, "check_", 6) == 0);
}

/* ---- rows as text ---- */

struct result {
	const struct shape *shape;
	enum rc rc;
	int64_t changed;
	int nrows;
	size_t used;
	char *rows[RESULT_ROWS];
	char room[262144];
	char why[256];
};

static void put(struct result *r, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void
put(struct result *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	r->used += (size_t)vsnprintf(
	    r->room + r->used, sizeof(r->room) - r->used, fmt, ap);
	va_end(ap);
	assert_true(r->used < sizeof(r->room));
}

/* Writes JSON in one form, because its spaces and escapes may differ. */
static void
put_text(struct result *r, const char *p, size_t n)
{
	json_t *json;
	char *text;

	if (strncmp(sql_sqlite[r->shape->stmt].name, "archive_", 8) != 0) {
		put(r, "'%.*s'", (int)n, p);
		return;
	}
	json = json_loadb(p, n, 0, NULL);
	assert_non_null(json);
	text = json_dumps(json, JSON_COMPACT);
	put(r, "%s", text);
	free(text);
	json_decref(json);
}

static void
put_column(struct result *r, const struct db_row *row, int col)
{
	int how = tolerance(r->shape->stmt, col);
	const uint8_t *p;
	const char *text;
	size_t n;

	put(r, " ");
	if (how == 2)
		return;
	if (db_row_null(row, col)) {
		put(r, how == 1 ? "0" : "-");
		return;
	}
	switch (r->shape->columns[col]) {
	case 25:
	case 1043:
		text = db_row_text(row, col, &n);
		put_text(r, text, n);
		break;
	case 17:
	case 2950:
		for (p = db_row_blob(row, col, &n); n > 0; n--)
			put(r, "%02x", *p++);
		break;
	default:
		put(r, "%lld", (long long)db_row_i64(row, col));
	}
}

static enum rc
take_row(void *arg, const struct db_row *row, struct err *err)
{
	struct result *r = arg;
	int i;

	(void)err;
	assert_true(r->nrows < RESULT_ROWS);
	r->rows[r->nrows++] = r->room + r->used;
	for (i = 0; i < r->shape->ncolumns; i++)
		put_column(r, row, i);
	r->used++; /* the NUL */
	return (RC_OK);
}

static int
compare_rows(const void *a, const void *b)
{

	return (strcmp(*(char *const *)a, *(char *const *)b));
}

/* Removes duplicates: a query for many rows at once returns each row once. */
static int
unique(char **rows, int n)
{
	int i, k;

	for (i = k = 0; i < n; i++)
		if (k == 0 || strcmp(rows[i], rows[k - 1]) != 0)
			rows[k++] = rows[i];
	return (k);
}

static bool
is_ordered(int stmt)
{
	const char *sql = sql_sqlite[stmt].text;

	return (
	    !is_check(stmt) && (strstr(sql, "ORDER BY") != NULL ||
				   strstr(sql, "WITH RECURSIVE ids") != NULL));
}

static void
run(struct db *db, const struct shape *s, const struct db_val *v, int nrows,
    struct result *r)
{
	struct err err = ERR_INIT;

	r->shape = s;
	r->changed = 0;
	r->nrows = 0;
	r->used = 0;
	if (nrows > 1 && s->ncolumns > 0)
		r->rc = db_run_many(db, s->stmt,
		    &(struct db_set){v, (size_t)s->nparams, (size_t)nrows},
		    take_row, r, &err);
	else if (nrows > 1)
		r->rc = db_exec_many(db, s->stmt, v, (size_t)s->nparams,
		    (size_t)nrows, &r->changed, &err);
	else
		r->rc = db_run(db, s->stmt, v, (size_t)s->nparams, take_row, r,
		    &r->changed, &err);
	if (!is_ordered(s->stmt) || shape_is_set(s))
		qsort(r->rows, (size_t)r->nrows, sizeof(r->rows[0]),
		    compare_rows);
	if (shape_is_set(s))
		r->nrows = unique(r->rows, r->nrows);
	if (s->ncolumns > 0)
		r->changed = r->nrows;
	(void)snprintf(
	    r->why, sizeof(r->why), "%s", r->rc == RC_OK ? "" : err.text);
}

/* ---- comparing ---- */

/* Writes the parameters as text, for the message about a difference. */
static const char *
in_words(const struct shape *s, const struct db_val *v, int nrows)
{
	static char text[2048];
	size_t at;
	int i;

	at = (size_t)snprintf(text, sizeof(text), "%s(%s) = (%s",
	    sql_sqlite[s->stmt].name, sql_shapes[s->stmt].params,
	    nrows > 1 ? "rows: " : "");
	for (i = 0; i < s->nparams * nrows && at < sizeof(text) - 64; i++)
		if (v[i].type == DB_NULL)
			at += (size_t)snprintf(
			    text + at, sizeof(text) - at, "NULL, ");
		else if (v[i].type == DB_I64)
			at += (size_t)snprintf(text + at, sizeof(text) - at,
			    "%lld, ", (long long)v[i].u.i64);
		else
			at += (size_t)snprintf(text + at, sizeof(text) - at,
			    "%.*s, ", (int)v[i].u.bytes.n,
			    (const char *)v[i].u.bytes.p);
	(void)snprintf(text + at, sizeof(text) - at, ")");
	return (text);
}

static void
compare(const struct result *lite, const struct result *post, int nrows,
    const char *what)
{
	int i;

	/* If several rows are wrong, the databases may meet another one
	 * first. */
	if ((lite->rc == RC_OK) != (post->rc == RC_OK) ||
	    (nrows == 1 && (lite->rc == RC_EXISTS) != (post->rc == RC_EXISTS)))
		fail_msg("%s\nSQLite: %s\nPostgreSQL: %s", what,
		    lite->rc == RC_OK ? "ok" : lite->why,
		    post->rc == RC_OK ? "ok" : post->why);
	if (lite->rc != RC_OK)
		return;
	if (lite->changed != post->changed || lite->nrows != post->nrows)
		fail_msg("%s\nSQLite: %lld rows, PostgreSQL: %lld", what,
		    (long long)lite->changed, (long long)post->changed);
	for (i = 0; i < lite->nrows && !is_any(lite->shape->stmt); i++)
		if (strcmp(lite->rows[i], post->rows[i]) != 0)
			fail_msg("%s, row %d\nSQLite:     %s\nPostgreSQL: %s",
			    what, i, lite->rows[i], post->rows[i]);
}

/* Describes each statement once, because each description is a round trip. */
static struct shape
shape_of(int stmt)
{
	static struct shape shapes[SQL_STMT_COUNT];
	static bool has_shape[SQL_STMT_COUNT];
	struct shape s = {.stmt = stmt};
	PGresult *d;
	int i;

	if (has_shape[stmt])
		return (shapes[stmt]);
	d = PQprepare(twins.pg.conn, "", sql_postgres[stmt].text, 0, NULL);
	assert_int_equal(PQresultStatus(d), PGRES_COMMAND_OK);
	PQclear(d);
	d = PQdescribePrepared(twins.pg.conn, "");
	s.nparams = PQnparams(d);
	s.ncolumns = PQnfields(d);
	assert_true(s.nparams <= DRAWS_PARAMS && s.ncolumns <= DRAWS_COLUMNS);
	for (i = 0; i < s.nparams; i++)
		s.params[i] = PQparamtype(d, i);
	for (i = 0; i < s.ncolumns; i++)
		s.columns[i] = PQftype(d, i);
	PQclear(d);
	shapes[stmt] = s;
	has_shape[stmt] = true;
	return (s);
}

static struct result lite_result, post_result;

/* Runs ${stmt} with each number from ${from} to ${upto} as its only
 * parameter. */
static void
read_each(int stmt, int64_t from, int64_t upto, const char *what)
{
	struct shape s = shape_of(stmt);
	struct db_val v;

	for (; from <= upto; from++) {
		v = db_v_i64(from);
		run(twins.lite, &s, &v, s.nparams, &lite_result);
		run(twins.post, &s, &v, s.nparams, &post_result);
		compare(&lite_result, &post_result, 1, what);
	}
}

/* Compares what both databases would read next: PostgreSQL's counters must be
 * what SQLite computes. */
static void
compare_counters(const char *sql, const char *what)
{

	if (strstr(sql, "messages") != NULL)
		read_each(SQL_CONVERSATION_BY_ID, 1, 10, what);
	if (strstr(sql, "inbox") != NULL || strstr(sql, "devices") != NULL)
		read_each(SQL_COUNTER_GET, 1, 8, what);
	if (strstr(sql, "outbox_totals") != NULL)
		read_each(SQL_TOTALS_GET, 1, 1, what);
}

/* Runs a statement once.  Returns true if it found or changed a row. */
static bool
try(const struct shape *s)
{
	const char *sql = sql_postgres[s->stmt].text, *what;
	bool writes =
	    strstr(sql, "INSERT") != NULL || strstr(sql, "UPDATE") != NULL ||
	    strstr(sql, "DELETE") != NULL || strstr(sql, "nextval") != NULL;
	bool set = shape_is_set(s);
	struct db_val v[DRAWS_ROWS * DRAWS_PARAMS];
	struct err err = ERR_INIT;
	int nrows = set ? 1 + (int)draw(DRAWS_ROWS) : 1;

	draw_params(s, nrows, v);
	/* A check must return everything that it finds, because the first rows
	 * may differ. */
	if (is_check(s->stmt) && s->nparams == 1)
		v[0] = db_v_i64(RESULT_ROWS);
	what = in_words(s, v, nrows);
	if (strstr(sql, "INSERT") != NULL || strstr(sql, "nextval") != NULL)
		twins_number(&twins);
	assert_int_equal(db_begin(twins.lite, &err), RC_OK);
	assert_int_equal(db_begin(twins.post, &err), RC_OK);
	run(twins.lite, s, v, nrows, &lite_result);
	run(twins.post, s, v, nrows, &post_result);
	compare(&lite_result, &post_result, nrows, what);
	set = lite_result.rc == RC_OK && lite_result.changed > 0;
	if (writes && lite_result.rc == RC_OK) {
		twins_compare(&twins, sql, what);
		compare_counters(sql, what);
	}
	db_rollback(twins.lite);
	db_rollback(twins.post);
	return (set);
}

static bool
is_enough(const struct shape *s, int tried, int found)
{

	if (s->nparams == 0 || tried == TRIES_MOST)
		return (tried > 0);
	return (tried >= times * TRIES && found >= times * FINDS);
}

static void
test_same(void **state)
{
	const char *tier = getenv("TWINBOX_TIER");
	int i, k, found, silent = 0;
	struct shape s;

	(void)state;
	if (tier != NULL && strcmp(tier, "full") == 0)
		times = 4;
	twins_open(&twins);
	for (i = 0; i < SQL_STMT_COUNT; i++) {
		if (is_own(i) || is_copy(i))
			continue;
		s = shape_of(i);
		draw_begin(sql_sqlite[i].name);
		for (k = found = 0; !is_enough(&s, k, found); k++)
			found += try(&s) ? 1 : 0;
		if (found > 0)
			continue;
		print_message("# %s found nothing: %s\n", sql_sqlite[i].name,
		    lite_result.why);
		silent++;
	}
	print_message("# ok - %d statements do the same\n", i);
	assert_int_equal(silent, 0);
	twins_close(&twins);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_same),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
