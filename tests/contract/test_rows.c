/* SPDX-License-Identifier: MIT */
/*
 * Facts from the original requirements about tables, columns, defaults and
 * cursors, read from a database and from its schema.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "contract/rig.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

struct column {
	const char *table, *name, *type;
	bool null;
	const char *value; /* its default; "": none */
	int key;           /* its place in the primary key; 0: none */
};

static const struct column columns[] = {
    {"outbox", "id", "INTEGER", true, "", 1},
    {"outbox", "conversation_id", "INTEGER", false, "", 0},
    {"outbox", "event_id", "BLOB", false, "", 0},
    {"outbox", "kind", "INTEGER", false, "", 0},
    {"outbox", "mid", "INTEGER", false, "", 0},
    {"outbox", "created_at", "INTEGER", false, "", 0},
    {"outbox", "event_time", "INTEGER", false, "", 0},
    {"outbox", "last_attempt_at", "INTEGER", true, "", 0},
    {"outbox", "last_status_at", "INTEGER", false, "", 0},
    {"outbox", "next_retry_at", "INTEGER", true, "", 0},
    {"outbox", "sent_at", "INTEGER", true, "", 0},
    {"outbox", "retry_count", "INTEGER", false, "0", 0},
    {"outbox", "attempts", "INTEGER", false, "0", 0},
    {"outbox", "priority", "INTEGER", false, "0", 0},
    {"outbox", "state", "TEXT", false, "'pending'", 0},
    {"outbox", "last_error", "TEXT", true, "", 0},
    {"outbox", "lane_seq", "INTEGER", true, "", 0},
    {"messages", "mid", "INTEGER", true, "", 1},
    {"messages", "message_id", "BLOB", false, "", 0},
    {"messages", "sender_id", "INTEGER", false, "", 0},
    {"messages", "body", "TEXT", true, "", 0},
    {"messages", "created_at", "INTEGER", false, "", 0},
    {"outbox_lanes", "lane_id", "INTEGER", true, "", 1},
    {"outbox_lanes", "next_seq", "INTEGER", false, "1", 0},
    {"outbox_lanes", "last_published_seq", "INTEGER", false, "0", 0},
    {"outbox_lanes", "updated_at", "INTEGER", false, "", 0},
    {"outbox_lanes", "acked_seq", "INTEGER", false, "0", 0},
    {"processed_messages", "event_id", "BLOB", false, "", 1},
    {"processed_messages", "origin", "INTEGER", false, "", 2},
    {"processed_messages", "processed_at", "INTEGER", false, "", 0},
    {"processed_messages", "sequence", "INTEGER", true, "", 0},
    {"processed_messages", "behind", "INTEGER", true, "", 0},
    {"federation_lanes", "highest", "INTEGER", false, "0", 0},
    {"federation_lanes", "highest_at", "INTEGER", false, "0", 0},
    {"dead_letter_queue", "dead_id", "INTEGER", true, "", 1},
    {"dead_letter_queue", "outbox_id", "INTEGER", false, "", 0},
    {"dead_letter_queue", "reason", "TEXT", false, "", 0},
    {"dead_letter_queue", "retry_count", "INTEGER", false, "", 0},
};

static struct rig rig;
static int64_t alice;

static int
setup(void **state)
{

	(void)state;
	rig_open(&rig);
	alice = rig_user(&rig, "alice", NULL);
	(void)rig_user(&rig, "bob", NULL);
	return (0);
}

static int
teardown(void **state)
{

	(void)state;
	rig_check_promises(&rig);
	rig_close(&rig);
	return (0);
}

/* ---- the schema ---- */

/* R12-R21 R57-R61 R85 R87 R174-R176 R180-R185 R285 R380 R381 R398-R403: the
 * columns, their types and their defaults. */
static void
test_columns(void **state)
{
	char sql[160], want[160];
	const struct column *c;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(columns); i++) {
		c = &columns[i];
		(void)snprintf(sql, sizeof(sql),
		    "SELECT type || ' ' || \"notnull\" || ' ' || "
		    "coalesce(dflt_value, '') || ' ' || pk "
		    "FROM pragma_table_info('%s') WHERE name = '%s'",
		    c->table, c->name);
		(void)snprintf(want, sizeof(want), "%s %d %s %d", c->type,
		    c->null ? 0 : 1, c->value, c->key);
		if (strcmp(rig_text(&rig, sql), want) != 0)
			fail_msg("%s.%s is %s, not %s", c->table, c->name,
			    rig_text(&rig, sql), want);
	}
}

/* Returns the columns of an index, in order. */
static const char *
index_of(const char *name)
{
	char sql[160];

	(void)snprintf(sql, sizeof(sql),
	    "SELECT group_concat(name) FROM pragma_index_info('%s')", name);
	return (rig_text(&rig, sql));
}

/* R22 R23 R105 R106: waiting rows are found by their lane, in order, ended rows
 * by their state, a message by its id, each with an index. */
