/* SPDX-License-Identifier: MIT */
/*
 * Messages and receipts that are delivered by the transaction that adds them,
 * and all those that must be left to the relay.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "chat/entry.h"
#include "contract/rig.h"
#include "delivery/operator.h"
#include "model/delivery_turn.h"

static struct rig rig;
static int64_t ann, ben, anns, bens;

static int
open_rig(void **state)
{
	static const struct rig_options options = {.at_once = true};

	(void)state;
	rig_open_with(&rig, &options);
	ann = rig_user(&rig, "ann", &anns);
	ben = rig_user(&rig, "ben", &bens);
	rig_forget(&rig);
	return (0);
}

static int
close_rig(void **state)
{

	(void)state;
	rig_check_promises(&rig);
	rig_close(&rig);
	return (0);
}

/* "state attempts" of each outbox row of ${kind}, in order. */
static const char *
rows(int kind)
{
	char sql[160];

	(void)snprintf(sql, sizeof(sql),
	    "SELECT state || ' ' || attempts FROM outbox WHERE kind = %d "
	    "ORDER BY id",
	    kind);
	return (rig_list(&rig, sql));
}

/* The kinds of events in the inbox of ${user}, in order. */
static const char *
inbox(int64_t user)
{
	char sql[160];

	(void)snprintf(sql, sizeof(sql),
	    "SELECT kind || ':' || conversation_seq FROM inbox "
	    "WHERE user_id = %lld ORDER BY seq",
	    (long long)user);
	return (rig_list(&rig, sql));
}

static void
send(const char *to, const char *body)
{
	const struct send_unit u = rig_send(&rig, ann, to, body, NULL);

	assert_int_equal(u.unit.rc, RC_OK);
	assert_int_equal(u.refusal.problem, PROBLEM_NONE);
}

/* ---- the rule ---- */

static void
test_rule(void **state)
{
	const struct delivery_lane empty = {.next_seq = 5, .tail_seq = 4};
	struct delivery_lane lane = empty;

	(void)state;
	assert_int_equal(delivery_turn(&lane, 100), DELIVERY_NOTHING);
	assert_true(delivery_at_once(&lane, 100));
	lane.tail_seq = 5;
	assert_int_equal(delivery_turn(&lane, 100), DELIVERY_NOW);
	assert_false(delivery_at_once(&lane, 100));
	lane.due_at = 100;
	assert_int_equal(delivery_turn(&lane, 100), DELIVERY_NOW);
	assert_int_equal(delivery_turn(&lane, 99), DELIVERY_LATER);
	lane = empty;
	lane.due_at = 101;
	assert_false(delivery_at_once(&lane, 100));
	assert_true(delivery_at_once(&lane, 101));
	lane.paused = true;
	assert_false(delivery_at_once(&lane, 101));
	lane.tail_seq = 5;
	assert_int_equal(delivery_turn(&lane, 101), DELIVERY_LATER);
}

/* ---- messages ---- */

static enum rc
take_entry(void *arg, const struct entry_view *e, int64_t mid, struct err *err)
{
	const struct send_view *answered = arg;
	const struct destination_view *d = &answered->destination;
	const struct destination_view *stored = &e->destinations[0];

	(void)mid;
	(void)err;
	assert_int_equal(e->ndestinations, 1);
	assert_int_equal(stored->state, d->state);
	assert_int_equal(stored->attempts, d->attempts);
	assert_int_equal(stored->retry_count, d->retry_count);
	assert_int_equal(stored->last_attempt_at, d->last_attempt_at);
	assert_int_equal(stored->last_status_at, d->last_status_at);
	assert_int_equal(stored->sent_at, d->sent_at);
	assert_int_equal(stored->acked_at, d->acked_at);
	return (RC_OK);
}

/* The answer says the same as the store. */
static void
check_answer(const struct send_unit *u, const struct uuid *id)
{
	const struct entry_of of = {ann, 7};
	struct send_view view;
	struct err err = ERR_INIT;

	send_unit_view(u, &view);
	assert_int_equal(
	    entry_get(rig.db, &of, id, take_entry, &view, &err), RC_OK);
}

/* One transaction leaves everything that a delivery leaves, and nothing for the
 * relay. */
