/* SPDX-License-Identifier: MIT */
/*
 * Messages from another server: new, repeated and wrong ones; and the requests
 * that bring them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "contract/received.h"

/* ---- messages ---- */

static void
test_new_message(void **state)
{

	(void)state;
	(void)add_message(BOB, ANN, 1);
	assert_string_equal(answers(), "accepted");
	assert_string_equal(
	    rig_text(&rig, "SELECT u.name FROM messages m"
			   " JOIN users u ON u.user_id = m.sender_id"),
	    BOB);
	assert_int_equal(rig_number(&rig, "SELECT destination_id FROM users"
					  " WHERE name = '" BOB "'"),
	    origin_id);
	assert_int_equal(
	    rig_number(&rig, "SELECT origin FROM inbox"), origin_id);
	assert_int_equal(rig_number(&rig, "SELECT event_time FROM messages"),
	    RIG_START_MS - 1000);
	assert_int_equal(
	    rig_number(&rig, "SELECT delivered_upto FROM participants p"
			     " JOIN users u ON u.user_id = p.user_id"
			     " WHERE u.name = 'ann'"),
	    1);
	assert_int_equal(count("outbox"), 0);
	assert_int_equal(count("processed_messages"), 1);
	assert_int_equal(count("federation_nonces"), 1);
	assert_int_equal(rig.nevents, 1);
	assert_int_equal(rig.events[0].user_id, ann);
	assert_string_equal(rig.events[0].from->data, BOB);
}

/* From an address with the longest allowed name. */
static void
test_long_address(void **state)
{
	static const char from[] = "a-name-that-has-thirty-two-bytes@" FAR;

	(void)state;
	(void)add_message(from, ANN, 1);
	assert_string_equal(answers(), "accepted");
	rig_restart(&rig);
	/* Another event with the same message: its sender is found by
	 * address. */
	list[0].event_id = uuid_gen_next(&rig.ids);
	assert_string_equal(answers(), "duplicate");
	n = 0;
	(void)add_message(from, ANN, 2);
	assert_string_equal(answers(), "accepted");
	assert_int_equal(rig_number(&rig, "SELECT count(*) FROM users"
					  " WHERE name LIKE '%@%'"),
	    1);
}

/* An accepted event stays accepted after its recipient was disabled. */
static void
test_known_disabled(void **state)
{

	(void)state;
	(void)add_message(BOB, BEN, 1);
	assert_string_equal(answers(), "accepted");
	(void)rig_exec(
	    &rig, "UPDATE users SET disabled_at = 1 WHERE name = 'ben'");
	rig_restart(&rig);
	assert_string_equal(answers(), "duplicate");
	list[0].message.body = span("hullo");
	assert_string_equal(answers(), "event-reused");
}

/* Events are remembered only for some time; inbox rows stay. */
static void
test_forgotten(void **state)
{

	(void)state;
	(void)add_message(BOB, ANN, 1);
	assert_string_equal(answers(), "accepted");
	(void)rig_exec(&rig, "DELETE FROM processed_messages");
	assert_string_equal(answers(), "duplicate");
	assert_int_equal(count("processed_messages"), 1);
	(void)rig_exec(&rig, "DELETE FROM processed_messages");
	list[0].message.id = uuid_gen_next(&rig.ids);
	list[0].message.body = span("another");
	assert_string_equal(answers(), "event-reused");
	assert_int_equal(count("messages"), 1);
}

/* A sender's clock that is ahead does not give a message a time in the
 * future. */
static void
test_future(void **state)
{

	(void)state;
	add_message(BOB, ANN, 1)->timestamp_ms = RIG_START_MS + 3600000;
	assert_string_equal(answers(), "accepted");
	assert_int_equal(
	    rig_number(&rig, "SELECT event_time - created_at FROM messages"),
	    0);
}

static void
test_again(void **state)
{

	(void)state;
	(void)add_message(BOB, ANN, 1);
	assert_string_equal(answers(), "accepted");
	list[0].attempt = 2;
	assert_string_equal(answers(), "duplicate");
	assert_int_equal(count("messages"), 1);
	assert_int_equal(count("inbox"), 1);
	/* The same event with another content. */
	list[0].message.body = span("hullo");
	assert_string_equal(answers(), "event-reused");
	/* A message that was deleted since cannot be compared. */
	(void)rig_exec_past(&rig,
	    "UPDATE inboxes SET trimmed = 1 WHERE user_id ="
	    " (SELECT user_id FROM users"
	    " WHERE name = 'ann')");
	(void)rig_exec_past(&rig, "DELETE FROM inbox");
	assert_string_equal(answers(), "duplicate");
	assert_int_equal(count("messages"), 1);
}

