/* SPDX-License-Identifier: MIT */
/*
 * Corner cases on a real database: scheduled notes to oneself, tokens and their
 * revocation, a password that changes meanwhile, the memory after a transaction
 * that was abandoned, and the order of the units in one batch.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "chat/auth.h"
#include "chat/entry.h"
#include "contract/rig.h"
#include "model/event.h"
#include "model/outbox.h"
#include "txn/env.h"

#define HOUR_MS 3600000

static const char *
state_of_last(struct rig *r)
{

	return (rig_text(r, "SELECT state FROM outbox ORDER BY id DESC"));
}

/* ---- a scheduled note to oneself ---- */

static void
test_scheduled_note(void **state)
{
	struct destination_view *d;
	struct send_view view;
	struct send_unit u;
	struct rig r;
	int64_t alice;

	(void)state;
	rig_open(&r);
	alice = rig_user(&r, "alice", NULL);
	u = rig_send_at(&r, alice, "alice", "tea", RIG_START_MS + HOUR_MS);
	assert_int_equal(u.unit.rc, RC_OK);
	assert_int_equal(u.conversation_seq, 0);
	assert_string_equal(state_of_last(&r), "pending");
	assert_int_equal(rig_number(&r, "SELECT count(*) FROM inbox"), 0);
	assert_int_equal(rig_deliver(&r), 0);
	assert_int_equal(rig_release(&r), 0);
	clk_fake_advance(&r.clk, HOUR_MS);
	assert_int_equal(rig_release(&r), 1);
	/* The sender's own copy is the delivery. */
	assert_int_equal(
	    rig_number(&r, "SELECT count(*) FROM inbox WHERE own = 1"), 1);
	assert_int_equal(rig_deliver(&r), 0);
	assert_int_equal(rig_number(&r, "SELECT count(*) FROM inbox"), 1);
	assert_string_equal(state_of_last(&r), "acked");
	assert_int_equal(
	    rig_number(&r, "SELECT conversation_seq FROM messages"), 1);
	assert_int_equal(rig_number(&r, "SELECT next_seq - last_published_seq "
					"FROM outbox_lanes"),
	    1);
	/* A scheduled note that is due already is an ordinary note. */
	u = rig_send_at(&r, alice, "alice", "now", RIG_START_MS);
	assert_int_equal(u.conversation_seq, 2);
	assert_string_equal(state_of_last(&r), "acked");
	/* The answer to the sender shows the state of the store. */
	memset(&view, 0, sizeof(view));
	d = &view.destination;
	u.draft = &(struct message_draft){0};
	send_unit_view(&u, &view);
	assert_int_equal(d->state, OUTBOX_ACKED);
	rig_close(&r);
}

static void
test_scheduled_note_canceled(void **state)
{
	struct message_draft draft = {0};
	struct cancel_unit c;
	struct send_unit u;
	struct send_view view;
	struct rig r;
	struct uuid id;
	int64_t alice;

	(void)state;
	rig_open(&r);
	alice = rig_user(&r, "alice", NULL);
	u = rig_send_at(&r, alice, "alice", "tea", RIG_START_MS + HOUR_MS);
	u.draft = &draft;
	send_unit_view(&u, &view);
	assert_int_equal(view.destination.state, OUTBOX_PENDING);
	assert_int_equal(view.destination.acked_at, 0);
	assert_true(uuid_parse(
	    rig_text(&r, "SELECT lower(substr(h,1,8)||'-'||substr(h,9,4)||'-'"
			 "||substr(h,13,4)||'-'||substr(h,17,4)||'-'||"
			 "substr(h,21)) FROM (SELECT hex(message_id) h "
			 "FROM messages)"),
	    UUID_TEXT_LEN, &id));
	c = rig_cancel(&r, alice, &id);
	assert_int_equal(c.refusal.problem, PROBLEM_NONE);
	clk_fake_advance(&r.clk, 2 * HOUR_MS);
	assert_int_equal(rig_release(&r), 0);
	assert_int_equal(rig_number(&r, "SELECT count(*) FROM inbox"), 0);
	assert_string_equal(state_of_last(&r), "canceled");
	rig_close(&r);
}

