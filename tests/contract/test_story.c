/* SPDX-License-Identifier: MIT */
/*
 * A story, verb by verb: what each verb writes into inboxes and the outbox, and
 * what it publishes, row by row and member by member.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "contract/rig.h"
#include "model/outbox.h"

#define SAID_SIZE 8192

static struct rig rig;
static int64_t ann, ben, ann_phone, ben_phone;
static struct uuid ids[16]; /* of messages, by their numbers */
static char said[SAID_SIZE];
static size_t nsaid;

static void
open_story(void)
{

	rig_open(&rig);
	ann = rig_user(&rig, "ann", &ann_phone);
	ben = rig_user(&rig, "ben", &ben_phone);
	rig_forget(&rig);
	memset(ids, 0, sizeof(ids));
}

/* ---- the changes ---- */

static void say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

static void
say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	nsaid += (size_t)vsnprintf(said + nsaid, sizeof(said) - nsaid, fmt, ap);
	va_end(ap);
	assert_true(nsaid < sizeof(said));
}

/* Returns a time in ms since the story began.  0 stays 0. */
static int
since(int64_t ms)
{

	return (ms == 0 ? 0 : (int)(ms - RIG_START_MS));
}

static int
number_of(const struct uuid *id)
{
	size_t i;

	for (i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		if (uuid_equal(&ids[i], id))
			return ((int)i);
	return (-1);
}

/* Writes the rows of the present time: those of inboxes, then those of the
 * outbox, numbered as they were added (PostgreSQL's ids have gaps). */
static void
say_rows(void)
{
	char sql[1024];

	(void)snprintf(sql, sizeof(sql),
	    "SELECT user_id || '/' || seq || ' kind ' || kind || ' own ' || "
	    "CAST(own AS INTEGER) || ' mid ' || mid || ' in ' || "
	    "conversation_id || '/' || conversation_seq || ' by ' || "
	    "actor_id || ' of ' || (SELECT count(*) FROM outbox o WHERE "
	    "o.id <= outbox_id) || ' at ' || "
	    "(event_time - %lld) || ' try ' || attempt || ';' "
	    "FROM inbox WHERE delivered_at = %lld ORDER BY user_id, seq",
	    (long long)RIG_START_MS, (long long)rig.clk.wall_ms);
	say("inbox: %s\n", rig_list(&rig, sql));
	(void)snprintf(sql, sizeof(sql),
	    "SELECT (SELECT count(*) FROM outbox o WHERE o.id <= outbox.id) || "
	    "' kind ' || kind || ' mid ' || mid || ' in ' || "
	    "conversation_id || '/' || coalesce(conversation_seq, 0) || ' ' "
	    "|| sender_id || '>' || dest_id || ' lane ' || "
	    "coalesce(lane_id, 0) || '/' || coalesce(lane_seq, 0) || ' ' || "
	    "state || ' try ' || attempts || ' at ' || "
	    "(event_time - %lld) || ' ' || (created_at - %lld) || ' sent ' || "
	    "coalesce(sent_at - %lld, 0) || ' acked ' || "
	    "coalesce(acked_at - %lld, 0) || coalesce(reason, '') || ';' "
	    "FROM outbox WHERE last_status_at = %lld ORDER BY id",
	    (long long)RIG_START_MS, (long long)RIG_START_MS,
	    (long long)RIG_START_MS, (long long)RIG_START_MS,
	    (long long)rig.clk.wall_ms);
	say("outbox: %s\n", rig_list(&rig, sql));
}

static void
say_event(const struct effect_event *e)
{
	struct uuid conversation;

	say("event: %d/%d kind %d own %d in %d %s>%s of %d at %d %d try %d",
	    (int)e->user_id, (int)e->seq, e->kind, e->own,
	    (int)e->conversation_seq, e->from->data,
	    e->to != NULL ? e->to->data : "-", number_of(&e->of),
	    since(e->event_time), since(e->delivered_at), e->attempt);
	if (e->kind == EVENT_BOUNCE)
		say(" %s", outbox_reason_word((enum outbox_reason)e->reason));
	say("\n");
	memset(&conversation, 0, sizeof(conversation));
	assert_false(uuid_equal(&e->conversation, &conversation));
	assert_false(uuid_equal(&e->event_id, &conversation));
}

/* Returns all that was written and published since the last call.  A
 * millisecond passes. */
static const char *
told(void)
{
	int i;

	nsaid = 0;
	said[0] = '\0';
	say_rows();
	for (i = 0; i < rig.nevents; i++)
		say_event(&rig.events[i]);
	for (i = 0; i < rig.nchanges; i++)
		say("change: %d %d %s\n", (int)rig.changes[i].user_id,
		    (int)rig.changes[i].mid,
		    effects_outbox_event_name(rig.changes[i].event));
	rig_forget(&rig);
	clk_fake_advance(&rig.clk, 1);
	return (said);
}

static void
send(int number, int64_t from, const char *to)
{
	struct send_unit u;

	ids[number] = uuid_gen_next(&rig.ids);
	u = rig_send(&rig, from, to, "hello", &ids[number]);
	assert_int_equal(u.unit.rc, RC_OK);
	assert_int_equal(u.refusal.problem, PROBLEM_NONE);
}

/* ---- stories ---- */

static void
acked_then_read(void)
{

	send(1, ann, "ben");
	assert_string_equal(told(),
	    "inbox: 1/1 kind 1 own 1 mid 1 in 1/1 by 1 of 0 at 0 try 1;\n"
	    "outbox: 1 kind 1 mid 1 in 1/1 1>2 lane 1/1 pending try 0 at 0 0 "
	    "sent 0 acked 0;\n"
	    "event: 1/1 kind 1 own 1 in 1 ann>ben of 1 at 0 0 try 1\n");
	assert_int_equal(rig_deliver(&rig), 1);
	assert_string_equal(told(),
	    "inbox: 2/1 kind 1 own 0 mid 1 in 1/1 by 1 of 1 at 0 try 1;\n"
	    "outbox: 1 kind 1 mid 1 in 1/1 1>2 lane 1/1 sent try 1 at 0 0 sent "
	    "1 acked 0;\n"
	    "event: 2/1 kind 1 own 0 in 1 ann>ben of 1 at 0 1 try 1\n"
	    "change: 1 1 sent\n");
	assert_int_equal(
	    rig_ack(&rig, ben, ben_phone, 1).refusal.problem, PROBLEM_NONE);
	assert_string_equal(told(),
	    "inbox: \n"
	    "outbox: 1 kind 1 mid 1 in 1/1 1>2 lane 1/1 acked try 1 at 0 0 "
	    "sent 1 acked 2; 2 kind 2 mid 1 in 1/1 2>1 lane 2/1 pending try 0 "
	    "at 2 2 sent 0 acked 0;\n"
	    "change: 1 1 acked\n");
	assert_int_equal(rig_deliver(&rig), 1);
	assert_string_equal(told(),
	    "inbox: 1/2 kind 2 own 0 mid 1 in 1/1 by 2 of 2 at 2 try 1;\n"
	    "outbox: 2 kind 2 mid 1 in 1/1 2>1 lane 2/1 sent try 1 at 2 2 sent "
	    "3 acked 0;\n"
	    "event: 1/2 kind 2 own 0 in 1 ben>ann of 1 at 2 3 try 1\n");
	(void)rig_read(&rig, ben, ben_phone, 1, false);
	assert_string_equal(told(),
	    "inbox: 2/2 kind 4 own 1 mid 1 in 1/1 by 2 of 3 at 4 try 1;\n"
	    "outbox: 3 kind 4 mid 1 in 1/1 2>2 lane 0/0 acked try 0 at 4 4 "
	    "sent 4 acked 4; 4 kind 3 mid 1 in 1/1 2>1 lane 2/2 pending try 0 "
	    "at 4 4 sent 0 acked 0;\n"
	    "event: 2/2 kind 4 own 1 in 1 ben>ann of 1 at 4 4 try 1\n"
	    "change: 1 1 changed\n");
	assert_int_equal(rig_deliver(&rig), 1);
	assert_string_equal(told(),
	    "inbox: 1/3 kind 3 own 0 mid 1 in 1/1 by 2 of 4 at 4 try 1;\n"
	    "outbox: 4 kind 3 mid 1 in 1/1 2>1 lane 2/2 sent try 1 at 4 4 sent "
	    "5 acked 0;\n"
	    "event: 1/3 kind 3 own 0 in 1 ben>ann of 1 at 4 5 try 1\n");
	/* A second time nothing changes. */
	(void)rig_ack(&rig, ben, ben_phone, 1);
	(void)rig_read(&rig, ben, ben_phone, 1, false);
	assert_string_equal(told(), "inbox: \n"
				    "outbox: \n");
}

static void
read_unacked(void)
{

	/* A read without an ack before; and a private one. */
	send(2, ann, "ben");
	send(3, ann, "ben");
	assert_int_equal(rig_deliver(&rig), 2);
	(void)told();
	(void)rig_read(&rig, ben, ben_phone, 3, false);
	assert_string_equal(told(),
	    "inbox: 2/5 kind 4 own 1 mid 2 in 1/2 by 2 of 8 at 8 try 1;\n"
	    "outbox: 5 kind 1 mid 2 in 1/2 1>2 lane 1/2 acked try 1 at 7 7 "
	    "sent 7 acked 8; 7 kind 2 mid 2 in 1/2 2>1 lane 2/3 pending try 0 "
	    "at 8 8 sent 0 acked 0; 8 kind 4 mid 2 in 1/2 2>2 lane 0/0 acked "
	    "try 0 at 8 8 sent 8 acked 8; 9 kind 3 mid 2 in 1/2 2>1 lane 2/4 "
	    "pending try 0 at 8 8 sent 0 acked 0;\n"
	    "event: 2/5 kind 4 own 1 in 2 ben>ann of 2 at 8 8 try 1\n"
	    "change: 1 2 acked\n"
	    "change: 1 2 changed\n");
	(void)rig_read(&rig, ben, ben_phone, 5, true);
	assert_string_equal(told(),
	    "inbox: 2/6 kind 4 own 1 mid 3 in 1/3 by 2 of 10 at 9 try 1;\n"
	    "outbox: 6 kind 1 mid 3 in 1/3 1>2 lane 1/3 acked try 1 at 7 7 "
	    "sent 7 acked 9; 10 kind 4 mid 3 in 1/3 2>2 lane 0/0 acked try 0 "
	    "at 9 9 sent 9 acked 9;\n"
	    "event: 2/6 kind 4 own 1 in 3 ben>ann of 3 at 9 9 try 1\n"
	    "change: 1 3 acked\n");
	(void)rig_deliver(&rig);
	assert_string_equal(told(),
	    "inbox: 1/6 kind 2 own 0 mid 3 in 1/3 by 2 of 7 at 9 try 1; 1/7 "
	    "kind 3 own 0 mid 2 in 1/2 by 2 of 9 at 8 try 1;\n"
	    "outbox: 7 kind 2 mid 3 in 1/3 2>1 lane 2/3 sent try 1 at 9 8 sent "
	    "10 acked 0; 9 kind 3 mid 2 in 1/2 2>1 lane 2/4 sent try 1 at 8 8 "
	    "sent 10 acked 0;\n"
	    "event: 1/6 kind 2 own 0 in 3 ben>ann of 3 at 9 10 try 1\n"
	    "event: 1/7 kind 3 own 0 in 2 ben>ann of 2 at 8 10 try 1\n");
}

static void
test_receipts(void **state)
{

	(void)state;
	open_story();
	acked_then_read();
	read_unacked();
	rig_check_promises(&rig);
	rig_close(&rig);
}

static void
test_taken_back(void **state)
{

	(void)state;
	open_story();
	send(1, ann, "ben");
	(void)told();
	assert_int_equal(
	    rig_cancel(&rig, ann, &ids[1]).refusal.problem, PROBLEM_NONE);
	assert_string_equal(told(),
	    "inbox: 1/2 kind 7 own 1 mid 1 in 1/1 by 1 of 0 at 1 try 1;\n"
	    "outbox: 1 kind 1 mid 1 in 1/1 1>2 lane 1/1 canceled try 0 at 0 0 "
	    "sent 0 acked 0;\n"
	    "event: 1/2 kind 7 own 1 in 1 ann>ben of 1 at 1 1 try 1\n"
	    "change: 1 1 changed\n");
	assert_int_equal(rig_cancel(&rig, ann, &ids[1]).refusal.problem,
	    PROBLEM_ALREADY_SENT);
	assert_string_equal(told(), "inbox: \n"
				    "outbox: \n");
	rig_close(&rig);
}

/* Scheduled messages, notes to oneself, and scheduled notes. */
static void
test_times(void **state)
{

	(void)state;
	open_story();
	send(1, ann, "ann");
	assert_string_equal(told(),
	    "inbox: 1/1 kind 1 own 1 mid 1 in 1/1 by 1 of 0 at 0 try 1;\n"
	    "outbox: 1 kind 1 mid 1 in 1/1 1>1 lane 0/0 acked try 0 at 0 0 "
	    "sent 0 acked 0;\n"
	    "event: 1/1 kind 1 own 1 in 1 ann>ann of 1 at 0 0 try 1\n");
	(void)rig_send_at(&rig, ann, "ben", "x", RIG_START_MS + 100);
	(void)rig_send_at(&rig, ann, "ann", "y", RIG_START_MS + 100);
	assert_string_equal(told(),
	    "inbox: \n"
	    "outbox: 2 kind 1 mid 2 in 2/0 1>2 lane 1/0 pending try 0 at 1 1 "
	    "sent 0 acked 0; 3 kind 1 mid 3 in 1/0 1>1 lane 2/0 pending try 0 "
	    "at 1 1 sent 0 acked 0;\n");
	assert_int_equal(rig_release(&rig), 0);
	clk_fake_advance(&rig.clk, 98);
	assert_int_equal(rig_release(&rig), 2);
	assert_string_equal(told(),
	    "inbox: 1/2 kind 1 own 1 mid 2 in 2/1 by 1 of 0 at 1 try 1; 1/3 "
	    "kind 1 own 1 mid 3 in 1/2 by 1 of 0 at 1 try 1;\n"
	    "outbox: 2 kind 1 mid 2 in 2/1 1>2 lane 1/1 pending try 0 at 1 1 "
	    "sent 0 acked 0; 3 kind 1 mid 3 in 1/2 1>1 lane 2/1 acked try 1 at "
	    "1 1 sent 100 acked 100;\n"
	    "event: 1/2 kind 1 own 1 in 1 ann>ben of -1 at 1 100 try 1\n"
	    "event: 1/3 kind 1 own 1 in 2 ann>ann of -1 at 1 100 try 1\n"
	    "change: 1 2 changed\n"
	    "change: 1 3 acked\n");
	assert_int_equal(rig_deliver(&rig), 1);
	assert_string_equal(told(),
	    "inbox: 2/1 kind 1 own 0 mid 2 in 2/1 by 1 of 2 at 1 try 1;\n"
	    "outbox: 2 kind 1 mid 2 in 2/1 1>2 lane 1/1 sent try 1 at 1 1 sent "
	    "101 acked 0;\n"
	    "event: 2/1 kind 1 own 0 in 1 ann>ben of -1 at 1 101 try 1\n"
	    "change: 1 2 sent\n");
	rig_check_promises(&rig);
	rig_close(&rig);
}

/* A message that expires returns to its sender as a bounce. */
static void
test_bounce(void **state)
{

	(void)state;
	open_story();
	send(1, ann, "ben");
	send(2, ann, "ben");
	(void)rig_exec(
	    &rig, "UPDATE outbox SET expires_at = event_time WHERE id = 1");
	(void)told();
	(void)rig_deliver(&rig);
	assert_string_equal(told(),
	    "inbox: 1/3 kind 5 own 1 mid 1 in 1/1 by 1 of 3 at 1 try 1; 2/1 "
	    "kind 1 own 0 mid 2 in 1/2 by 1 of 2 at 0 try 1;\n"
	    "outbox: 1 kind 1 mid 1 in 1/1 1>2 lane 1/1 expired try 0 at 0 0 "
	    "sent 0 acked 0expired; 2 kind 1 mid 2 in 1/2 1>2 lane 1/2 sent "
	    "try 1 at 0 0 sent 1 acked 0; 3 kind 5 mid 1 in 1/1 1>1 lane 0/0 "
	    "acked try 0 at 1 1 sent 1 acked 1expired;\n"
	    "event: 1/3 kind 5 own 1 in 1 ann>ben of 1 at 1 1 try 1 expired\n"
	    "event: 2/1 kind 1 own 0 in 2 ann>ben of 2 at 0 1 try 1\n"
	    "change: 1 1 failed\n"
	    "change: 1 2 sent\n");
	assert_string_equal(
	    rig_list(&rig,
		"SELECT outbox_id || '/' || mid || '/' || sender_id || '/' || "
		"dest_id || '/' || destination_id || '/' || state || '/' || "
		"reason || '/' || attempts || '/' || retry_count || '/' || "
		"(event_time - 1700000000000) || '/' || "
		"(created_at - 1700000000000) || '/' || "
		"(dead_at - 1700000000000) FROM dead_letter_queue"),
	    "1/1/1/2/1/expired/expired/0/0/0/0/1");
	rig_check_promises(&rig);
	rig_close(&rig);
}

/* After a restart earlier messages are read from the store, with the same
 * result. */
static void
test_restart(void **state)
{

	(void)state;
	open_story();
	send(1, ann, "ben");
	(void)told();
	rig_restart(&rig);
	assert_int_equal(rig_deliver(&rig), 1);
	assert_string_equal(told(),
	    "inbox: 2/1 kind 1 own 0 mid 1 in 1/1 by 1 of 1 at 0 try 1;\n"
	    "outbox: 1 kind 1 mid 1 in 1/1 1>2 lane 1/1 sent try 1 at 0 0 sent "
	    "1 acked 0;\n"
	    "event: 2/1 kind 1 own 0 in 1 ann>ben of 1 at 0 1 try 1\n"
	    "change: 1 1 sent\n");
	rig_restart(&rig);
	(void)rig_read(&rig, ben, ben_phone, 1, false);
	assert_string_equal(told(),
	    "inbox: 2/2 kind 4 own 1 mid 1 in 1/1 by 2 of 3 at 2 try 1;\n"
	    "outbox: 1 kind 1 mid 1 in 1/1 1>2 lane 1/1 acked try 1 at 0 0 "
	    "sent 1 acked 2; 2 kind 2 mid 1 in 1/1 2>1 lane 2/1 pending try 0 "
	    "at 2 2 sent 0 acked 0; 3 kind 4 mid 1 in 1/1 2>2 lane 0/0 acked "
	    "try 0 at 2 2 sent 2 acked 2; 4 kind 3 mid 1 in 1/1 2>1 lane 2/2 "
	    "pending try 0 at 2 2 sent 0 acked 0;\n"
	    "event: 2/2 kind 4 own 1 in 1 ben>ann of 1 at 2 2 try 1\n"
	    "change: 1 1 acked\n"
	    "change: 1 1 changed\n");
	rig_restart(&rig);
	assert_int_equal(rig_deliver(&rig), 2);
	assert_string_equal(told(),
	    "inbox: 1/2 kind 2 own 0 mid 1 in 1/1 by 2 of 2 at 2 try 1; 1/3 "
	    "kind 3 own 0 mid 1 in 1/1 by 2 of 4 at 2 try 1;\n"
	    "outbox: 2 kind 2 mid 1 in 1/1 2>1 lane 2/1 sent try 1 at 2 2 sent "
	    "3 acked 0; 4 kind 3 mid 1 in 1/1 2>1 lane 2/2 sent try 1 at 2 2 "
	    "sent 3 acked 0;\n"
	    "event: 1/2 kind 2 own 0 in 1 ben>ann of 1 at 2 3 try 1\n"
	    "event: 1/3 kind 3 own 0 in 1 ben>ann of 1 at 2 3 try 1\n");
	rig_check_promises(&rig);
	rig_close(&rig);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_receipts),
	    cmocka_unit_test(test_taken_back),
	    cmocka_unit_test(test_times),
	    cmocka_unit_test(test_bounce),
	    cmocka_unit_test(test_restart),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