static void
test_id_taken(void **state)
{
	struct send_unit sent;

	(void)state;
	(void)add_message(BOB, ANN, 1);
	assert_string_equal(answers(), "accepted");
	/* As another event: the message is known. */
	list[0].event_id = uuid_gen_next(&rig.ids);
	list[0].sequence = 2;
	assert_string_equal(answers(), "duplicate");
	assert_string_equal(answers(), "duplicate");
	assert_int_equal(count("processed_messages"), 2);
	/* With another content or another sender, the id is taken. */
	list[0].event_id = uuid_gen_next(&rig.ids);
	list[0].message.body = span("hullo");
	assert_string_equal(answers(), "id-taken");
	list[0].message.body = span("hello");
	list[0].from = span(CAT);
	assert_string_equal(answers(), "id-taken");
	/* The id of a message of this server. */
	list[0].from = span(BOB);
	list[0].message.id = uuid_gen_next(&rig.ids);
	sent = rig_send(&rig, ann, "ben", "local", &list[0].message.id);
	assert_int_equal(sent.refusal.problem, PROBLEM_NONE);
	assert_string_equal(answers(), "id-taken");
	assert_int_equal(count("messages"), 2);
	(void)rig_deliver(&rig);
}

static struct send_unit own;

static void
own_finished(struct unit *base)
{

	assert_ptr_equal(base, &own.unit);
}

/* A local user and a remote one choose the same id, in one batch. */
static void
test_same_batch(void **state)
{
	struct message_draft draft = {.has_id = true};

	(void)state;
	(void)add_message(BOB, ANN, 1);
	prepare("the-nonce-of-a-batch", false);
	memset(&own, 0, sizeof(own));
	send_unit_init(&own);
	own.unit.finish = own_finished;
	draft.id = list[0].message.id;
	draft.to = span("ben");
	draft.body = span("mine");
	assert_true(send_unit_ask(&own, ann, &draft, &rig_addressing));
	assert_int_equal(writer_submit(rig.writer, &own.unit), RC_OK);
	assert_int_equal(writer_submit(rig.writer, &unit.unit), RC_OK);
	assert_int_equal(writer_run_once(rig.writer), 2);
	assert_int_equal(unit.unit.rc, RC_OK);
	assert_int_equal(unit.items[0].reason, ENVELOPE_NO_REASON);
	assert_int_equal(own.unit.rc, RC_OK);
	assert_int_equal(own.refusal.problem, PROBLEM_CONFLICT);
	assert_int_equal(writer_stats_get(rig.writer).abandoned, 0);
}

/* Twice in one request, as two events. */
static void
test_twins(void **state)
{

	(void)state;
	(void)add_message(BOB, ANN, 1);
	(void)add_message(BOB, ANN, 2);
	(void)add_message(BOB, ANN, 3);
	list[1].message.id = list[2].message.id = list[0].message.id;
	list[2].message.body = span("hullo");
	assert_string_equal(answers(), "accepted duplicate id-taken");
	assert_int_equal(count("messages"), 1);
}

static void
test_refused(void **state)
{

	(void)state;
	(void)add_message(BOB, "nobody@" HERE, 1);
	(void)add_message(BOB, "ann@c.example", 1);
	(void)add_message(STRANGER, ANN, 1);
	(void)add_message("ann@" HERE, BEN, 1);
	(void)add_message(BOB, ANN, 1);
	list[4].fault = ENVELOPE_UNSUPPORTED;
	(void)add_message(BOB, ANN, 2);
	assert_string_equal(answers(),
	    "unknown-recipient unknown-recipient foreign-sender "
	    "foreign-sender unsupported accepted");
	assert_int_equal(count("messages"), 1);
	assert_int_equal(count("processed_messages"), 1);
	(void)rig_exec(
	    &rig, "UPDATE users SET disabled_at = 1 WHERE name = 'ben'");
	rig_restart(&rig);
	n = 0;
	(void)add_message(BOB, BEN, 1);
	assert_string_equal(answers(), "unknown-recipient");
	assert_int_equal(rig_number(&rig, "SELECT count(*) FROM users"
					  " WHERE name LIKE '%@%'"),
	    1);
}

/* A message has no room now: the messages behind it in its sequence are not
 * taken either. */
static void
test_full(void **state)
{
	struct send_unit sent;

	(void)state;
	(void)add_message(BOB, ANN, 1);
	assert_string_equal(answers(), "accepted");
	sent = rig_send(&rig, ann, "ben", "local", NULL);
	assert_int_equal(sent.refusal.problem, PROBLEM_NONE);
	(void)add_message(BOB, ANN, 2);
	(void)add_message(BOB, ANN, 3);
	(void)add_message(BOB, BEN, 1);
	assert_string_equal(
	    answers_of(true), "duplicate inbox-full predecessor inbox-full");
	assert_string_equal(answers(), "duplicate accepted accepted accepted");
	(void)rig_deliver(&rig);
}