static int64_t
at_some_time(int i)
{

	return (RIG_START_MS + HOUR_MS + (i * 37) % 101);
}

/* There are more messages than one unit releases; they are released in the
 * order of their time. */
static void
test_many_scheduled(void **state)
{
	struct rig r;
	int64_t alice, bob;

	(void)state;
	rig_open(&r);
	alice = rig_user(&r, "alice", NULL);
	bob = rig_user(&r, "bob", NULL);
	rig_send_many(&r, alice, "bob", LIMIT_SCHEDULED, at_some_time);
	rig_send_many(&r, bob, "alice", RELEASE_ROWS + 20 - LIMIT_SCHEDULED,
	    at_some_time);
	clk_fake_advance(&r.clk, HOUR_MS + 200);
	assert_int_equal(rig_release(&r), RELEASE_ROWS);
	assert_int_equal(rig_release(&r), 20);
	assert_int_equal(rig_release(&r), 0);
	assert_int_equal(rig_deliver(&r), RELEASE_ROWS + 20);
	assert_int_equal(
	    rig_number(&r,
		"SELECT count(*) FROM outbox a JOIN "
		"outbox b ON b.conversation_seq = a.conversation_seq + 1 "
		"WHERE b.deliver_at < a.deliver_at"),
	    0);
	rig_close(&r);
}

/* ---- tokens ---- */

static void
account_finished(struct unit *base)
{
	struct account_unit *u = CONTAINER_OF(base, struct account_unit, unit);

	*(bool *)u->arg = true;
}

static enum problem
ask_account(struct rig *r, struct account_unit *u)
{
	bool done = false;

	u->unit.finish = account_finished;
	u->arg = &done;
	assert_int_equal(writer_submit(r->writer, &u->unit), RC_OK);
	assert_int_equal(writer_run_once(r->writer), 1);
	assert_true(done);
	assert_int_equal(u->unit.rc, RC_OK);
	return (u->refusal.problem);
}

static void
run_account(struct rig *r, struct account_unit *u)
{

	assert_int_equal(ask_account(r, u), PROBLEM_NONE);
}

static struct account_unit
log_in(struct rig *r, int64_t user, uint8_t fill)
{
	struct account_unit u;

	account_unit_init(&u, ACCOUNT_LOGIN);
	u.user.user_id = user;
	memcpy(u.device.name, "phone", 6);
	memset(u.token_hash, fill, sizeof(u.token_hash));
	run_account(r, &u);
	return (u);
}

static enum rc
load(struct rig *r, uint8_t fill, struct principal *ret)
{
	uint8_t hash[STORE_HASH_LEN];
	struct err err = ERR_INIT;

	memset(hash, fill, sizeof(hash));
	return (auth_load(r->db, hash, ret, &err));
}

static void
test_tokens(void **state)
{
	struct account_unit a, b, c, u;
	struct principal p;
	struct rig r;
	int64_t alice;

	(void)state;
	rig_open(&r);
	alice = rig_user(&r, "alice", NULL);
	a = log_in(&r, alice, 1);
	b = log_in(&r, alice, 2);
	c = log_in(&r, alice, 3);
	assert_int_equal(load(&r, 9, &p), RC_NOT_FOUND);
	assert_int_equal(load(&r, 1, &p), RC_OK);
	assert_int_equal(p.user_id, alice);
	assert_int_equal(p.device_id, a.device.device_id);
	assert_true(uuid_equal(&p.device, &a.device.public_id));
	assert_string_equal(p.name, "alice");
	assert_false(p.admin);
	/* One device is revoked. */
	account_unit_init(&u, ACCOUNT_REVOKE);
	u.user.user_id = alice;
	u.device.public_id = b.device.public_id;
	run_account(&r, &u);
	assert_int_equal(load(&r, 2, &p), RC_NOT_FOUND);
	assert_int_equal(load(&r, 1, &p), RC_OK);
	/* A new password revokes all tokens except that of the device that set
	 * it. */
	account_unit_init(&u, ACCOUNT_PASSWORD);
	u.user.user_id = alice;
	u.device.device_id = c.device.device_id;
	run_account(&r, &u);
	assert_int_equal(load(&r, 1, &p), RC_NOT_FOUND);
	assert_int_equal(load(&r, 3, &p), RC_OK);
	/* Disabling the user revokes all tokens. */
	account_unit_init(&u, ACCOUNT_DISABLE);
	u.user.user_id = alice;
	run_account(&r, &u);
	assert_int_equal(load(&r, 3, &p), RC_NOT_FOUND);
	rig_close(&r);
}

