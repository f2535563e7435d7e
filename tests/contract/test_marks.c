/* SPDX-License-Identifier: MIT */
/*
 * Acks, reads and unread counts, beyond the simple case: long acks in several
 * batches, reads that ack, canceled messages and unread counts, disabled users,
 * lifetimes of scheduled messages.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "chat/account.h"
#include "contract/rig.h"
#include "store/conversation.h"

/* More messages than one batch acks. */
#define MANY 2500

struct three {
	int64_t alice, bob, phone;
	struct uuid conversation; /* of Alice and Bob */
};

static void
open_three(struct rig *r, struct three *t)
{

	rig_open(r);
	t->alice = rig_user(r, "alice", NULL);
	t->bob = rig_user(r, "bob", &t->phone);
	(void)rig_user(r, "carol", NULL);
	rig_forget(r);
}

static void
send_many(struct rig *r, struct three *t)
{
	int i;

	for (i = 1; i <= MANY; i++) {
		t->conversation =
		    rig_send(r, t->alice, "bob", "hello", NULL).conversation;
		if (i % 250 != 0)
			continue;
		(void)rig_deliver(r);
		rig_forget(r);
	}
}

static void
ack_finished(struct unit *base)
{
	struct ack_unit *u = CONTAINER_OF(base, struct ack_unit, unit);

	*(int *)u->arg += 1;
}

static void
send_finished(struct unit *base)
{
	struct send_unit *u = CONTAINER_OF(base, struct send_unit, unit);

	*(int *)u->arg += 1;
}

static void
read_finished(struct unit *base)
{
	struct read_unit *u = CONTAINER_OF(base, struct read_unit, unit);

	*(int *)u->arg += 1;
}

/* A user comes back to a full inbox and acks all of it.  The ack takes several
 * batches, and other users are served in between. */
static void
test_long_ack(void **state)
{
	struct message_draft draft = {0};
	int acked = 0, sent = 0, rounds;
	struct ack_unit a;
	struct send_unit s;
	struct three t;
	struct rig r;

	(void)state;
	open_three(&r, &t);
	send_many(&r, &t);
	memset(&a, 0, sizeof(a));
	ack_unit_init(&a);
	a.user_id = t.bob;
	a.device_id = t.phone;
	a.upto = MANY;
	a.unit.finish = ack_finished;
	a.arg = &acked;
	assert_int_equal(writer_submit(r.writer, &a.unit), RC_OK);
	assert_int_equal(writer_run_once(r.writer), 1);
	assert_int_equal(acked, 0);
	/* The part of the ack that is done is stored, and no more. */
	assert_int_equal(
	    rig_number(&r, "SELECT count(*) FROM outbox WHERE state='acked' "
			   "AND kind=1"),
	    rig_number(&r, "SELECT max(acked_seq) FROM devices"));
	assert_true(
	    rig_number(&r, "SELECT max(acked_seq) FROM devices") < MANY);
	memset(&s, 0, sizeof(s));
	send_unit_init(&s);
	draft.has_id = true;
	draft.id = uuid_gen_next(&r.ids);
	draft.to = (struct span){"carol", 5};
	draft.body = (struct span){"between", 7};
	assert_true(send_unit_ask(&s, t.alice, &draft, &rig_addressing));
	s.unit.finish = send_finished;
	s.arg = &sent;
	assert_int_equal(writer_submit(r.writer, &s.unit), RC_OK);
	for (rounds = 1; acked == 0; rounds++) {
		assert_true(rounds < 10);
		assert_true(writer_run_once(r.writer) > 0);
		assert_int_equal(sent, 1);
	}
	assert_int_equal(rounds, 2);
	assert_int_equal(acked, 1);
	assert_int_equal(a.acked, MANY);
	assert_int_equal(writer_waiting(r.writer), 0);
	assert_int_equal(
	    rig_number(&r, "SELECT count(*) FROM outbox WHERE state='acked' "
			   "AND kind=1"),
	    MANY);
	/* The receipts of the parts have been merged into one. */
	assert_int_equal(
	    rig_number(&r, "SELECT count(*) FROM outbox WHERE kind=2"), 1);
	assert_int_equal(
	    rig_number(&r, "SELECT conversation_seq FROM outbox WHERE kind=2"),
	    MANY);
	(void)rig_deliver(&r);
	rig_check_promises(&r);
	rig_close(&r);
}