static void
test_message(void **state)
{
	const struct uuid id = uuid_gen_next(&rig.ids);
	static const char *const spans[] = {"hello"};
	struct message_draft draft = {.has_id = true, .id = id};
	struct send_unit u;

	(void)state;
	clk_fake_advance(&rig.clk, 10);
	u = rig_send(&rig, ann, "ben", spans[0], &id);
	draft.to = (struct span){"ben", 3};
	draft.body = (struct span){spans[0], 5};
	u.draft = &draft;
	assert_int_equal(u.unit.rc, RC_OK);
	assert_true(u.delivered);
	assert_string_equal(rows(EVENT_MESSAGE), "sent 1");
	assert_int_equal(
	    rig_number(&rig,
		"SELECT count(*) FROM outbox WHERE lane_seq = 1 AND "
		"sent_at = created_at AND last_attempt_at = created_at AND "
		"last_status_at = created_at AND acked_at IS NULL AND "
		"last_error IS NULL"),
	    1);
	assert_string_equal(inbox(ann), "1:1");
	assert_string_equal(inbox(ben), "1:1");
	assert_int_equal(
	    rig_number(&rig,
		"SELECT count(*) FROM inbox i JOIN outbox o ON "
		"o.id = i.outbox_id WHERE i.attempt = 1 AND NOT i.own = 1"),
	    1);
	assert_int_equal(
	    rig_number(&rig,
		"SELECT next_seq * 10 + last_published_seq FROM outbox_lanes"),
	    21);
	assert_int_equal(
	    rig_number(&rig, "SELECT max(delivered_upto) FROM participants"),
	    1);
	assert_int_equal(rig.nevents, 2);
	assert_int_equal(rig.events[0].user_id, ann);
	assert_int_equal(rig.events[1].user_id, ben);
	assert_false(rig.events[1].own);
	assert_int_equal(rig.nchanges, 1);
	assert_int_equal(rig.changes[0].event, CHANGE_SENT);
	assert_int_equal(rig.nlanes, 0);
	check_answer(&u, &id);
	assert_int_equal(rig_deliver(&rig), 0);
}

static int64_t
now_of(int i)
{

	(void)i;
	return (0);
}

/* A batch of one sender: both inboxes have the same order. */
static void
test_batch(void **state)
{

	(void)state;
	rig_send_many(&rig, ann, "ben", 300, now_of);
	assert_int_equal(
	    rig_number(&rig, "SELECT count(*) FROM outbox WHERE state = 'sent' "
			     "AND lane_seq = conversation_seq"),
	    300);
	assert_int_equal(
	    rig_number(&rig,
		"SELECT count(*) FROM inbox WHERE seq = conversation_seq"),
	    600);
	assert_int_equal(rig_deliver(&rig), 0);
}

static void
finished(struct unit *unit)
{

	assert_int_equal(unit->rc, RC_OK);
}

static void
ask_operator(struct operator_unit *u, enum operator_op op, const char *name)
{

	operator_unit_init(u, op, "root");
	(void)snprintf(u->name, sizeof(u->name), "%s", name);
	u->unit.finish = finished;
	assert_int_equal(writer_submit(rig.writer, &u->unit), RC_OK);
}

/* An operator runs ${op} on destination ${name}. */
static void
operate(enum operator_op op, const char *name)
{
	struct operator_unit u;

	ask_operator(&u, op, name);
	assert_int_equal(writer_run_once(rig.writer), 1);
	assert_int_equal(u.refusal.problem, PROBLEM_NONE);
}

/* A pause of all destinations, or of the inboxes here, holds messages back, and
 * later messages do not overtake them. */
static void
test_pause(void **state)
{
	static const char *const names[] = {"*", "local"};
	size_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		send("ben", "at once");
		operate(OPERATOR_PAUSE, names[i]);
		send("ben", "waits");
		operate(OPERATOR_RESUME, names[i]);
		send("ben", "behind it");
		assert_int_equal(rig_number(&rig, "SELECT count(*) FROM outbox "
						  "WHERE state = 'pending'"),
		    2);
		assert_int_equal(rig_deliver(&rig), 2);
		send("ben", "at once again");
	}
	assert_string_equal(rows(EVENT_MESSAGE),
	    "sent 1 sent 1 sent 1 sent 1 sent 1 sent 1 sent 1 sent 1");
	assert_string_equal(inbox(ben), "1:1 1:2 1:3 1:4 1:5 1:6 1:7 1:8");
}