static void
test_indexes(void **state)
{

	(void)state;
	assert_string_equal(index_of("outbox_pending"), "lane_id,lane_seq");
	assert_string_equal(index_of("outbox_remote"), "lane_id,lane_seq");
	assert_string_equal(index_of("outbox_ended"), "state,id");
	assert_string_equal(index_of("outbox_sending"), "last_status_at");
	assert_string_equal(index_of("messages_id"), "message_id");
	assert_int_equal(
	    rig_number(&rig,
		"SELECT \"unique\" FROM pragma_index_list('messages') "
		"WHERE name = 'messages_id'"),
	    1);
	assert_int_equal(
	    rig_number(&rig,
		"SELECT count(*) FROM pragma_index_list('outbox_lanes') "
		"WHERE \"unique\" = 1 AND origin = 'u'"),
	    1);
}

/* ---- the clock ---- */

/* R179 R184 R340 R343 R344: every time is that of the clock, and none comes
 * from SQL: if the clock stands still, all times are known to the
 * millisecond. */
static void
test_one_clock(void **state)
{
	char sql[200];

	(void)state;
	assert_int_equal(
	    rig_number(&rig, "SELECT count(*) FROM sqlite_master "
			     "WHERE sql LIKE '%CURRENT_TIME%' OR sql LIKE "
			     "'%strftime%' OR sql LIKE '%datetime(%'"),
	    0);
	(void)rig_send(&rig, alice, "bob", "now", NULL);
	clk_fake_advance(&rig.clk, 11);
	assert_int_equal(rig_deliver(&rig), 1);
	(void)snprintf(sql, sizeof(sql),
	    "SELECT count(*) FROM outbox WHERE created_at = %lld AND "
	    "event_time = created_at AND sent_at = created_at + 11 AND "
	    "last_status_at = sent_at AND last_attempt_at = sent_at",
	    (long long)rig.clk.wall_ms - 11);
	assert_int_equal(rig_number(&rig, sql), 1);
	(void)snprintf(sql, sizeof(sql),
	    "SELECT count(*) FROM inbox WHERE own = 0 AND delivered_at = %lld",
	    (long long)rig.clk.wall_ms);
	assert_int_equal(rig_number(&rig, sql), 1);
}

/* ---- the cursor ---- */

static const char *
cursor(void)
{

	return (rig_text(&rig,
	    "SELECT group_concat(next_seq || ' ' || last_published_seq || ' ' "
	    "|| (updated_at - 1700000000000)) FROM outbox_lanes"));
}

/* R301 R311 R381 R382 R384 R386 R389 R394 R404 R410 R411 R413 R430: the first
 * message makes the cursor, at 1 and 0; later messages find it; a delivery
 * advances it and sets its time. */
static void
test_cursor(void **state)
{

	(void)state;
	assert_int_equal(
	    rig_number(&rig, "SELECT count(*) FROM outbox_lanes"), 0);
	(void)rig_send(&rig, alice, "bob", "first", NULL);
	assert_string_equal(cursor(), "1 0 0");
	clk_fake_advance(&rig.clk, 5);
	(void)rig_send(&rig, alice, "bob", "second", NULL);
	assert_string_equal(cursor(), "1 0 0");
	assert_string_equal(
	    rig_text(&rig, "SELECT group_concat(lane_seq || state || "
			   "coalesce(sent_at, '-')) FROM outbox"),
	    "1pending-,2pending-");
	clk_fake_advance(&rig.clk, 5);
	assert_int_equal(rig_deliver(&rig), 2);
	assert_string_equal(cursor(), "3 2 10");
	assert_string_equal(
	    rig_text(&rig, "SELECT group_concat(lane_seq || state || "
			   "(sent_at - 1700000000000)) FROM outbox"),
	    "1sent10,2sent10");
	assert_string_equal(
	    rig_text(&rig,
		"SELECT group_concat(body) FROM (SELECT m.body FROM inbox i "
		"JOIN messages m ON m.mid = i.mid WHERE i.own = 0 "
		"ORDER BY i.seq)"),
	    "first,second");
}

static void
delivered(struct unit *base)
{
	struct deliver_unit *u = CONTAINER_OF(base, struct deliver_unit, unit);

	*(bool *)u->arg = true;
}

/* R102 R419: one turn takes up to a hundred rows of a lane. */
static void
test_batch(void **state)
{
	struct deliver_unit u;
	bool done = false;
	int i;

	(void)state;
	for (i = 0; i < 130; i++)
		(void)rig_send(&rig, alice, "bob", "hello", NULL);
	memset(&u, 0, sizeof(u));
	deliver_unit_init(&u);
	u.lanes[0] = rig_number(&rig, "SELECT max(lane_id) FROM outbox_lanes");
	u.nlanes = 1;
	u.unit.finish = delivered;
	u.arg = &done;
	assert_int_equal(writer_submit(rig.writer, &u.unit), RC_OK);
	(void)writer_run_once(rig.writer);
	assert_true(done);
	assert_true(u.more[0]);
	assert_int_equal(
	    rig_number(&rig, "SELECT count(*) FROM outbox WHERE state='sent'"),
	    100);
	assert_int_equal(rig_deliver(&rig), 30);
}

#define IN_A_RIG(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    IN_A_RIG(test_columns),
	    IN_A_RIG(test_indexes),
	    IN_A_RIG(test_one_clock),
	    IN_A_RIG(test_cursor),
	    IN_A_RIG(test_batch),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
