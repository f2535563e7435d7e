/* SPDX-License-Identifier: MIT */
/*
 * The main job against the store: what each verb writes into the tables, and
 * what it publishes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contract/rig.h"
#include "model/event.h"

/* R133 R134 R158 R159 R160 R161 R168 R188 R190 R198 R296 R297 R359 R429: one
 * transaction holds the message, its outbox row and the sender's own copy. */
static void
test_send_writes_all(void **state)
{
	struct send_unit u;
	struct rig r;
	int64_t alice;

	(void)state;
	rig_open(&r);
	alice = rig_user(&r, "alice", NULL);
	(void)rig_user(&r, "bob", NULL);
	rig_forget(&r);
	u = rig_send(&r, alice, "bob", "hello", NULL);
	assert_int_equal(u.unit.rc, RC_OK);
	assert_int_equal(u.refusal.problem, PROBLEM_NONE);
	assert_false(u.replayed);
	assert_int_equal(u.conversation_seq, 1);
	assert_int_equal(rig_number(&r, "SELECT count(*) FROM messages"), 1);
	assert_string_equal(
	    rig_text(&r, "SELECT state FROM outbox"), "pending");
	assert_int_equal(
	    rig_number(&r, "SELECT created_at FROM outbox"), RIG_START_MS);
	assert_int_equal(rig_number(&r, "SELECT own FROM inbox"), 1);
	assert_int_equal(
	    rig_number(&r, "SELECT next_seq FROM outbox_lanes"), 1);
	assert_int_equal(
	    rig_number(&r, "SELECT last_published_seq FROM outbox_lanes"), 0);
	assert_int_equal(r.nevents, 1);
	assert_int_equal(r.events[0].user_id, alice);
	assert_int_equal(r.nlanes, 1);
	rig_check_promises(&r);
	rig_close(&r);
}

/* R165 R167 R192 R392 R393 R395 R409 R412 R432 R433: delivery puts the message
 * into the inbox, settles the row and advances the lane's cursor. */
static void
test_deliver(void **state)
{
	struct rig r;
	int64_t alice;
	int i;

	(void)state;
	rig_open(&r);
	alice = rig_user(&r, "alice", NULL);
	(void)rig_user(&r, "bob", NULL);
	for (i = 0; i < 250; i++)
		(void)rig_send(&r, alice, "bob", "hello", NULL);
	clk_fake_advance(&r.clk, 7);
	assert_int_equal(rig_deliver(&r), 250);
	assert_int_equal(
	    rig_number(&r, "SELECT count(*) FROM outbox WHERE state='sent' "
			   "AND attempts=1 AND sent_at=created_at+7"),
	    250);
	assert_int_equal(
	    rig_number(&r, "SELECT next_seq FROM outbox_lanes"), 251);
	assert_int_equal(
	    rig_number(&r, "SELECT last_published_seq FROM outbox_lanes"), 250);
	assert_int_equal(
	    rig_number(&r,
		"SELECT count(*) FROM inbox i JOIN "
		"users u ON u.user_id=i.user_id WHERE u.name='bob' AND "
		"i.seq = i.conversation_seq"),
	    250);
	assert_int_equal(rig_deliver(&r), 0);
	rig_check_promises(&r);
	rig_close(&r);
}

static void
turn_finished(struct unit *base)
{
	struct deliver_unit *u = CONTAINER_OF(base, struct deliver_unit, unit);

	*(bool *)u->arg = true;
}

/* Delivers once from the only lane with pending rows.  Returns the finished
 * unit. */
static struct deliver_unit
deliver_once(struct rig *r)
{
	struct deliver_unit u;
	struct err err = ERR_INIT;
	bool none, done = false;

	assert_int_equal(rig_deliver_unit(r, &u, &none, &err), RC_OK);
	assert_false(none);
	assert_int_equal(u.nlanes, 1);
	u.unit.finish = turn_finished;
	u.arg = &done;
	assert_int_equal(writer_submit(r->writer, &u.unit), RC_OK);
	assert_int_equal(writer_run_once(r->writer), 1);
	assert_true(done);
	return (u);
}

/* Delivers once; it must deliver ${want} messages.  Returns true if the lane
 * has more. */
static bool
turn(struct rig *r, size_t want)
{
	const struct deliver_unit u = deliver_once(r);

	assert_int_equal(u.delivered, want);
	return (u.more[0]);
}

/* A turn reports correctly whether its lane has more, down to the last message.
 * The caller relies on this and runs no query. */