/* A pause holds back messages of its own batch. */
static void
test_pause_in_batch(void **state)
{
	struct operator_unit pause;

	(void)state;
	send("ben", "at once");
	ask_operator(&pause, OPERATOR_PAUSE, "local");
	(void)rig_send(&rig, ann, "ben", "waits", NULL);
	assert_string_equal(rows(EVENT_MESSAGE), "sent 1 pending 0");
	assert_string_equal(inbox(ben), "1:1");
}

/* Scheduled messages, and messages to other servers, are left to the relay. */
static void
test_left(void **state)
{

	(void)state;
	(void)rig_send_at(&rig, ann, "ben", "later", rig.clk.wall_ms + 1000);
	send("cy@a.fault.test", "far");
	assert_string_equal(rows(EVENT_MESSAGE), "pending 0 pending 0");
	assert_string_equal(inbox(ben), "");
	/* A scheduled message has no place in a lane before its time. */
	send("ben", "now");
	assert_string_equal(rows(EVENT_MESSAGE), "pending 0 pending 0 sent 1");
	clk_fake_advance(&rig.clk, 1000);
	assert_int_equal(rig_release(&rig), 1);
	send("ben", "behind it");
	assert_string_equal(
	    rows(EVENT_MESSAGE), "pending 0 pending 0 sent 1 pending 0");
	assert_int_equal(rig_deliver(&rig), 2);
	assert_string_equal(inbox(ben), "1:1 1:2 1:3");
}

/* A note to oneself is acked at once, as always. */
static void
test_note(void **state)
{

	(void)state;
	send("ann", "note");
	assert_string_equal(rows(EVENT_MESSAGE), "acked 0");
	assert_string_equal(inbox(ann), "1:1");
}

/* ---- failures ---- */

/* Makes every insert of another user's event into an inbox fail. */
static void
break_inboxes(void)
{

	if (!rig_is_postgres()) {
		(void)rig_exec(&rig,
		    "CREATE TRIGGER broken BEFORE INSERT ON inbox WHEN NEW.own "
		    "= 0 BEGIN SELECT raise(ABORT, 'no'); END");
		return;
	}
	(void)rig_exec(&rig,
	    "CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS "
	    "$$BEGIN RAISE 'no'; END$$");
	(void)rig_exec(&rig,
	    "CREATE TRIGGER broken BEFORE INSERT ON inbox FOR EACH ROW "
	    "WHEN (NEW.own = 0) EXECUTE FUNCTION broken()");
}

static void
mend_inboxes(void)
{

	(void)rig_exec(&rig, rig_is_postgres() ? "DROP TRIGGER broken ON inbox"
					       : "DROP TRIGGER broken");
}

/* If the delivery fails, the message is accepted all the same and waits.  The
 * relay then finds the cause. */
static void
test_delivery_fails(void **state)
{

	(void)state;
	send("ben", "before");
	break_inboxes();
	send("ben", "alone");
	rig_send_many(&rig, ann, "ben", 3, now_of);
	assert_string_equal(rows(EVENT_MESSAGE),
	    "sent 1 pending 0 pending 0 pending 0 pending 0");
	assert_string_equal(inbox(ann), "1:1 1:2 1:3 1:4 1:5");
	assert_string_equal(inbox(ben), "1:1");
	mend_inboxes();
	send("ben", "after");
	assert_int_equal(rig_deliver(&rig), 5);
	assert_string_equal(inbox(ben), "1:1 1:2 1:3 1:4 1:5 1:6");
}

/* Any allocation may fail, and the send still succeeds. */
static void
test_no_memory(void **state)
{
	int left = 0;
	int64_t k;
	bool all;

	(void)state;
	send("ben", "before");
	for (k = 1, all = false; !all; k++) {
		const struct uuid id = uuid_gen_next(&rig.ids);
		struct send_unit u;

		assert_true(k < 500);
		mem_fail_at(k);
		u = rig_send(&rig, ann, "ben", "hello", &id);
		all = mem_fail_pending();
		mem_fail_at(0);
		assert_int_equal(u.unit.rc, RC_OK);
		assert_int_equal(u.refusal.problem, PROBLEM_NONE);
		left += (int)rig_deliver(&rig);
	}
	/* Some messages were left to the relay, the last one was not. */
	assert_true(left > 0 && left < k - 1);
	assert_int_equal(
	    rig_number(&rig, "SELECT count(*) FROM inbox WHERE own = 0 AND "
			     "seq = conversation_seq"),
	    k);
}

