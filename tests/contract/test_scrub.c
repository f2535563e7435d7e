/* SPDX-License-Identifier: MIT */
/*
 * The scrubber: it reads every row of every table, and finds changed rows,
 * holes and damaged pages.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contract/rig.h"
#include "schema/sql.h"
#include "upkeep/scrub.h"

#define SECOND INT64_C(1000)

struct scrubbed {
	struct rig r;
	struct db *db;
	struct metrics *metrics;
	struct scrub *scrub;
	int n;
	char first[400]; /* what it found */
};

static void
found(void *arg, const char *what, const char *place)
{
	struct scrubbed *s = arg;

	if (s->n++ == 0)
		(void)snprintf(
		    s->first, sizeof(s->first), "%s: %s", what, place);
}

/* 450 messages in two conversations, most of them acked. */
static void
open_scrubbed(struct scrubbed *s)
{
	int64_t alice, bob, phone;
	int i;

	memset(s, 0, sizeof(*s));
	rig_open(&s->r);
	alice = rig_user(&s->r, "alice", NULL);
	bob = rig_user(&s->r, "bob", &phone);
	(void)rig_user(&s->r, "carol", NULL);
	for (i = 0; i < 450; i++) {
		(void)rig_send(
		    &s->r, alice, i < 5 ? "carol" : "bob", "hello", NULL);
		rig_forget(&s->r);
	}
	(void)rig_deliver(&s->r);
	(void)rig_ack(&s->r, bob, phone, 400);
	(void)rig_deliver(&s->r);
	s->metrics = metrics_new();
}

/* Runs one whole round.  Returns the rows that it read. */
static int64_t
scrub_round(struct scrubbed *s)
{
	struct db_options db = {
	    .url = s->r.url, .mode = DB_READER, .schema = &sql_sqlite_schema};
	struct scrub_options o = {.clk = &s->r.clk.clk,
	    .metrics = s->metrics,
	    .rate = 1000,
	    .rest_ms = 3600 * SECOND,
	    .found = found,
	    .arg = s};
	struct err err = ERR_INIT;
	int64_t next, rows;
	int turns;

	s->n = 0;
	s->first[0] = '\0';
	rows = metrics_get(s->metrics, METRIC_SCRUBBED_ROWS);
	assert_int_equal(db_open(&db, &s->db, &err), RC_OK);
	o.db = s->db;
	assert_int_equal(scrub_new(&o, &s->scrub, &err), RC_OK);
	for (turns = 0; scrub_rounds(s->scrub) == 0 && turns < 1000; turns++) {
		next = scrub_turn(s->scrub);
		assert_true(next > clk_mono_ms(&s->r.clk.clk));
		assert_false(db_in_transaction(s->db));
		if (scrub_rounds(s->scrub) == 0)
			clk_fake_advance(
			    &s->r.clk, next - clk_mono_ms(&s->r.clk.clk));
	}
	assert_int_equal(scrub_rounds(s->scrub), 1);
	scrub_free(s->scrub);
	db_close(s->db);
	return (metrics_get(s->metrics, METRIC_SCRUBBED_ROWS) - rows);
}

static void
close_scrubbed(struct scrubbed *s)
{

	metrics_free(s->metrics);
	rig_close(&s->r);
}

static void
hurt(struct scrubbed *s, const char *sql)
{
	char *text = NULL;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(s->r.path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &text) != SQLITE_OK)
		fail_msg("%s: %s", sql, text);
	assert_true(sqlite3_changes(db) > 0);
	(void)sqlite3_close(db);
}

/* Rows of the tables that open_scrubbed() leaves empty.  Those with several
 * keys have more rows than a piece. */
static void
fill_others(struct scrubbed *s)
{
	static const char *const rows[] = {
	    "INSERT INTO nodes (name, started_at, beat_at) VALUES ('n', 1, 1)",
	    "INSERT INTO server_keys (key_id, public, seed, created_at, "
	    "signs_at) VALUES ('k', zeroblob(32), zeroblob(32), 1, 1)",
	    "INSERT INTO destinations (destination_id, name, created_at, "
	    "updated_at) VALUES (2, 'b.example', 1, 1)",
	    "INSERT INTO peers (destination_id, first_seen_at, last_seen_at) "
	    "VALUES (2, 1, 1)",
	    "INSERT INTO peer_keys (destination_id, key_id, public, "
	    "first_seen_at, last_seen_at) SELECT 2, 'k' || mid, zeroblob(32), "
	    "1, 1 FROM messages",
	    "INSERT INTO federation_nonces (destination_id, key_id, nonce, "
	    "keep_until) SELECT 2 + mid % 2, 'k' || mid % 4, "
	    "'nonce-of-16-bytes-' || mid, 1 FROM messages",
	    "INSERT INTO federation_lanes (sender_id, recipient_id, class, "
	    "last_sequence) SELECT 9, 1 + mid / 2, mid % 2, 1 FROM messages",
	    "INSERT INTO processed_messages (origin, event_id, processed_at) "
	    "SELECT 2, message_id, 1 FROM messages",
	    "INSERT INTO audit_log (at, actor, action, object) VALUES (1, 'a', "
	    "'b', 'c')",
	    "INSERT INTO outbox_attempts (outbox_id, attempt, destination_id, "
	    "owner, started_at) VALUES (1, 1, 0, 'o', 1)",
	    "INSERT INTO dead_letter_queue (outbox_id, mid, sender_id, "
	    "dest_id, destination_id, state, reason, attempts, retry_count, "
	    "event_time, created_at, dead_at) VALUES (1, 1, 1, 2, 0, 'failed', "
	    "'r', 1, 0, 1, 1, 1)"};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		hurt(s, rows[i]);
}