/* A unit for ${user}, whose request has verified the password ${verified}. */
static void
verified_unit(struct account_unit *u, enum account_op op, int64_t user,
    const char *verified)
{

	account_unit_init(u, op);
	u->user.user_id = user;
	(void)snprintf(u->verified, sizeof(u->verified), "%s", verified);
	memcpy(u->device.name, "phone", 6);
	memset(u->token_hash, 1, sizeof(u->token_hash));
}

/* The password changes between its verification and the unit that relies on
 * it. */
static void
test_password_of_before(void **state)
{
	struct account_unit u;
	struct principal p;
	struct rig r;
	int64_t alice;

	(void)state;
	rig_open(&r);
	alice = rig_user(&r, "alice", NULL);
	/* A unit of an operator, which verifies no password. */
	verified_unit(&u, ACCOUNT_PASSWORD, alice, "");
	memcpy(u.user.password_hash, "first", 6);
	run_account(&r, &u);
	verified_unit(&u, ACCOUNT_PASSWORD, alice, "first");
	memcpy(u.user.password_hash, "second", 7);
	run_account(&r, &u);
	verified_unit(&u, ACCOUNT_LOGIN, alice, "first");
	assert_int_equal(ask_account(&r, &u), PROBLEM_WRONG_PASSWORD);
	assert_int_equal(load(&r, 1, &p), RC_NOT_FOUND);
	verified_unit(&u, ACCOUNT_PASSWORD, alice, "first");
	memcpy(u.user.password_hash, "third", 6);
	assert_int_equal(ask_account(&r, &u), PROBLEM_FORBIDDEN);
	assert_string_equal(
	    rig_text(&r, "SELECT password_hash FROM users"), "second");
	verified_unit(&u, ACCOUNT_LOGIN, alice, "second");
	run_account(&r, &u);
	assert_int_equal(load(&r, 1, &p), RC_OK);
	verified_unit(&u, ACCOUNT_LOGIN, alice + 1, "second");
	assert_int_equal(ask_account(&r, &u), PROBLEM_WRONG_PASSWORD);
	rig_close(&r);
}

/* A device that was revoked while its password was verified changes nothing,
 * and the device that revoked it stays logged in. */
static void
test_password_of_a_lost_device(void **state)
{
	struct account_unit lost, u;
	struct principal p;
	struct rig r;
	int64_t alice;

	(void)state;
	rig_open(&r);
	alice = rig_user(&r, "alice", NULL);
	lost = log_in(&r, alice, 1);
	(void)log_in(&r, alice, 2);
	account_unit_init(&u, ACCOUNT_REVOKE);
	u.user.user_id = alice;
	u.device.public_id = lost.device.public_id;
	run_account(&r, &u);
	account_unit_init(&u, ACCOUNT_PASSWORD);
	u.user.user_id = alice;
	u.device.device_id = lost.device.device_id;
	memcpy(u.user.password_hash, "his", 4);
	assert_int_equal(ask_account(&r, &u), PROBLEM_UNAUTHENTICATED);
	assert_int_equal(load(&r, 2, &p), RC_OK);
	assert_int_equal(
	    rig_number(
		&r, "SELECT count(*) FROM users WHERE password_hash = 'his'"),
	    0);
	rig_close(&r);
}

/* A user is disabled before scheduled messages are due.  Messages from the user
 * are canceled, messages to the user fail, and their senders get a bounce. */