static void
test_more(void **state)
{
	int64_t alice;
	struct rig r;
	int i;

	(void)state;
	rig_open(&r);
	alice = rig_user(&r, "alice", NULL);
	(void)rig_user(&r, "bob", NULL);
	for (i = 0; i < DELIVER_ROWS + 1; i++)
		(void)rig_send(&r, alice, "bob", "hello", NULL);
	assert_true(turn(&r, DELIVER_ROWS));
	assert_false(turn(&r, 1));
	for (i = 0; i < DELIVER_ROWS; i++)
		(void)rig_send(&r, alice, "bob", "hello", NULL);
	assert_false(turn(&r, DELIVER_ROWS));
	assert_int_equal(rig_deliver(&r), 0);
	rig_check_promises(&r);
	rig_close(&r);
}

/* A pause ends after the lifetime of a waiting message: that message expires,
 * and later ones are delivered. */
static void
test_expired_behind_pause(void **state)
{
	struct rig r;
	int64_t alice;

	(void)state;
	rig_open(&r);
	alice = rig_user(&r, "alice", NULL);
	(void)rig_user(&r, "bob", NULL);
	(void)rig_send(&r, alice, "bob", "old", NULL);
	clk_fake_advance(&r.clk,
	    rig_number(&r, "SELECT expires_at FROM outbox") - RIG_START_MS);
	(void)rig_send(&r, alice, "bob", "new", NULL);
	(void)rig_deliver(&r);
	assert_string_equal(
	    rig_list(&r, "SELECT state FROM outbox WHERE kind = 1 ORDER BY id"),
	    "expired sent");
	assert_string_equal(
	    rig_list(&r,
		"SELECT m.body FROM inbox i JOIN messages m ON m.mid = i.mid "
		"WHERE i.own = 0 AND i.kind = 1"),
	    "new");
	assert_int_equal(
	    rig_number(&r, "SELECT count(*) FROM dead_letter_queue"), 1);
	rig_check_promises(&r);
	rig_close(&r);
}

/* R42 R53 R247: the same id is accepted once; another content or another
 * sender under it is refused. */
static void
test_idempotency(void **state)
{
	struct send_unit a, b;
	struct uuid id;
	struct rig r;
	int64_t alice, carol;

	(void)state;
	rig_open(&r);
	alice = rig_user(&r, "alice", NULL);
	(void)rig_user(&r, "bob", NULL);
	carol = rig_user(&r, "carol", NULL);
	a = rig_send(&r, alice, "bob", "hello", NULL);
	id = a.draft->id;
	id = uuid_gen_next(&r.ids);
	a = rig_send(&r, alice, "bob", "hello", &id);
	assert_false(a.replayed);
	b = rig_send(&r, alice, "bob", "hello", &id);
	assert_true(b.replayed);
	assert_int_equal(b.mid, a.mid);
	b = rig_send(&r, alice, "bob", "hello!", &id);
	assert_int_equal(b.refusal.problem, PROBLEM_KEY_REUSED);
	b = rig_send(&r, carol, "bob", "hello", &id);
	assert_int_equal(b.refusal.problem, PROBLEM_CONFLICT);
	assert_int_equal(rig_number(&r, "SELECT count(*) FROM messages"), 2);
	rig_restart(&r);
	b = rig_send(&r, alice, "bob", "hello", &id);
	assert_true(b.replayed);
	rig_check_promises(&r);
	rig_close(&r);
}

static void
finished(struct unit *base)
{
	struct send_unit *u = CONTAINER_OF(base, struct send_unit, unit);

	(*(int *)u->arg)++;
}

/* Two sends with one id in one batch: the second is a replay of the first. */
static void
test_same_id_in_one_batch(void **state)
{
	struct message_draft draft = {0};
	struct send_unit u[3];
	struct rig r;
	int64_t alice;
	int i, done = 0;

	(void)state;
	rig_open(&r);
	alice = rig_user(&r, "alice", NULL);
	(void)rig_user(&r, "bob", NULL);
	draft.has_id = true;
	draft.id = uuid_gen_next(&r.ids);
	draft.to = (struct span){"bob", 3};
	draft.body = (struct span){"x", 1};
	for (i = 0; i < 3; i++) {
		memset(&u[i], 0, sizeof(u[i]));
		send_unit_init(&u[i]);
		assert_true(
		    send_unit_ask(&u[i], alice, &draft, &rig_addressing));
		u[i].unit.finish = finished;
		u[i].arg = &done;
		assert_int_equal(writer_submit(r.writer, &u[i].unit), RC_OK);
	}
	assert_int_equal(writer_run_once(r.writer), 3);
	assert_int_equal(done, 3);
	assert_false(u[0].replayed);
	assert_true(u[1].replayed);
	assert_true(u[2].replayed);
	assert_int_equal(rig_number(&r, "SELECT count(*) FROM messages"), 1);
	rig_check_promises(&r);
	rig_close(&r);
}

