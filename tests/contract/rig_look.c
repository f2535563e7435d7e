/* SPDX-License-Identifier: MIT */
/*
 * The database under a rig, and what tests read and change without the server.
 * See rig.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "contract/rig_internal.h"
#include "schema/sql.h"
#include "upkeep/fsck.h"
#ifdef HAVE_POSTGRES
#include "contract/pg.h"
#endif

#define BROKEN_SIZE 512

/* ---- on PostgreSQL ---- */

bool
rig_is_postgres(void)
{
#ifdef HAVE_POSTGRES
	const char *backend = getenv("TWINBOX_TEST_RIG");

	return (backend != NULL && strcmp(backend, "postgres") == 0);
#else
	return (false);
#endif
}

#ifdef HAVE_POSTGRES
void
rig_schema_make(struct rig *r)
{

	if (!rig_is_postgres() || r->options.path != NULL ||
	    r->options.vfs != NULL)
		return;
	assert_non_null(r->pg = mem_zalloc(1, sizeof(*r->pg)));
	pg_open(r->pg);
	/* Functions of SQLite that tests use. */
	pg_exec(r->pg, "CREATE FUNCTION zeroblob(n INTEGER) RETURNS BYTEA "
		       "LANGUAGE sql AS "
		       "$$SELECT decode(repeat('00', n), 'hex')$$");
	pg_exec(r->pg, "CREATE FUNCTION randomblob(n INTEGER) RETURNS UUID "
		       "LANGUAGE sql AS $$SELECT gen_random_uuid()$$");
	(void)snprintf(r->url, sizeof(r->url), "%s", r->pg->url);
}

void
rig_schema_drop(struct rig *r)
{

	pg_close(r->pg);
	mem_free(r->pg);
	r->pg = NULL;
}
#else
static const char *
pg_text(struct pg *pg, const char *sql)
{

	(void)pg;
	return (sql);
}
#define pg_number(pg, sql) ((void)(sql), 0)
#define pg_list(pg, sql) pg_text(pg, sql)
#define pg_change(pg, sql) ((void)(sql), 0)
#define pg_state(pg, sql) (sql)
#define pg_numbers(pg, sql, ret, max) ((void)(ret), (size_t)0)

void
rig_schema_make(struct rig *r)
{

	(void)r;
}

void
rig_schema_drop(struct rig *r)
{

	(void)r;
}
#endif

const struct db_schema *
rig_schema(const struct rig *r)
{
#ifdef HAVE_POSTGRES
	if (r->pg != NULL)
		return (&sql_postgres_schema);
#endif
	(void)r;
	return (&sql_sqlite_schema);
}

/* ---- queries ---- */

static void
keep_first(void *arg, const char *what, const char *place)
{
	char *text = arg;

	if (text[0] == '\0')
		(void)snprintf(text, BROKEN_SIZE, "%s: %s", what, place);
}

struct db *
rig_reader(struct rig *r)
{
	struct db_options options = {.url = r->url,
	    .mode = DB_READER,
	    .vfs = r->options.vfs,
	    .schema = rig_schema(r)};
	struct err err = ERR_INIT;
	struct db *db;

	if (db_open(&options, &db, &err) != RC_OK)
		fail_msg("reader: %s", err.text);
	return (db);
}

const char *
rig_broken_promise(struct rig *r)
{
	static char text[BROKEN_SIZE];
	struct fsck_report report;
	struct err err = ERR_INIT;

	if (r->eyes == NULL)
		r->eyes = rig_reader(r);
	text[0] = '\0';
	if (fsck_run(r->eyes, keep_first, text, &report, &err) != RC_OK)
		(void)snprintf(text, sizeof(text), "fsck: %s", err.text);
	return (text[0] != '\0' ? text : NULL);
}

void
rig_check_promises(struct rig *r)
{
	const char *broken;

	broken = rig_broken_promise(r);
	if (broken != NULL)
		fail_msg("%s", broken);
}