static void
test_scheduled_by_the_gone(void **state)
{
	int64_t alice, bob, carl;
	struct account_unit u;
	struct rig r;

	(void)state;
	rig_open(&r);
	alice = rig_user(&r, "alice", NULL);
	bob = rig_user(&r, "bob", NULL);
	carl = rig_user(&r, "carl", NULL);
	(void)rig_send_at(&r, alice, "bob", "one", RIG_START_MS + HOUR_MS);
	(void)rig_send_at(&r, bob, "carl", "two", RIG_START_MS + HOUR_MS);
	account_unit_init(&u, ACCOUNT_DISABLE);
	u.user.user_id = alice;
	run_account(&r, &u);
	account_unit_init(&u, ACCOUNT_DISABLE);
	u.user.user_id = carl;
	run_account(&r, &u);
	clk_fake_advance(&r.clk, HOUR_MS);
	assert_int_equal(rig_release(&r), 2);
	assert_int_equal(rig_deliver(&r), 0);
	assert_string_equal(
	    rig_text(&r, "SELECT group_concat(state || ' ' || "
			 "ifnull(reason, '-'), ', ') FROM (SELECT * FROM "
			 "outbox WHERE kind = 1 ORDER BY id)"),
	    "canceled -, failed rejected");
	/* Only bob's copy of the own message, and the bounce. */
	assert_string_equal(
	    rig_text(&r, "SELECT group_concat(name || ' ' || kind, ', ') "
			 "FROM (SELECT * FROM inbox JOIN users USING "
			 "(user_id) ORDER BY seq)"),
	    "bob 1, bob 5");
	assert_int_equal(
	    rig_number(
		&r, "SELECT sum(scheduled + pending) FROM outbox_totals"),
	    0);
	rig_check_promises(&r);
	rig_close(&r);
}

/* ---- one batch ---- */

static void
finish_deliver(struct unit *base)
{
	struct deliver_unit *u = CONTAINER_OF(base, struct deliver_unit, unit);

	(void)u;
}

static void
finish_send(struct unit *base)
{
	struct send_unit *u = CONTAINER_OF(base, struct send_unit, unit);

	(*(int *)u->arg)++;
}

/* A delivery, a cancellation and a send in one batch.  The message that was
 * pending before is delivered first, so that it is too late to cancel it.  The
 * message that is sent in this batch waits for the next one. */
static void
test_order_in_a_batch(void **state)
{
	struct message_draft draft = {0};
	struct cancel_unit c;
	struct deliver_unit d;
	struct send_unit s;
	struct uuid id;
	struct rig r;
	int64_t alice;
	int sent = 0;

	(void)state;
	assert_true(ORDER_ACCOUNT < ORDER_DELIVER);
	assert_true(ORDER_DELIVER < ORDER_ACK && ORDER_ACK < ORDER_READ);
	assert_true(ORDER_READ < ORDER_CANCEL && ORDER_CANCEL < ORDER_RELEASE);
	assert_true(ORDER_RELEASE < ORDER_SEND && ORDER_SEND < ORDER_UPKEEP);
	rig_open(&r);
	alice = rig_user(&r, "alice", NULL);
	(void)rig_user(&r, "bob", NULL);
	id = uuid_gen_next(&r.ids);
	(void)rig_send(&r, alice, "bob", "one", &id);
	draft.has_id = true;
	draft.id = uuid_gen_next(&r.ids);
	draft.to = (struct span){"bob", 3};
	draft.body = (struct span){"two", 3};
	memset(&s, 0, sizeof(s));
	send_unit_init(&s);
	draft.metadata = (struct span){"{}", 2};
	assert_true(send_unit_ask(&s, alice, &draft, &rig_addressing));
	/* On every way of sending, the unit has its size: batches are limited
	 * in bytes. */
	assert_int_equal(s.unit.bytes, SEND_UNIT_BYTES + 3 + 2);
	draft.metadata = (struct span){NULL, 0};
	s.unit.finish = finish_send;
	s.arg = &sent;
	memset(&c, 0, sizeof(c));
	cancel_unit_init(&c);
	c.sender_id = alice;
	c.id = id;
	c.unit.finish = NULL;
	memset(&d, 0, sizeof(d));
	deliver_unit_init(&d);
	d.nlanes = 1;
	d.lanes[0] = r.lanes[0];
	d.unit.finish = finish_deliver;
	assert_int_equal(writer_submit(r.writer, &s.unit), RC_OK);
	assert_int_equal(writer_submit(r.writer, &d.unit), RC_OK);
	assert_int_equal(writer_run_once(r.writer), 2);
	assert_int_equal(sent, 1);
	assert_int_equal(d.delivered, 1);
	assert_false(d.more[0]);
	assert_int_equal(
	    rig_number(&r, "SELECT count(*) FROM outbox WHERE state='sent'"),
	    1);
	c = rig_cancel(&r, alice, &id);
	assert_int_equal(c.refusal.problem, PROBLEM_ALREADY_SENT);
	assert_int_equal(rig_deliver(&r), 1);
	rig_close(&r);
}