/* R26 R27 R49 R51 R65 R224: the ack of the first device settles the rows and
 * makes one cumulative receipt; the ack of a second device makes none. */
static void
test_ack_and_receipts(void **state)
{
	struct ack_unit u;
	struct rig r;
	int64_t alice, bob, desktop, phone, laptop;
	int i;

	(void)state;
	rig_open(&r);
	alice = rig_user(&r, "alice", &desktop);
	bob = rig_user(&r, "bob", &phone);
	laptop = phone;
	for (i = 0; i < 5; i++)
		(void)rig_send(&r, alice, "bob", "hello", NULL);
	(void)rig_deliver(&r);
	u = rig_ack(&r, bob, phone, 6);
	assert_int_equal(u.refusal.problem, PROBLEM_ACK_BEYOND_HEAD);
	assert_int_equal(u.refusal.head, 5);
	u = rig_ack(&r, bob, phone, 3);
	assert_int_equal(u.acked, 3);
	u = rig_ack(&r, bob, laptop, 2);
	assert_int_equal(u.acked, 3);
	u = rig_ack(&r, bob, phone, 5);
	assert_int_equal(
	    rig_number(&r, "SELECT count(*) FROM outbox WHERE state='acked' "
			   "AND kind=1"),
	    5);
	/* Undelivered receipts are merged into one. */
	assert_int_equal(
	    rig_number(&r, "SELECT count(*) FROM outbox WHERE kind=2"), 1);
	assert_int_equal(
	    rig_number(&r, "SELECT conversation_seq FROM outbox WHERE kind=2"),
	    5);
	rig_forget(&r);
	assert_int_equal(rig_deliver(&r), 1);
	assert_int_equal(r.nevents, 1);
	assert_int_equal(r.events[0].kind, EVENT_DELIVERED);
	assert_int_equal(r.events[0].user_id, alice);
	assert_int_equal(r.events[0].conversation_seq, 5);
	/* A receipt causes no receipt. */
	(void)rig_ack(&r, alice, desktop, 6);
	assert_int_equal(rig_deliver(&r), 0);
	rig_check_promises(&r);
	rig_close(&r);
}

/* R140 R210 R219: read marks, receipts and unread counts. */
static void
test_read(void **state)
{
	struct read_unit u;
	struct rig r;
	int64_t alice, bob, phone;

	(void)state;
	rig_open(&r);
	alice = rig_user(&r, "alice", NULL);
	bob = rig_user(&r, "bob", &phone);
	(void)rig_send(&r, alice, "bob", "one", NULL);
	(void)rig_send(&r, alice, "bob", "two", NULL);
	(void)rig_deliver(&r);
	u = rig_read(&r, bob, phone, 1, true);
	assert_int_equal(u.refusal.problem, PROBLEM_NONE);
	assert_int_equal(
	    rig_number(&r, "SELECT count(*) FROM outbox WHERE kind=3"), 0);
	u = rig_read(&r, bob, phone, 2, false);
	assert_int_equal(
	    rig_number(&r, "SELECT count(*) FROM outbox WHERE kind=3"), 1);
	assert_int_equal(
	    rig_number(&r,
		"SELECT read_upto FROM participants "
		"p JOIN users u ON u.user_id=p.user_id WHERE name='bob'"),
	    2);
	/* The reader's other devices see two read events in the reader's
	 * inbox. */
	assert_int_equal(
	    rig_number(&r, "SELECT count(*) FROM inbox WHERE kind=4"), 2);
	assert_int_equal(rig_deliver(&r), 2);
	u = rig_read(&r, bob, phone, 1, false);
	assert_int_equal(rig_deliver(&r), 0);
	u = rig_read(&r, bob, phone, 99, false);
	assert_int_equal(u.refusal.problem, PROBLEM_ACK_BEYOND_HEAD);
	rig_check_promises(&r);
	rig_close(&r);
}