static void
read_long(struct rig *r, const struct three *t, enum read_form form)
{
	struct read_unit u;
	int done = 0, rounds;

	memset(&u, 0, sizeof(u));
	read_unit_init(&u);
	u.user_id = t->bob;
	u.device_id = t->phone;
	u.form = form;
	u.upto = MANY;
	u.conversation = t->conversation;
	u.unit.finish = read_finished;
	u.arg = &done;
	assert_int_equal(writer_submit(r->writer, &u.unit), RC_OK);
	for (rounds = 0; done == 0; rounds++) {
		assert_true(rounds < 10);
		assert_int_equal(writer_run_once(r->writer), 1);
	}
	assert_int_equal(rounds, 2);
	assert_int_equal(u.refusal.problem, PROBLEM_NONE);
	assert_int_equal(
	    rig_number(r, "SELECT max(read_upto) FROM participants"), MANY);
	assert_int_equal(
	    rig_number(r, "SELECT count(*) FROM outbox WHERE state='acked' "
			  "AND kind=1"),
	    MANY);
	rig_check_promises(r);
}

static void
test_long_read(void **state)
{
	struct three t;
	struct rig r;
	int64_t n;

	(void)state;
	open_three(&r, &t);
	send_many(&r, &t);
	read_long(&r, &t, READ_UPTO);
	assert_int_equal(
	    rig_number(&r, "SELECT max(acked_seq) FROM devices"), MANY);
	assert_int_equal(
	    rig_number(&r, "SELECT max(read_seq) FROM inboxes"), MANY);
	assert_int_equal(store_unread_total(r.db, t.bob, &n, NULL), RC_OK);
	assert_int_equal(n, 0);
	rig_close(&r);
}

/* A read in a conversation does not move the inbox's marks.  But its messages
 * have reached the person, so their rows are acked.  The cursors of the devices
 * stay. */
static void
test_read_acks(void **state)
{
	struct three t;
	struct rig r;

	(void)state;
	open_three(&r, &t);
	send_many(&r, &t);
	read_long(&r, &t, READ_CONVERSATION);
	assert_int_equal(
	    rig_number(&r, "SELECT max(acked_seq) FROM devices"), 0);
	rig_close(&r);
}

/* Reads up to ${upto} of the conversation. */
static void
read_conversation(struct rig *r, const struct three *t, int64_t upto)
{
	struct read_unit u;
	int done = 0;

	memset(&u, 0, sizeof(u));
	read_unit_init(&u);
	u.user_id = t->bob;
	u.device_id = t->phone;
	u.form = READ_CONVERSATION;
	u.upto = upto;
	u.conversation = t->conversation;
	u.unit.finish = read_finished;
	u.arg = &done;
	assert_int_equal(writer_submit(r->writer, &u.unit), RC_OK);
	assert_int_equal(writer_run_once(r->writer), 1);
	assert_int_equal(done, 1);
	assert_int_equal(u.refusal.problem, PROBLEM_NONE);
}

/* A read implies receipt: a later ack by inbox number that is behind the read
 * moves no mark back, and its receipt would say nothing new. */
