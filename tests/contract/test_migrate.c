/* SPDX-License-Identifier: MIT */
/*
 * A database of an older version is migrated: nothing is lost, the totals are
 * counted, and all verbs work.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "contract/old.h"
#include "contract/rig.h"
#include "schema/sql.h"
#include "upkeep/preflight.h"

struct people {
	int64_t alice, bob, phone;
};

/* Makes messages in each state that the old version had: acked, read, sent,
 * waiting, scheduled, canceled, a note to oneself. */
static struct people
tell_story(struct rig *r)
{
	struct people p;
	struct uuid id;
	int i;

	p.alice = rig_user(r, "alice", NULL);
	p.bob = rig_user(r, "bob", &p.phone);
	(void)rig_user(r, "carol", NULL);
	for (i = 0; i < 4; i++)
		(void)rig_send(r, p.alice, "bob", "there", NULL);
	(void)rig_send(r, p.alice, "alice", "note", NULL);
	(void)rig_deliver(r);
	(void)rig_ack(r, p.bob, p.phone, 3);
	(void)rig_read(r, p.bob, p.phone, 1, false);
	(void)rig_deliver(r);
	(void)rig_send_at(r, p.alice, "bob", "later", r->clk.wall_ms + 60000);
	id = uuid_gen_next(&r->ids);
	(void)rig_send(r, p.alice, "carol", "oops", &id);
	assert_int_equal(rig_cancel(r, p.alice, &id).unit.rc, RC_OK);
	(void)rig_send(r, p.alice, "carol", "waits", NULL);
	(void)rig_send(r, p.bob, "carol", "waits", NULL);
	return (p);
}

static void
remove_all(const char *dir, const char *name)
{
	static const char *const tails[] = {"", "-wal", "-shm"};
	char path[128];
	size_t i;

	for (i = 0; i < 3; i++) {
		(void)snprintf(
		    path, sizeof(path), "%s/%s%s", dir, name, tails[i]);
		(void)unlink(path);
	}
}

/* Checks that the columns of ${table} that both databases have are the same. */
static void
same_rows(struct rig *r, const char *old, const char *table)
{
	sqlite3_stmt *st;
	sqlite3 *db;
	char *sql;

	assert_int_equal(sqlite3_open(r->path, &db), SQLITE_OK);
	sql = sqlite3_mprintf("ATTACH %Q AS old", old);
	assert_int_equal(sqlite3_exec(db, sql, 0, 0, 0), SQLITE_OK);
	sqlite3_free(sql);
	sql = sqlite3_mprintf(
	    "SELECT group_concat(name) FROM pragma_table_info(%Q, 'old')",
	    table);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	sqlite3_free(sql);
	sql = sqlite3_mprintf("SELECT (SELECT count(*) FROM old.%s) - "
			      "(SELECT count(*) FROM (SELECT %s FROM old.%s "
			      "INTERSECT SELECT %s FROM main.%s))",
	    table, sqlite3_column_text(st, 0), table,
	    sqlite3_column_text(st, 0), table);
	(void)sqlite3_finalize(st);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
	sqlite3_free(sql);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	if (sqlite3_column_int64(st, 0) != 0)
		fail_msg("%s: %lld rows are not what they were", table,
		    (long long)sqlite3_column_int64(st, 0));
	(void)sqlite3_finalize(st);
	(void)sqlite3_close(db);
}

/* Runs the queries that a start runs before the migration. */
static void
look_before(const char *path, int schema)
{
	char url[128];
	struct db_options options = {
	    .url = url, .mode = DB_WRITER, .schema = &sql_sqlite_schema};
	struct preflight before;
	struct err err = ERR_INIT;
	struct db *db;

	(void)snprintf(url, sizeof(url), "sqlite:%s", path);
	assert_int_equal(db_open(&options, &db, &err), RC_OK);
	if (preflight_get(db, &before, &err) != RC_OK)
		fail_msg("%s", err.text);
	db_close(db);
	assert_int_equal(before.schema, schema);
	assert_true(before.content);
	assert_true(before.last_id > 0);
}