/* A canceled row leaves a gap, over which the lane continues. */
static void
test_cancel(void **state)
{
	struct cancel_unit c;
	struct uuid first, second;
	struct rig r;
	int64_t alice;

	(void)state;
	rig_open(&r);
	alice = rig_user(&r, "alice", NULL);
	(void)rig_user(&r, "bob", NULL);
	first = uuid_gen_next(&r.ids);
	second = uuid_gen_next(&r.ids);
	(void)rig_send(&r, alice, "bob", "one", &first);
	(void)rig_send(&r, alice, "bob", "two", &second);
	c = rig_cancel(&r, alice, &first);
	assert_int_equal(c.refusal.problem, PROBLEM_NONE);
	assert_int_equal(rig_deliver(&r), 1);
	c = rig_cancel(&r, alice, &second);
	assert_int_equal(c.refusal.problem, PROBLEM_ALREADY_SENT);
	c = rig_cancel(&r, alice, &(struct uuid){{1}});
	assert_int_equal(c.refusal.problem, PROBLEM_NOT_FOUND);
	assert_int_equal(
	    rig_number(&r, "SELECT count(*) FROM inbox WHERE kind=7"), 1);
	/* The last row of a lane is canceled: the lane must not stay ready. */
	(void)rig_send(&r, alice, "bob", "three", &(struct uuid){{3}});
	(void)rig_cancel(&r, alice, &(struct uuid){{3}});
	assert_int_equal(rig_deliver(&r), 0);
	rig_check_promises(&r);
	rig_close(&r);
}

/* R299 R364 R365 R366: a scheduled message has no place until it is due. */
static void
test_scheduled(void **state)
{
	struct send_unit u;
	struct rig r;
	int64_t alice;

	(void)state;
	rig_open(&r);
	alice = rig_user(&r, "alice", NULL);
	(void)rig_user(&r, "bob", NULL);
	u = rig_send_at(&r, alice, "bob", "later", RIG_START_MS + 3600000);
	assert_int_equal(u.conversation_seq, 0);
	(void)rig_send(&r, alice, "bob", "now", NULL);
	assert_int_equal(rig_deliver(&r), 1);
	assert_int_equal(rig_release(&r), 0);
	clk_fake_advance(&r.clk, 3600000);
	assert_int_equal(rig_release(&r), 1);
	assert_int_equal(rig_deliver(&r), 1);
	assert_string_equal(
	    rig_list(&r, "SELECT body FROM messages ORDER BY conversation_seq"),
	    "now later");
	assert_int_equal(
	    rig_number(&r, "SELECT count(*) FROM outbox WHERE retry_count=0"),
	    2);
	rig_check_promises(&r);
	rig_close(&r);
}

/* A sender may have at most a hundred scheduled messages. */
static void
test_scheduled_most(void **state)
{
	struct send_unit u;
	struct rig r;
	int64_t alice, bob;
	int i;

	(void)state;
	rig_open(&r);
	alice = rig_user(&r, "alice", NULL);
	bob = rig_user(&r, "bob", NULL);
	for (i = 0; i < LIMIT_SCHEDULED; i++) {
		u = rig_send_at(
		    &r, alice, "bob", "later", RIG_START_MS + 3600000);
		assert_int_equal(u.refusal.problem, PROBLEM_NONE);
	}
	u = rig_send_at(&r, alice, "bob", "later", RIG_START_MS + 3600000);
	assert_int_equal(u.refusal.problem, PROBLEM_QUEUE_FULL);
	assert_string_equal(u.refusal.pointer, "/deliver_at");
	u = rig_send_at(&r, bob, "alice", "later", RIG_START_MS + 3600000);
	assert_int_equal(u.refusal.problem, PROBLEM_NONE);
	u = rig_send(&r, alice, "bob", "now", NULL);
	assert_int_equal(u.refusal.problem, PROBLEM_NONE);
	rig_close(&r);
}

/* A note to oneself: the sender's own copy is the delivery. */
static void
test_note_to_self(void **state)
{
	struct send_unit u;
	struct rig r;
	int64_t alice;

	(void)state;
	rig_open(&r);
	alice = rig_user(&r, "alice", NULL);
	u = rig_send(&r, alice, "alice", "milk", NULL);
	assert_true(u.to_self);
	assert_string_equal(rig_text(&r, "SELECT state FROM outbox"), "acked");
	assert_int_equal(rig_deliver(&r), 0);
	assert_int_equal(rig_number(&r, "SELECT count(*) FROM inbox"), 1);
	rig_check_promises(&r);
	rig_close(&r);
}

static void
test_unknown_recipient(void **state)
{
	struct send_unit u;
	struct rig r;
	int64_t alice;

	(void)state;
	rig_open(&r);
	alice = rig_user(&r, "alice", NULL);
	u = rig_send(&r, alice, "nobody", "hello", NULL);
	assert_int_equal(u.refusal.problem, PROBLEM_UNKNOWN_RECIPIENT);
	assert_string_equal(u.refusal.pointer, "/to");
	assert_int_equal(rig_number(&r, "SELECT count(*) FROM messages"), 0);
	rig_close(&r);
}