/* ---- receipts ---- */

static void
test_receipts(void **state)
{

	(void)state;
	send("ben", "one");
	send("ben", "two");
	rig_forget(&rig);
	(void)rig_ack(&rig, ben, bens, 1);
	assert_string_equal(rows(EVENT_DELIVERED), "sent 1");
	assert_int_equal(rig.nevents, 1);
	assert_int_equal(rig.events[0].user_id, ann);
	assert_int_equal(rig.nlanes, 0);
	(void)rig_read(&rig, ben, bens, 2, false);
	assert_string_equal(rows(EVENT_DELIVERED), "sent 1 sent 1");
	assert_string_equal(rows(EVENT_READ), "sent 1");
	/* The delivered receipts come before the read receipt. */
	assert_string_equal(inbox(ann), "1:1 1:2 2:1 2:2 3:2");
	assert_int_equal(rig_deliver(&rig), 0);
}

static void
ask_ack(struct ack_unit *u, int64_t upto)
{

	memset(u, 0, sizeof(*u));
	ack_unit_init(u);
	u->user_id = ben;
	u->device_id = bens;
	u->upto = upto;
	u->unit.finish = finished;
	assert_int_equal(writer_submit(rig.writer, &u->unit), RC_OK);
}

/* Several acks of one batch make one receipt. */
static void
test_one_receipt(void **state)
{
	struct ack_unit acks[3];
	int i;

	(void)state;
	for (i = 0; i < 3; i++)
		send("ben", "hello");
	for (i = 0; i < 3; i++)
		ask_ack(&acks[i], i + 1);
	assert_int_equal(writer_run_once(rig.writer), 3);
	assert_string_equal(rows(EVENT_DELIVERED), "sent 1");
	assert_string_equal(inbox(ann), "1:1 1:2 1:3 2:3");
}

/* During a pause one receipt waits and is moved on.  The same holds if the
 * pause came in the same batch, after the acks. */
static void
test_receipts_wait(void **state)
{
	struct operator_unit pause;
	struct ack_unit ack;
	int i;

	(void)state;
	for (i = 0; i < 3; i++)
		send("ben", "hello");
	ask_ack(&ack, 1);
	ask_operator(&pause, OPERATOR_PAUSE, "local");
	assert_int_equal(writer_run_once(rig.writer), 2);
	assert_string_equal(rows(EVENT_DELIVERED), "pending 0");
	(void)rig_ack(&rig, ben, bens, 2);
	assert_string_equal(rows(EVENT_DELIVERED), "pending 0");
	operate(OPERATOR_RESUME, "local");
	(void)rig_ack(&rig, ben, bens, 3);
	assert_string_equal(rows(EVENT_DELIVERED), "pending 0");
	assert_string_equal(inbox(ann), "1:1 1:2 1:3");
	(void)rig_deliver(&rig);
	assert_string_equal(inbox(ann), "1:1 1:2 1:3 2:3");
}

/* More receipts than one set of rows holds. */
static void
test_many_receipts(void **state)
{
	static struct ack_unit acks[600];
	char name[16];
	int64_t user[600], device[600];
	int i, n;

	(void)state;
	for (i = 0; i < 600; i++) {
		(void)snprintf(name, sizeof(name), "u%d", i);
		user[i] = rig_user(&rig, name, &device[i]);
		send(name, "hello");
	}
	for (i = 0; i < 600; i++) {
		ask_ack(&acks[i], 1);
		acks[i].user_id = user[i];
		acks[i].device_id = device[i];
	}
	for (n = 0; n < 600;)
		n += (int)writer_run_once(rig.writer);
	assert_int_equal(rig_number(&rig, "SELECT count(*) FROM outbox WHERE "
					  "kind = 2 AND state = 'sent'"),
	    600);
	assert_int_equal(rig_deliver(&rig), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_rule),
	    cmocka_unit_test_setup_teardown(test_message, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(test_batch, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(test_pause, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_pause_in_batch, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(test_left, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(test_note, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_delivery_fails, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_no_memory, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(test_receipts, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_one_receipt, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_receipts_wait, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_many_receipts, open_rig, close_rig),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