/* In the order of their numbers, whatever their order in the request. */
static void
test_order(void **state)
{
	int i;

	(void)state;
	for (i = 3; i > 0; i--)
		(void)add_message(BOB, ANN, i);
	list[0].message.body = span("third");
	list[1].message.body = span("second");
	list[2].message.body = span("first");
	assert_string_equal(answers(), "accepted accepted accepted");
	assert_string_equal(
	    rig_list(&rig,
		"SELECT m.body FROM inbox i JOIN messages m ON m.mid = i.mid"
		" ORDER BY i.seq"),
	    "first second third");
	assert_string_equal(
	    rig_list(
		&rig, "SELECT body FROM messages ORDER BY conversation_seq"),
	    "first second third");
}

/* ---- requests ---- */

static void
test_nonce(void **state)
{

	(void)state;
	(void)add_message(BOB, ANN, 1);
	request("the-very-same-nonce", false);
	assert_false(unit.repeated);
	(void)add_message(BOB, ANN, 2);
	request("the-very-same-nonce", false);
	assert_true(unit.repeated);
	assert_int_equal(count("messages"), 1);
	assert_string_equal(answers(), "duplicate accepted");
}

/* A nonce is purged when no signature with it can be valid any more. */
static void
test_nonces_expire(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 6; i++)
		assert_string_equal(answers(), "");
	assert_int_equal(count("federation_nonces"), 6);
	clk_fake_advance(&rig.clk, 600000);
	assert_string_equal(answers(), "");
	assert_int_equal(count("federation_nonces"), 7);
	clk_fake_advance(&rig.clk, 1);
	assert_string_equal(answers(), "");
	assert_int_equal(count("federation_nonces"), 4);
	assert_string_equal(answers(), "");
	assert_int_equal(count("federation_nonces"), 1);
}

/* The nonce of a request without envelopes is kept, too. */
static void
test_empty(void **state)
{

	(void)state;
	assert_string_equal(answers(), "");
	assert_int_equal(count("federation_nonces"), 1);
}

/* A peer that was restored from a backup continues at an earlier number. */
static void
test_went_back(void **state)
{

	(void)state;
	(void)add_message(BOB, ANN, 10);
	(void)add_message(BOB, ANN, 12);
	assert_string_equal(answers(), "accepted accepted");
	assert_int_equal(unit.went_back, 0);
	assert_int_equal(
	    rig_number(&rig, "SELECT last_sequence FROM federation_lanes"), 12);
	n = 0;
	(void)add_message(BOB, ANN, 11);
	assert_string_equal(answers(), "accepted");
	assert_int_equal(unit.went_back, 1);
	n = 0;
	(void)add_message(BOB, ANN, 12);
	assert_string_equal(answers(), "accepted");
	assert_int_equal(unit.went_back, 0);
}

/* New conversations, and the new people in them, are limited.  One too many is
 * refused for now, with the envelopes behind it in its sequence. */
static void
test_new_most(void **state)
{

	(void)state;
	new_most = 2;
	(void)add_message(BOB, ANN, 1);
	(void)add_message(BOB, ANN, 2);
	(void)add_message(CAT, ANN, 1);
	(void)add_message(BOB, BEN, 1);
	(void)add_message(BOB, BEN, 2);
	(void)add_message(BOB, ANN, 3);
	assert_string_equal(answers(),
	    "accepted accepted accepted rate-limited predecessor accepted");
	assert_int_equal(unit.made, 2);
	assert_int_equal(count("conversations"), 2);
	new_most = 0;
	assert_string_equal(answers(), "duplicate duplicate duplicate "
				       "rate-limited predecessor duplicate");
	assert_int_equal(unit.made, 0);
	/* Existing conversations stay open. */
	n = 0;
	(void)add_message(CAT, ANN, 2);
	(void)add_message("dan@" FAR, ANN, 1);
	assert_string_equal(answers(), "accepted rate-limited");
	assert_int_equal(count("conversations"), 2);
	/* Bob and Ben are known: only their conversation is new. */
	new_most = 1;
	n = 0;
	(void)add_message(BOB, BEN, 2);
	assert_string_equal(answers(), "accepted");
	assert_int_equal(unit.made, 1);
	assert_int_equal(count("conversations"), 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		test_new_message, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_long_address, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_known_disabled, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_forgotten, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(test_future, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(test_again, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(test_id_taken, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_same_batch, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(test_twins, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(test_refused, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(test_full, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(test_order, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(test_nonce, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_nonces_expire, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(test_empty, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_went_back, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(test_new_most, open_rig, close_rig),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