/* ---- the writer ---- */

/* A unit that fails abandons the transaction.  The writer then runs each of the
 * other units alone, and publishes each event once. */
static void
test_abandoned_batch(void **state)
{
	struct message_draft drafts[2];
	struct send_unit u[2];
	struct unit failing = rig_failing();
	struct rig r;
	int64_t alice;
	int i, done = 0;

	(void)state;
	rig_open(&r);
	alice = rig_user(&r, "alice", NULL);
	(void)rig_user(&r, "bob", NULL);
	memset(drafts, 0, sizeof(drafts));
	memset(u, 0, sizeof(u));
	for (i = 0; i < 2; i++) {
		drafts[i].has_id = true;
		drafts[i].id = uuid_gen_next(&r.ids);
		drafts[i].to = (struct span){"bob", 3};
		drafts[i].body = (struct span){"x", 1};
		send_unit_init(&u[i]);
		assert_true(
		    send_unit_ask(&u[i], alice, &drafts[i], &rig_addressing));
		u[i].unit.finish = finished;
		u[i].arg = &done;
		assert_int_equal(writer_submit(r.writer, &u[i].unit), RC_OK);
	}
	assert_int_equal(writer_submit(r.writer, &failing), RC_OK);
	rig_forget(&r);
	assert_int_equal(writer_run_once(r.writer), 3);
	assert_int_equal(failing.rc, RC_CONFLICT);
	assert_int_equal(done, 2);
	assert_int_equal(u[0].unit.rc, RC_OK);
	assert_int_equal(u[1].unit.rc, RC_OK);
	assert_int_equal(u[1].conversation_seq, 2);
	assert_int_equal(r.nevents, 2);
	assert_int_equal(writer_stats_get(r.writer).abandoned, 1);
	assert_int_equal(rig_deliver(&r), 2);
	rig_check_promises(&r);
	rig_close(&r);
}

/* A full queue refuses at once. */
static void
test_full_queue(void **state)
{
	struct unit units[3];
	struct writer_options o = {0};
	struct writer *w;
	struct err err = ERR_INIT;
	struct rig r;
	int i;

	(void)state;
	rig_open(&r);
	o.db = r.db;
	o.clk = &r.clk.clk;
	o.hooks = txn_env_hooks(r.env);
	o.queue_limit = 2;
	o.checkpoint_bytes = 1 << 20;
	assert_int_equal(writer_new(&o, &w, &err), RC_OK);
	for (i = 0; i < 3; i++) {
		units[i] = rig_failing();
		assert_int_equal(
		    writer_submit(w, &units[i]), i < 2 ? RC_OK : RC_BUSY);
	}
	writer_stop(w);
	assert_int_equal(writer_submit(w, &units[2]), RC_CLOSED);
	writer_free(w);
	rig_close(&r);
}

/* A lane whose conversation does not exist is a damaged database, which ends
 * the process.  RC_NOT_FOUND would only refuse the unit, again and again. */
static void
test_damaged_lane(void **state)
{
	struct rig r;
	int64_t ann;

	(void)state;
	rig_open(&r);
	ann = rig_user(&r, "ann", NULL);
	(void)rig_user(&r, "bob", NULL);
	(void)rig_send(&r, ann, "bob", "hello", NULL);
	assert_int_equal(
	    rig_exec(&r, "UPDATE outbox_lanes "
			 "SET conversation_id = conversation_id + 1000"),
	    1);
	rig_restart(&r);
	assert_int_equal(deliver_once(&r).unit.rc, RC_CORRUPT);
	assert_int_equal(r.fatal, 1);
	rig_close(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_send_writes_all),
	    cmocka_unit_test(test_deliver),
	    cmocka_unit_test(test_more),
	    cmocka_unit_test(test_expired_behind_pause),
	    cmocka_unit_test(test_idempotency),
	    cmocka_unit_test(test_same_id_in_one_batch),
	    cmocka_unit_test(test_ack_and_receipts),
	    cmocka_unit_test(test_read),
	    cmocka_unit_test(test_cancel),
	    cmocka_unit_test(test_scheduled),
	    cmocka_unit_test(test_scheduled_most),
	    cmocka_unit_test(test_note_to_self),
	    cmocka_unit_test(test_unknown_recipient),
	    cmocka_unit_test(test_abandoned_batch),
	    cmocka_unit_test(test_full_queue),
	    cmocka_unit_test(test_damaged_lane),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