static void
test_ack_behind_read(void **state)
{
	struct three t;
	struct rig r;
	int i;

	(void)state;
	open_three(&r, &t);
	for (i = 0; i < 5; i++)
		t.conversation =
		    rig_send(&r, t.alice, "bob", "hello", NULL).conversation;
	assert_int_equal(rig_deliver(&r), 5);
	read_conversation(&r, &t, 5);
	assert_int_equal(rig_deliver(&r), 1); /* its receipt */
	assert_int_equal(rig_ack(&r, t.bob, t.phone, 3).acked, 3);
	assert_int_equal(
	    rig_number(&r, "SELECT max(acked_upto) FROM participants"), 5);
	assert_int_equal(
	    rig_number(&r, "SELECT count(*) FROM outbox WHERE kind = 2"), 0);
	/* A message after that is new. */
	(void)rig_send(&r, t.alice, "bob", "hello", NULL);
	assert_int_equal(rig_deliver(&r), 1);
	(void)rig_ack(&r, t.bob, t.phone,
	    rig_number(&r, "SELECT max(seq) FROM inbox WHERE own = 0 "
			   "AND conversation_seq = 6"));
	assert_int_equal(
	    rig_number(&r, "SELECT max(acked_upto) FROM participants"), 6);
	assert_string_equal(
	    rig_list(&r, "SELECT conversation_seq FROM outbox WHERE kind = 2"),
	    "6");
	rig_check_promises(&r);
	rig_close(&r);
}

/* Reading up to one's own message, when all earlier messages of the other
 * person are already read, makes no receipt. */
static void
test_read_of_own(void **state)
{
	struct three t;
	struct rig r;

	(void)state;
	open_three(&r, &t);
	t.conversation = rig_send(&r, t.alice, "bob", "one", NULL).conversation;
	assert_int_equal(rig_deliver(&r), 1);
	read_conversation(&r, &t, 1);
	assert_int_equal(rig_deliver(&r), 1); /* its receipt */
	(void)rig_send(&r, t.bob, "alice", "two", NULL);
	(void)rig_send(&r, t.alice, "bob", "three", NULL);
	assert_int_equal(rig_deliver(&r), 2);
	read_conversation(&r, &t, 2);
	assert_int_equal(
	    rig_number(&r, "SELECT max(read_upto) FROM participants"), 2);
	assert_int_equal(rig_deliver(&r), 0);
	assert_int_equal(
	    rig_number(&r, "SELECT count(*) FROM outbox WHERE kind = 3"), 1);
	assert_int_equal(
	    rig_number(&r, "SELECT count(*) FROM inbox WHERE kind = 4"), 1);
	read_conversation(&r, &t, 3);
	assert_int_equal(
	    rig_number(&r, "SELECT count(*) FROM outbox WHERE kind = 3"), 2);
	assert_int_equal(
	    rig_number(&r, "SELECT count(*) FROM inbox WHERE kind = 4"), 2);
	rig_check_promises(&r);
	rig_close(&r);
}

/* Waiting receipts are moved on, but a read receipt never overtakes a delivered
 * one: a sender must not learn that a message was delivered after learning that
 * it was read. */
static void
test_receipts_in_order(void **state)
{
	struct three t;
	struct rig r;
	int i;

	(void)state;
	open_three(&r, &t);
	for (i = 0; i < 4; i++)
		t.conversation =
		    rig_send(&r, t.alice, "bob", "hello", NULL).conversation;
	assert_int_equal(rig_deliver(&r), 4);
	read_conversation(&r, &t, 1);
	(void)rig_ack(&r, t.bob, t.phone, 2);
	read_conversation(&r, &t, 2);
	/* Of the receipts that can be moved on, there is one of each kind. */
	(void)rig_ack(&r, t.bob, t.phone, 3);
	read_conversation(&r, &t, 3);
	(void)rig_ack(&r, t.bob, t.phone, 4);
	read_conversation(&r, &t, 4);
	(void)rig_deliver(&r);
	assert_string_equal(
	    rig_list(&r, "SELECT kind * 10 + conversation_seq FROM inbox "
			 "WHERE kind IN (2, 3) ORDER BY seq"),
	    "31 24 34");
	rig_check_promises(&r);
	rig_close(&r);
}

