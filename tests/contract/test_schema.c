/* SPDX-License-Identifier: MIT */
/*
 * fsck compares the schema with that of a new database: it reports everything
 * that was added, removed or changed, by name.
 *
 * TWINBOX_WRITE_CATALOGUE=FILE, on PostgreSQL: writes the rows that
 * schema/postgres/catalogue.sql must have.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contract/rig.h"
#include "schema/sql.h"
#include "upkeep/check.h"

static char found[4096];

static void
keep(void *arg, const char *what, const char *place)
{
	size_t n = strlen(found);

	(void)arg;
	assert_string_equal(what, "the schema is not that of this program");
	(void)snprintf(found + n, sizeof(found) - n, "%s\n", place);
}

static const char *
look(struct rig *r)
{
	struct err err = ERR_INIT;
	struct db *db = rig_reader(r);

	found[0] = '\0';
	if (check_schema_run(db, 100, keep, NULL, &err) != RC_OK)
		fail_msg("%s", err.text);
	db_close(db);
	return (found);
}

static void
write_quoted(FILE *f, const struct db_row *row, int col)
{
	const char *p = db_row_text(row, col, NULL);

	(void)fputc('\'', f);
	for (; p != NULL && *p != '\0'; p++)
		(void)fprintf(f, *p == '\'' ? "''" : "%c", *p);
	(void)fputc('\'', f);
}

static enum rc
write_row(void *arg, const struct db_row *row, struct err *err)
{
	FILE *f = arg;

	(void)err;
	(void)fputs(ftell(f) == 0 ? "(" : ",\n(", f);
	write_quoted(f, row, 0);
	(void)fputs(strlen(db_row_text(row, 0, NULL)) +
				strlen(db_row_text(row, 1, NULL)) >
			    70
			? ",\n    "
			: ", ",
	    f);
	write_quoted(f, row, 1);
	(void)fputc(')', f);
	return (RC_OK);
}

static void
write_catalogue(struct rig *r, const char *path)
{
	struct err err = ERR_INIT;
	struct db *db = rig_reader(r);
	FILE *f;

	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(
	    db_run(db, SQL_CHECK_SCHEMA, NULL, 0, write_row, f, NULL, &err),
	    RC_OK);
	assert_int_equal(fclose(f), 0);
	db_close(db);
}

static void
test_fresh(void **state)
{
	const char *path = getenv("TWINBOX_WRITE_CATALOGUE");
	struct rig r;

	(void)state;
	rig_open(&r);
	if (path != NULL && r.pg != NULL)
		write_catalogue(&r, path);
	assert_string_equal(look(&r), "");
	rig_close(&r);
}

static const struct change {
	const char *sqlite, *postgres; /* the same change */
	const char *places;
} changes[] = {
    {"CREATE TRIGGER evil AFTER INSERT ON users BEGIN UPDATE users SET admin=1; "
     "END",
	"CREATE FUNCTION evil() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN "
	"NEW.admin := 1; RETURN NEW; END$$; CREATE TRIGGER evil BEFORE INSERT ON "
	"users FOR EACH ROW EXECUTE FUNCTION evil()",
	"trigger evil of users is not one of its own\n"},
    {"CREATE VIEW people AS SELECT * FROM users",
	"CREATE VIEW people AS SELECT * FROM users",
	"view people is not one of its own\n"},
    {"CREATE TABLE mine (x)", "CREATE VIEW mine AS SELECT 1 AS x",
	" mine is not one of its own\n"},
    {"DROP INDEX inbox_event", "DROP INDEX inbox_event",
	"index inbox_event of inbox is missing\n"},
    {"DROP INDEX inbox_event; CREATE INDEX inbox_event ON inbox (event_id, "
     "user_id, origin)",
	"DROP INDEX inbox_event; CREATE INDEX inbox_event ON inbox (event_id, "
	"user_id, origin)",
	"index inbox_event of inbox is another\n"},
    {"DROP INDEX inbox_event; CREATE UNIQUE INDEX inbox_event ON inbox "
     "(event_id, user_id, origin, seq)",
	"DROP INDEX inbox_event; CREATE UNIQUE INDEX inbox_event ON inbox "
	"(event_id, user_id, origin, seq)",
	"index inbox_event of inbox is another\n"},
    {"DROP INDEX outbox_owed; CREATE INDEX outbox_owed ON outbox (dest_id, "
     "conversation_id, conversation_seq) WHERE state = 'failed'",
	"DROP INDEX outbox_owed; CREATE INDEX outbox_owed ON outbox (dest_id, "
	"conversation_id, conversation_seq) WHERE state = 'failed'",
	"index outbox_owed of outbox is another\n"},
    {"DROP TRIGGER messages_immutable",
	"DROP TRIGGER messages_immutable ON messages",
	"trigger messages_immutable of messages is missing\n"},
    {"DROP TRIGGER messages_immutable; CREATE TRIGGER messages_immutable BEFORE "
     "UPDATE OF body ON messages BEGIN SELECT RAISE (ABORT, 'no'); END",
	"ALTER TABLE messages DISABLE TRIGGER messages_immutable",
	"trigger messages_immutable of messages is another\n"},
    {NULL,
	"CREATE OR REPLACE FUNCTION twinbox_refuse() RETURNS trigger LANGUAGE "
	"plpgsql AS $$BEGIN RETURN NEW; END$$",
	"function twinbox_refuse is another\n"},
    {NULL, "ALTER TABLE meta SET UNLOGGED", "table meta is another\n"},
    {NULL, "ALTER TABLE users ALTER admin SET DEFAULT 1",
	"column users.admin is another\n"},
    {NULL, "ALTER TABLE inbox ALTER mid DROP NOT NULL",
	"column inbox.mid is another\n"},
    {NULL, "ALTER TABLE users ADD COLUMN extra TEXT",
	"column users.extra is not one of its own\n"},
    {NULL, "ALTER TABLE inbox DROP CONSTRAINT inbox_own_check",
	"constraint inbox_own_check of inbox is missing\n"},
    {NULL, "CREATE RULE lose AS ON INSERT TO inbox DO INSTEAD NOTHING",
	"rule lose of inbox is not one of its own\n"},
    {"ALTER TABLE users ADD COLUMN extra TEXT", NULL,
	"table users is another\n"},
    {"PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = replace(sql, "
     "'admin IN (0, 1)', 'admin IN (0, 2)') WHERE name = 'users'",
	NULL, "table users is another\n"},
    /* Other comments and line ends do not change the schema. */
    {"PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = replace(sql, "
     "'admin INTEGER', '/* he' || char(13, 10) || ' */ admin -- is\n INTEGER') "
     "WHERE name = 'users'",
	NULL, ""},
    {"ANALYZE", "ANALYZE", ""},
};

static void
test_changes(void **state)
{
	const struct change *c;
	const char *sql;
	struct rig r;

	(void)state;
	for (c = changes; c < changes + sizeof(changes) / sizeof(changes[0]);
	     c++) {
		sql = rig_is_postgres() ? c->postgres : c->sqlite;
		if (sql == NULL)
			continue;
		rig_open(&r);
		(void)rig_exec(&r, sql);
		if (c->places[0] == ' ' ? strstr(look(&r), c->places) == NULL
					: strcmp(look(&r), c->places) != 0)
			fail_msg("%s\n  gives: %s  not: %s", sql, look(&r),
			    c->places);
		rig_close(&r);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_fresh),
	    cmocka_unit_test(test_changes),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