/* A lane that does not exist, or has no row, is not an error. */
static void
test_deliver_nothing(void **state)
{
	struct deliver_unit d;
	struct rig r;

	(void)state;
	rig_open(&r);
	memset(&d, 0, sizeof(d));
	deliver_unit_init(&d);
	d.nlanes = 2;
	d.lanes[0] = 4711;
	d.lanes[1] = 4712;
	d.more[0] = d.more[1] = true;
	d.unit.finish = finish_deliver;
	assert_int_equal(writer_submit(r.writer, &d.unit), RC_OK);
	assert_int_equal(writer_run_once(r.writer), 1);
	assert_int_equal(d.unit.rc, RC_OK);
	assert_int_equal(d.delivered, 0);
	assert_false(d.more[0]);
	assert_false(d.more[1]);
	rig_close(&r);
}

/* ---- memory ---- */

/* Abandons a transaction, which empties the cache. */
static void
forget_cache(struct rig *r)
{
	struct unit failing = rig_failing();

	assert_int_equal(writer_submit(r->writer, &failing), RC_OK);
	assert_int_equal(writer_run_once(r->writer), 1);
	assert_int_equal(failing.rc, RC_CONFLICT);
}

/* Any allocation of a send may fail.  The send is then refused or accepted,
 * never a part of it, and later units find the store and the cache in order. */
static void
test_send_without_memory(void **state)
{
	struct send_unit u;
	struct rig r;
	int64_t alice, k, accepted;
	bool all;

	(void)state;
	rig_open(&r);
	alice = rig_user(&r, "alice", NULL);
	(void)rig_user(&r, "bob", NULL);
	accepted = 0;
	for (k = 1, all = false; !all; k++) {
		assert_true(k < 500);
		forget_cache(&r);
		mem_fail_at(k);
		u = rig_send(&r, alice, "bob", "hello", NULL);
		all = mem_fail_pending();
		mem_fail_at(0);
		if (u.unit.rc == RC_OK)
			accepted++;
		else
			assert_int_equal(u.unit.rc, RC_NO_MEMORY);
		assert_int_equal(
		    rig_number(&r, "SELECT count(*) FROM messages"), accepted);
		assert_int_equal(
		    rig_number(&r, "SELECT count(*) FROM outbox"), accepted);
		assert_int_equal(
		    rig_number(&r, "SELECT coalesce(max(conversation_seq), 0) "
				   "FROM messages"),
		    accepted);
	}
	assert_true(accepted > 0);
	assert_int_equal(rig_deliver(&r), (size_t)accepted);
	/* The numbers in each inbox have no gap. */
	assert_int_equal(
	    rig_number(&r,
		"SELECT count(*) FROM (SELECT 1 FROM "
		"inbox GROUP BY user_id HAVING count(*) <> max(seq))"),
	    0);
	rig_close(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_scheduled_note),
	    cmocka_unit_test(test_scheduled_note_canceled),
	    cmocka_unit_test(test_many_scheduled),
	    cmocka_unit_test(test_tokens),
	    cmocka_unit_test(test_password_of_before),
	    cmocka_unit_test(test_password_of_a_lost_device),
	    cmocka_unit_test(test_scheduled_by_the_gone),
	    cmocka_unit_test(test_order_in_a_batch),
	    cmocka_unit_test(test_deliver_nothing),
	    cmocka_unit_test(test_send_without_memory),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