int64_t
rig_number(struct rig *r, const char *sql)
{
	sqlite3_stmt *st;
	int64_t n;

	if (r->pg != NULL)
		return (pg_number(r->pg, sql));
	if (sqlite3_prepare_v2(r->look, sql, -1, &st, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(r->look));
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	n = sqlite3_column_int64(st, 0);
	(void)sqlite3_finalize(st);
	return (n);
}

const char *
rig_text(struct rig *r, const char *sql)
{
	static char text[4096];
	sqlite3_stmt *st;
	const unsigned char *p;

	if (r->pg != NULL)
		return (pg_text(r->pg, sql));
	if (sqlite3_prepare_v2(r->look, sql, -1, &st, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(r->look));
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	p = sqlite3_column_text(st, 0);
	(void)snprintf(
	    text, sizeof(text), "%s", p != NULL ? (const char *)p : "(null)");
	(void)sqlite3_finalize(st);
	return (text);
}

const char *
rig_list(struct rig *r, const char *sql)
{
	static char text[4096];
	sqlite3_stmt *st;
	size_t n = 0;

	if (r->pg != NULL)
		return (pg_list(r->pg, sql));
	if (sqlite3_prepare_v2(r->look, sql, -1, &st, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(r->look));
	text[0] = '\0';
	while (sqlite3_step(st) == SQLITE_ROW && n < sizeof(text))
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s",
		    n > 0 ? " " : "", (const char *)sqlite3_column_text(st, 0));
	(void)sqlite3_finalize(st);
	return (text);
}

int64_t
rig_exec(struct rig *r, const char *sql)
{
	char *why = NULL;
	sqlite3 *db;
	int64_t n;

	if (r->pg != NULL)
		return (pg_change(r->pg, sql));
	assert_int_equal(sqlite3_open(r->path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK)
		fail_msg("%s: %s", sql, why);
	n = sqlite3_changes(db);
	(void)sqlite3_close(db);
	return (n);
}

#define TRIGGERS_MAX 16

static int64_t
exec_past_postgres(struct rig *r, const char *sql)
{
	int64_t n;

	(void)pg_change(r->pg, "ALTER TABLE messages DISABLE TRIGGER USER;"
			       "ALTER TABLE outbox DISABLE TRIGGER USER");
	n = pg_change(r->pg, sql);
	(void)pg_change(r->pg, "ALTER TABLE messages ENABLE TRIGGER USER;"
			       "ALTER TABLE outbox ENABLE TRIGGER USER");
	return (n);
}

int64_t
rig_exec_past(struct rig *r, const char *sql)
{
	static char make[TRIGGERS_MAX][4096];
	char name[64], drop[96];
	int64_t changed, n, i;

	if (r->pg != NULL)
		return (exec_past_postgres(r, sql));
	n = rig_number(
	    r, "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'");
	assert_true(n <= TRIGGERS_MAX);
	for (i = 0; i < n; i++) {
		(void)snprintf(make[i], sizeof(make[i]), "%s",
		    rig_text(r, "SELECT sql FROM sqlite_schema WHERE "
				"type = 'trigger' LIMIT 1"));
		(void)snprintf(name, sizeof(name), "%s",
		    rig_text(r, "SELECT name FROM sqlite_schema WHERE "
				"type = 'trigger' LIMIT 1"));
		(void)snprintf(drop, sizeof(drop), "DROP TRIGGER %s", name);
		(void)rig_exec(r, drop);
	}
	changed = rig_exec(r, sql);
	for (i = 0; i < n; i++)
		(void)rig_exec(r, make[i]);
	return (changed);
}

bool
rig_refuses(struct rig *r, const char *sql)
{
	sqlite3 *db;
	int result;

	if (r->pg != NULL)
		return (pg_state(r->pg, sql)[0] != '\0');
	assert_int_equal(sqlite3_open(r->path, &db), SQLITE_OK);
	result = sqlite3_exec(db, sql, NULL, NULL, NULL);
	(void)sqlite3_close(db);
	return (result == SQLITE_CONSTRAINT);
}

size_t
rig_numbers(struct rig *r, const char *sql, int64_t *ret, size_t max)
{
	sqlite3_stmt *st;
	size_t n;

	if (r->pg != NULL)
		return (pg_numbers(r->pg, sql, ret, max));
	if (sqlite3_prepare_v2(r->look, sql, -1, &st, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(r->look));
	for (n = 0; sqlite3_step(st) == SQLITE_ROW; n++) {
		assert_true(n < max);
		ret[n] = sqlite3_column_int64(st, 0);
	}
	(void)sqlite3_finalize(st);
	return (n);
}