static void
test_from_1(void **state)
{
	static const char *const tables[] = {"users", "devices", "inboxes",
	    "conversations", "participants", "messages", "outbox_lanes",
	    "outbox", "inbox", "processed_messages"};
	char dir[64] = "/tmp/twinbox-old-XXXXXX", now[96], old[96], kept[96];
	struct rig_options options = {0};
	struct people p;
	struct rig r;
	char totals[400];
	size_t i;

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(now, sizeof(now), "%s/now", dir);
	(void)snprintf(old, sizeof(old), "%s/old", dir);
	(void)snprintf(kept, sizeof(kept), "%s/kept", dir);
	options.path = now;
	rig_open_with(&r, &options);
	p = tell_story(&r);
	(void)snprintf(totals, sizeof(totals), "%s",
	    rig_text(&r, "SELECT count(*) FROM outbox"));
	rig_close(&r);
	assert_null(old_schema_make(now, old, 1));
	assert_null(old_schema_make(now, kept, 1));

	look_before(old, 1);
	options.path = old;
	options.seed = 7;            /* else the rig makes the same ids again */
	rig_open_with(&r, &options); /* this migrates */
	assert_int_equal(rig_number(&r, "PRAGMA user_version"),
	    sql_sqlite_schema.migrations[sql_sqlite_schema.nmigrations - 1]
		.number);
	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		same_rows(&r, kept, tables[i]);
	assert_string_equal(
	    rig_text(&r, "SELECT count(*) FROM outbox"), totals);
	/* All passwords are ordinary ones. */
	assert_int_equal(
	    rig_number(&r, "SELECT count(password_once_until) FROM users"), 0);
	/* A message that was acked was sent before, so it counts in sent_total,
	 * too. */
	assert_string_equal(
	    rig_text(&r,
		"SELECT pending || ' ' || scheduled || ' ' || sending || ' ' ||"
		" sent || ' ' || failed || ' ' || expired || ' ' || canceled ||"
		" ' ' || accepted_total || ' ' || sent_total || ' ' ||"
		" acked_total || ' ' || canceled_total FROM outbox_totals"),
	    "2 1 0 1 0 0 1 9 5 4 1");
	rig_check_promises(&r);

	/* The verbs work: waiting messages are delivered, sent ones are
	 * acked. */
	assert_int_equal(rig_deliver(&r), 2);
	clk_fake_advance(&r.clk, 61000);
	assert_int_equal(rig_release(&r), 1);
	assert_int_equal(rig_deliver(&r), 1);
	(void)rig_ack(&r, p.bob, p.phone, 5);
	(void)rig_send(&r, p.bob, "alice", "new", NULL);
	(void)rig_deliver(&r);
	rig_restart(&r);
	rig_check_promises(&r);
	rig_close(&r);
	remove_all(dir, "now");
	remove_all(dir, "old");
	remove_all(dir, "kept");
	assert_int_equal(rmdir(dir), 0);
}

/* The rows of a lane to another server, with their places and states. */
#define LANE(id, tail, rows)                                                   \
	"INSERT INTO outbox_lanes (lane_id, conversation_id, dest_kind, "      \
	"dest_id, next_seq, updated_at, destination_id, state, tail_seq) "     \
	"VALUES (" #id ", " #id ", 'server', " #id ", 1, 1, 7, 'idle', " #tail \
	");"                                                                   \
	"WITH r (n, st) AS (VALUES " rows ") INSERT INTO outbox (id, "         \
	"event_id, kind, mid, conversation_id, conversation_seq, sender_id, "  \
	"lane_id, lane_seq, dest_kind, dest_id, state, event_time, "           \
	"created_at, last_status_at) SELECT " #id " * 100 + n, "               \
	"randomblob(16), 1, n, " #id ", n, 1, " #id ", n, 'server', " #id ", " \
	"st, 1, 1, 1 FROM r WHERE st <> '';"

/* The acked place of each lane to another server, which the migration counts
 * for the first time. */
static void
test_places(void **state)
{
	char dir[64] = "/tmp/twinbox-old-XXXXXX", now[96], old[96];
	struct rig_options options = {0};
	struct rig r;

	(void)state;
	assert_non_null(mkdtemp(dir));
	(void)snprintf(now, sizeof(now), "%s/now", dir);
	(void)snprintf(old, sizeof(old), "%s/old", dir);
	options.path = now;
	rig_open_with(&r, &options);
	(void)rig_exec(&r,
	    "INSERT INTO destinations (destination_id, name, created_at, "
	    "updated_at) VALUES (7, 'a.example', 1, 1);"
	    /* Nothing behind a place that is not acked, */
	    LANE(11, 4, "(2, 'acked'), (3, 'sent'), (4, 'acked')")
	    /* nor places at the end that were given up; */
	    LANE(12, 5,
		"(1, 'acked'), (3, 'failed'), (4, 'acked'), "
		"(5, 'failed')")
	    /* all places that were acked and purged. */
	    LANE(13, 9, "(0, '')") LANE(14, 9, "(8, 'acked')")
		LANE(15, 2, "(1, 'pending'), (2, 'pending')"));
	rig_close(&r);
	assert_null(old_schema_make(now, old, 3));
	options.path = old;
	options.seed = 7;
	rig_open_with(&r, &options);
	assert_string_equal(
	    rig_list(&r, "SELECT acked_seq FROM outbox_lanes ORDER BY lane_id"),
	    "2 4 9 9 0");
	rig_close(&r);
	remove_all(dir, "now");
	remove_all(dir, "old");
	(void)rmdir(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_from_1),
	    cmocka_unit_test(test_places),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