/* A canceled message does not count as unread. */
static void
test_unread(void **state)
{
	struct uuid id;
	struct three t;
	struct rig r;
	int64_t n;

	(void)state;
	open_three(&r, &t);
	id = uuid_gen_next(&r.ids);
	(void)rig_send(&r, t.alice, "bob", "one", NULL);
	(void)rig_send(&r, t.alice, "bob", "two", &id);
	assert_int_equal(
	    rig_cancel(&r, t.alice, &id).refusal.problem, PROBLEM_NONE);
	(void)rig_send(&r, t.alice, "bob", "three", NULL);
	assert_int_equal(store_unread_total(r.db, t.bob, &n, NULL), RC_OK);
	assert_int_equal(n, 0);
	(void)rig_deliver(&r);
	assert_int_equal(store_unread_total(r.db, t.bob, &n, NULL), RC_OK);
	assert_int_equal(n, 2);
	assert_int_equal(store_unread_total(r.db, t.alice, &n, NULL), RC_OK);
	assert_int_equal(n, 0);
	rig_close(&r);
}

static void
account_finished(struct unit *base)
{
	struct account_unit *u = CONTAINER_OF(base, struct account_unit, unit);

	(void)u;
}

/* A message to a disabled user is refused, by name and by conversation. */
static void
test_disabled(void **state)
{
	struct message_draft draft = {0};
	struct account_unit account;
	struct send_unit s;
	struct three t;
	struct rig r;
	int sent = 0;

	(void)state;
	open_three(&r, &t);
	draft.conversation =
	    rig_send(&r, t.alice, "bob", "one", NULL).conversation;
	account_unit_init(&account, ACCOUNT_DISABLE);
	account.user.user_id = t.bob;
	account.unit.finish = account_finished;
	assert_int_equal(writer_submit(r.writer, &account.unit), RC_OK);
	assert_int_equal(writer_run_once(r.writer), 1);
	assert_int_equal(account.unit.rc, RC_OK);
	s = rig_send(&r, t.alice, "bob", "two", NULL);
	assert_int_equal(s.refusal.problem, PROBLEM_UNKNOWN_RECIPIENT);
	memset(&s, 0, sizeof(s));
	send_unit_init(&s);
	draft.has_id = true;
	draft.id = uuid_gen_next(&r.ids);
	draft.has_conversation = true;
	draft.body = (struct span){"three", 5};
	assert_true(send_unit_ask(&s, t.alice, &draft, &rig_addressing));
	s.unit.finish = send_finished;
	s.arg = &sent;
	assert_int_equal(writer_submit(r.writer, &s.unit), RC_OK);
	assert_int_equal(writer_run_once(r.writer), 1);
	assert_int_equal(sent, 1);
	assert_int_equal(s.refusal.problem, PROBLEM_UNKNOWN_RECIPIENT);
	assert_int_equal(rig_number(&r, "SELECT count(*) FROM messages"), 1);
	rig_check_promises(&r);
	rig_close(&r);
}

/* The lifetime of a scheduled message begins when it is due.  Otherwise a
 * message for next week would expire before it is sent. */
static void
test_expiry(void **state)
{
	struct three t;
	struct rig r;
	int64_t life;

	(void)state;
	open_three(&r, &t);
	(void)rig_send(&r, t.alice, "bob", "now", NULL);
	life = rig_number(&r, "SELECT expires_at FROM outbox") - RIG_START_MS;
	assert_true(life > 0);
	(void)rig_send_at(
	    &r, t.alice, "bob", "later", RIG_START_MS + 10 * life);
	assert_int_equal(rig_number(&r, "SELECT max(expires_at) FROM outbox"),
	    RIG_START_MS + 11 * life);
	rig_close(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_long_ack),
	    cmocka_unit_test(test_long_read),
	    cmocka_unit_test(test_read_acks),
	    cmocka_unit_test(test_ack_behind_read),
	    cmocka_unit_test(test_read_of_own),
	    cmocka_unit_test(test_receipts_in_order),
	    cmocka_unit_test(test_unread),
	    cmocka_unit_test(test_disabled),
	    cmocka_unit_test(test_expiry),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