/* Reads every row of every table, at its rate, and finds nothing.  No table may
 * be empty here, so that a table that the scrubber forgets fails the test. */
static void
test_scrub_sound(void **state)
{
	struct scrubbed s;
	int64_t rows, began, n;
	sqlite3_stmt *st;
	char sql[128];

	(void)state;
	open_scrubbed(&s);
	fill_others(&s);
	began = clk_mono_ms(&s.r.clk.clk);
	rows = scrub_round(&s);
	if (s.n != 0)
		fail_msg("%s", s.first);
	/* At a thousand rows a second. */
	assert_true(clk_mono_ms(&s.r.clk.clk) - began >= rows - 2 * SCRUB_ROWS);
	assert_int_equal(
	    sqlite3_prepare_v2(s.r.look,
		"SELECT name FROM sqlite_schema WHERE type = 'table'"
		" AND name NOT LIKE 'sqlite_%'",
		-1, &st, NULL),
	    SQLITE_OK);
	while (sqlite3_step(st) == SQLITE_ROW) {
		(void)snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s",
		    (const char *)sqlite3_column_text(st, 0));
		n = rig_number(&s.r, sql);
		if (n == 0)
			fail_msg("%s has no row: fill_others()", sql);
		rows -= n;
	}
	(void)sqlite3_finalize(st);
	/* The messages are read twice, once in the order of their chains. */
	assert_int_equal(rows, 450);
	assert_int_equal(metrics_get(s.metrics, METRIC_SCRUB_ERRORS), 0);
	close_scrubbed(&s);
}

static void
test_scrub_finds(void **state)
{
	static const struct {
		const char *sql, *first;
	} table[] = {
	    {"UPDATE messages SET body='hullo' WHERE mid=300",
		"not what was accepted: its digest does not follow from the "
		"one before: message 295 of conversation 2"},
	    {"UPDATE messages SET body='hullo' WHERE mid=1",
		"not what was accepted: its digest does not follow from the "
		"one before: message 1 of conversation 1"},
	    {"DELETE FROM messages WHERE mid=206",
		"a hole: message before 202 of conversation 2"},
	    {"DELETE FROM inbox WHERE user_id=2 AND seq=200",
		"a hole: event before 201 of user 2"},
	    {"DELETE FROM inbox WHERE user_id=2 AND seq=1",
		"a hole: event before 2 of user 2"},
	    {"UPDATE inboxes SET trimmed=3 WHERE user_id=2",
		"a hole: event before 1 of user 2"},
	};
	struct scrubbed s;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		open_scrubbed(&s);
		hurt(&s, table[i].sql);
		(void)scrub_round(&s);
		if (strncmp(s.first, table[i].first, strlen(table[i].first)) !=
		    0)
			fail_msg("%s\n  found %s", table[i].sql, s.first);
		assert_int_equal(
		    metrics_get(s.metrics, METRIC_SCRUB_ERRORS), s.n);
		close_scrubbed(&s);
	}
}

/* A damaged page of each table (but meta, of which the start has a newer page
 * in its log): the scrubber reports it and continues to the end of its
 * round. */
static void
test_scrub_pages(void **state)
{
	static const char *const tables[] = {"messages", "inbox", "outbox",
	    "outbox_lanes", "users", "devices", "inboxes", "conversations",
	    "participants", "nodes", "server_keys", "peers", "peer_keys",
	    "federation_nonces", "federation_lanes"};
	struct scrubbed s;
	char sql[128], noise[16];
	long page;
	FILE *f;
	size_t i;

	(void)state;
	memset(noise, 0x5a, sizeof(noise));
	for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
		open_scrubbed(&s);
		fill_others(&s);
		(void)snprintf(sql, sizeof(sql),
		    "SELECT rootpage FROM sqlite_schema WHERE name='%s'",
		    tables[i]);
		page = (long)rig_number(&s.r, sql);
		rig_restart(&s.r); /* moves the log into the file */
		f = fopen(s.r.path, "r+");
		assert_non_null(f);
		assert_int_equal(fseek(f, (page - 1) * 4096 + 3, SEEK_SET), 0);
		assert_int_equal(fwrite(noise, 1, 2, f), 2);
		assert_int_equal(fclose(f), 0);
		(void)scrub_round(&s);
		if (s.n == 0 || strncmp(s.first, "cannot be read: ", 16) != 0)
			fail_msg("%s: found %d: %s", tables[i], s.n, s.first);
		close_scrubbed(&s);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_scrub_sound),
	    cmocka_unit_test(test_scrub_finds),
	    cmocka_unit_test(test_scrub_pages),
	};

	return (cmocka_run_group_tests_name("scrub", tests, NULL, NULL));
}
