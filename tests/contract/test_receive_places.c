/* SPDX-License-Identifier: MIT */
/*
 * Places in lanes to another server: what a receipt covers when messages were
 * given up, tried again, or taken from late copies of requests.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "contract/received.h"
#include "delivery/operator.h"
#include "delivery/promise.h"

/* ---- messages that move ---- */

static void
retry_finished(struct unit *base)
{
	struct operator_unit *u =
	    CONTAINER_OF(base, struct operator_unit, unit);

	*(bool *)u->arg = true;
}

/* An operator does ${op} with message ${id}. */
static struct refusal
operate(enum operator_op op, const struct uuid *id)
{
	struct operator_unit u;
	bool done = false;

	operator_unit_init(&u, op, "root");
	u.message = *id;
	u.unit.finish = retry_finished;
	u.arg = &done;
	assert_int_equal(writer_submit(rig.writer, &u.unit), RC_OK);
	while (!done)
		(void)writer_run_once(rig.writer);
	assert_int_equal(u.unit.rc, RC_OK);
	return (u.refusal);
}

/* An operator requeues message ${id}. */
static void
retry(const struct uuid *id)
{

	assert_int_equal(operate(OPERATOR_RETRY, id).problem, PROBLEM_NONE);
}

/* Sends two messages to Bob, of which the first is rejected.  The second is at
 * place 2.  When the first is tried again, it is at place 3. */
static struct parcel parcel;

static void
give_up_first(struct uuid ids[2])
{

	ids[0] = far_send(&rig, ann, BOB, PRIORITY_NORMAL, 0);
	ids[1] = far_send(&rig, ann, BOB, PRIORITY_NORMAL, 0);
	(void)far_claim(&rig, &parcel, FAR, PARCEL_ITEMS, PRIORITY_NORMAL);
	assert_int_equal(parcel.n, 2);
	parcel.reached = true;
	parcel.items[0].answer = ANSWER_REJECTED;
	parcel.items[1].answer = ANSWER_ACCEPTED;
	(void)far_settle(&rig, &parcel);
	assert_string_equal(states(), "failed sent");
}

static void
try_again(const struct uuid *id)
{

	retry(id);
	(void)far_claim(&rig, &parcel, FAR, PARCEL_ITEMS, PRIORITY_NORMAL);
	assert_int_equal(parcel.n, 1);
	assert_int_equal(parcel.items[0].row.lane_seq, 3);
}

static void
promise_finished(struct unit *base)
{
	struct promise_unit *u = CONTAINER_OF(base, struct promise_unit, unit);

	*(bool *)u->arg = true;
}

/* The peer acks the message that it had answered with "later". */
static void
confirm(void)
{
	struct envelope_ack ack = {.status = ENVELOPE_ACCEPTED};
	struct promise_unit u;
	bool done = false;

	take_event_id(&ack.event_id, "ack_deadline IS NOT NULL");
	promise_unit_init(&u);
	u.origin_id = origin_id;
	u.acks = &ack;
	u.n = 1;
	u.unit.finish = promise_finished;
	u.arg = &done;
	assert_int_equal(writer_submit(rig.writer, &u.unit), RC_OK);
	while (!done)
		(void)writer_run_once(rig.writer);
	assert_int_equal(u.settled, 1);
}

static void
forget_parcel(void)
{

	buf_fini(&parcel.text);
	memset(&parcel, 0, sizeof(parcel));
}

/* Takes a receipt for ${id}, which the peer took at place ${sequence} (0: the
 * receipt does not say).  Returns the states of the messages. */
static const char *
receipt_of(const struct uuid *id, int64_t sequence)
{
	static int64_t last;

	n = 0;
	add_receipt(EVENT_DELIVERED, BOB, ANN, ++last, id)->upto_sequence =
	    sequence;
	rig_forget(&rig);
	assert_string_equal(answers(), "accepted");
	return (states());
}

/* A message with a new place is not covered by a receipt for an earlier place,
 * although it has a lower number than that receipt's message. */
static void
test_requeued_alone(void **state)
{
	struct uuid ids[2];

	(void)state;
	give_up_first(ids);
	assert_string_equal(receipt_of(&ids[1], 2), "failed acked");
	try_again(&ids[0]);
	(void)far_answer(&rig, &parcel, ANSWER_ACCEPTED);
	assert_string_equal(states(), "sent acked");
	assert_string_equal(receipt_of(&ids[1], 2), "sent acked");
	/* A receipt without a place covers the message that it names. */
	assert_string_equal(receipt_of(&ids[0], 0), "acked acked");
	forget_parcel();
}

/* A receipt for a message with a new place covers the places before that one,
 * and the sender's receipt has the highest number of all covered messages. */
static void
test_requeued_covers(void **state)
{
	struct uuid ids[2];

	(void)state;
	give_up_first(ids);
	try_again(&ids[0]);
	(void)far_answer(&rig, &parcel, ANSWER_ACCEPTED);
	/* The receipt names the old place, or none. */
	assert_string_equal(receipt_of(&ids[0], 1), "acked sent");
	assert_string_equal(receipt_of(&ids[0], 0), "acked sent");
	/* A place beyond the end of the lane counts as its end. */
	assert_string_equal(receipt_of(&ids[0], INT64_MAX), "acked acked");
	assert_int_equal(rig.nevents, 1);
	assert_int_equal(rig.events[0].conversation_seq, 2);
	assert_true(uuid_equal(&rig.events[0].of, &ids[1]));
	assert_int_equal(
	    rig_number(&rig, "SELECT max(acked_seq) FROM outbox_lanes"), 3);
	forget_parcel();
}

/* A receipt for a later message covers one with a new place. */
static void
test_requeued_covered(void **state)
{
	struct uuid ids[2], last;

	(void)state;
	give_up_first(ids);
	try_again(&ids[0]);
	(void)far_answer(&rig, &parcel, ANSWER_ACCEPTED);
	last = far_send(&rig, ann, BOB, PRIORITY_NORMAL, 0);
	(void)far_claim(&rig, &parcel, FAR, PARCEL_ITEMS, PRIORITY_NORMAL);
	(void)far_answer(&rig, &parcel, ANSWER_ACCEPTED);
	assert_string_equal(receipt_of(&last, 0), "acked acked acked");
	forget_parcel();
}

/* The receipt overtakes the answer. */
static void
test_requeued_early(void **state)
{
	struct uuid ids[2];

	(void)state;
	give_up_first(ids);
	try_again(&ids[0]);
	assert_string_equal(receipt_of(&ids[0], 3), "sending acked");
	(void)far_answer(&rig, &parcel, ANSWER_ACCEPTED);
	assert_string_equal(states(), "acked acked");
	forget_parcel();
}

/* The same with a receipt without a place. */
static void
test_requeued_early_unsaid(void **state)
{
	struct uuid ids[2];

	(void)state;
	give_up_first(ids);
	try_again(&ids[0]);
	assert_string_equal(receipt_of(&ids[0], 0), "sending sent");
	(void)far_answer(&rig, &parcel, ANSWER_ACCEPTED);
	assert_string_equal(states(), "acked sent");
	forget_parcel();
}

/* The destination had the message and has lost it.  The message that it takes
 * now has not been acked. */
static void
test_note_of_another_time(void **state)
{
	struct uuid ids[2];

	(void)state;
	give_up_first(ids);
	assert_string_equal(receipt_of(&ids[0], 1), "failed sent");
	clk_fake_advance(&rig.clk, 10);
	try_again(&ids[0]);
	(void)far_answer(&rig, &parcel, ANSWER_ACCEPTED);
	assert_string_equal(states(), "sent sent");
	assert_int_equal(
	    rig_number(
		&rig, "SELECT count(acked_at) FROM outbox WHERE kind = 1"),
	    0);
	forget_parcel();
}

/* The ack of a message that was answered with "later" comes after the
 * receipt. */
static void
test_requeued_promised(void **state)
{
	struct uuid ids[2];

	(void)state;
	give_up_first(ids);
	try_again(&ids[0]);
	(void)far_answer(&rig, &parcel, ANSWER_LATER);
	assert_string_equal(receipt_of(&ids[0], 0), "sent sent");
	rig_check_promises(&rig);
	confirm();
	assert_string_equal(states(), "acked sent");
	forget_parcel();
}

/* Both messages were given up, but the peer had taken the second.  The receipt
 * for the first covers the second one's old place, and makes no receipt with
 * the second one's number. */
static void
test_requeued_both(void **state)
{
	struct uuid ids[2];

	(void)state;
	ids[0] = far_send(&rig, ann, BOB, PRIORITY_NORMAL, 0);
	ids[1] = far_send(&rig, ann, BOB, PRIORITY_NORMAL, 0);
	(void)far_claim(&rig, &parcel, FAR, PARCEL_ITEMS, PRIORITY_NORMAL);
	(void)far_answer(&rig, &parcel, ANSWER_REJECTED);
	try_again(&ids[0]);
	(void)far_answer(&rig, &parcel, ANSWER_ACCEPTED);
	assert_string_equal(receipt_of(&ids[0], 3), "acked failed");
	retry(&ids[1]);
	(void)far_claim(&rig, &parcel, FAR, PARCEL_ITEMS, PRIORITY_NORMAL);
	parcel.items[0].duplicate = true;
	parcel.items[0].taken_seq = 2;
	(void)far_answer(&rig, &parcel, ANSWER_ACCEPTED);
	assert_string_equal(states(), "acked acked");
	forget_parcel();
}

/* A message that was given up here, although the peer had taken and acked it.
 * The peer's answer names its place. */
static void
test_requeued_known(void **state)
{
	struct uuid ids[2];

	(void)state;
	give_up_first(ids);
	assert_string_equal(receipt_of(&ids[1], 2), "failed acked");
	try_again(&ids[0]);
	parcel.items[0].duplicate = true;
	parcel.items[0].taken_seq = 1;
	(void)far_answer(&rig, &parcel, ANSWER_ACCEPTED);
	assert_string_equal(states(), "acked acked");
	forget_parcel();
}

/* ---- several receipts in a request ---- */

/* Returns the number of messages that were published as acked. */
static int
told_acked(void)
{
	int i, told = 0;

	for (i = 0; i < rig.nchanges; i++)
		told += rig.changes[i].event == CHANGE_ACKED;
	return (told);
}

/* A receipt names a message, and a later receipt of the same request covers its
 * place.  The message is acked and published once. */
static void
test_named_then_covered(void **state)
{
	struct uuid ids[4];

	(void)state;
	send_bob(ids, 4);
	add_receipt(EVENT_DELIVERED, BOB, ANN, 1, &ids[2])->upto_sequence = 1;
	(void)add_receipt(EVENT_DELIVERED, BOB, ANN, 2, &ids[3]);
	(void)add_receipt(EVENT_READ, BOB, ANN, 3, &ids[1]);
	rig_forget(&rig);
	assert_string_equal(answers(), "accepted accepted accepted");
	assert_string_equal(states(), "acked acked acked acked");
	assert_int_equal(told_acked(), 4);
	assert_int_equal(
	    rig_number(&rig, "SELECT acked_total FROM outbox_totals"), 4);
	assert_int_equal(
	    rig_number(&rig, "SELECT max(acked_seq) FROM outbox_lanes"), 4);
}

/* Receipts of one request for several lanes, and several for one lane: each
 * takes the rows of its own part. */
static void
test_lanes_mixed(void **state)
{
	struct uuid bob[3], cat[3];
	size_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		bob[i] = far_send(&rig, ann, BOB, PRIORITY_NORMAL, 0);
		cat[i] = far_send(&rig, ann, CAT, PRIORITY_NORMAL, 0);
	}
	(void)far_claim(&rig, &parcel, FAR, PARCEL_ITEMS, PRIORITY_NORMAL);
	assert_int_equal(parcel.n, 6);
	(void)far_answer(&rig, &parcel, ANSWER_ACCEPTED);
	/* The second receipt of Bob covers nothing that the first does not
	 * cover. */
	(void)add_receipt(EVENT_DELIVERED, BOB, ANN, 1, &bob[1]);
	(void)add_receipt(EVENT_DELIVERED, CAT, ANN, 1, &cat[0]);
	(void)add_receipt(EVENT_READ, BOB, ANN, 2, &bob[0]);
	(void)add_receipt(EVENT_READ, CAT, ANN, 2, &cat[1]);
	(void)add_receipt(EVENT_DELIVERED, BOB, ANN, 3, &bob[2]);
	rig_forget(&rig);
	assert_string_equal(
	    answers(), "accepted accepted accepted accepted accepted");
	assert_string_equal(states(), "acked acked acked acked acked sent");
	assert_int_equal(told_acked(), 5);
	forget_parcel();
}

/* ---- places in receipts ---- */

/* A copy of a request may arrive after its message was given up here.  Then the
 * peer has taken the message behind others, and the receipt covers those. */
static void
test_given_up_covers(void **state)
{
	struct uuid ids[2];

	(void)state;
	give_up_first(ids);
	assert_string_equal(receipt_of(&ids[0], 2), "failed acked");
	rig_check_promises(&rig);
	/* This is remembered until the message is tried again. */
	try_again(&ids[0]);
	parcel.items[0].duplicate = true;
	(void)far_answer(&rig, &parcel, ANSWER_ACCEPTED);
	assert_string_equal(states(), "acked acked");
	forget_parcel();
}

/* Notes a restore of the database, as the command restore does. */
static void
restore(void)
{
	char sql[128];

	(void)snprintf(sql, sizeof(sql),
	    "INSERT INTO meta (key, value) VALUES ('epoch_renewed_at', '%lld')",
	    (long long)clk_wall_ms(&rig.clk.clk));
	assert_int_equal(rig_exec(&rig, sql), 1);
}

/* A server that was restored from a backup gives places a second time.  A
 * receipt with a place may be from before then, so it covers only the message
 * that it names. */
static void
test_given_up_before_restore(void **state)
{
	struct uuid ids[2];

	(void)state;
	restore();
	/* The last copy of an earlier request may arrive, and the peer knows
	 * its places for the same time again. */
	clk_fake_advance(&rig.clk, 22 * 60 * 1000);
	give_up_first(ids);
	assert_string_equal(receipt_of(&ids[0], 2), "failed sent");
	rig_check_promises(&rig);
	try_again(&ids[0]);
	(void)far_answer(&rig, &parcel, ANSWER_ACCEPTED);
	assert_string_equal(receipt_of(&ids[0], 3), "acked sent");
	assert_string_equal(receipt_of(&ids[1], 2), "acked acked");
	forget_parcel();
}

/* After that time no peer knows those places. */
static void
test_given_up_after_restore(void **state)
{
	struct uuid ids[2];

	(void)state;
	restore();
	clk_fake_advance(&rig.clk, 22 * 60 * 1000 + 1);
	give_up_first(ids);
	assert_string_equal(receipt_of(&ids[0], 2), "failed acked");
	forget_parcel();
}

/* The message never moved, so a receipt with a place behind it is not believed:
 * a restored server gives places a second time. */
static void
test_place_of_another_time(void **state)
{
	struct uuid ids[3];

	(void)state;
	send_bob(ids, 3);
	assert_string_equal(receipt_of(&ids[0], 3), "acked sent sent");
}

/* Returns the place in the receipt for Bob's last message. */
static int64_t
place_said(void)
{
	char from[LIMIT_ADDRESS_LEN + 1];
	struct envelope e;

	assert_int_equal(
	    rig_ack(&rig, ann, ann_device, rig.events[rig.nevents - 1].seq)
		.refusal.problem,
	    PROBLEM_NONE);
	(void)far_claim(&rig, &parcel, FAR, PARCEL_ITEMS, PRIORITY_NORMAL);
	assert_int_equal(parcel.n, 1);
	parcel_envelope(&parcel, 0, HERE, from, &e);
	assert_int_equal(e.kind, EVENT_DELIVERED);
	(void)far_answer(&rig, &parcel, ANSWER_ACCEPTED);
	return (e.upto_sequence);
}

/* A sequence went back: the message stands behind those that were taken. */
static void
test_place_behind(void **state)
{

	(void)state;
	(void)add_message(BOB, ANN, 7);
	assert_string_equal(answers(), "accepted");
	n = 0;
	(void)add_message(BOB, ANN, 3);
	assert_string_equal(answers(), "accepted");
	assert_int_equal(unit.went_back, 1);
	(void)add_message(BOB, ANN, 5);
	assert_string_equal(answers(), "duplicate accepted");
	assert_int_equal(place_said(), 7);
	/* Its place: behind 7. */
	assert_string_equal(answers(), "duplicate duplicate");
	assert_int_equal(unit.items[1].sequence, 8);
	/* No copy arrives after this time: places may be given again. */
	clk_fake_advance(&rig.clk, 11 * 60 * 1000 + 1);
	n = 0;
	(void)add_message(BOB, ANN, 4);
	assert_string_equal(answers(), "accepted");
	assert_int_equal(place_said(), 4);
	n = 0;
	(void)add_message(BOB, ANN, 5);
	assert_string_equal(answers(), "accepted");
	assert_int_equal(place_said(), 5);
	forget_parcel();
}

/* The place in a receipt, and in an answer that the message is known. */
static void
test_place_said(void **state)
{

	(void)state;
	(void)add_message(BOB, ANN, 41);
	assert_string_equal(answers(), "accepted");
	assert_int_equal(place_said(), 41);
	assert_string_equal(answers(), "duplicate");
	assert_int_equal(unit.items[0].sequence, 41);
	/* Without the event the answer has no place. */
	assert_int_equal(rig_exec(&rig, "DELETE FROM processed_messages"), 1);
	assert_string_equal(answers(), "duplicate");
	assert_string_equal(answers(), "duplicate");
	assert_int_equal(unit.items[0].sequence, 0);
	forget_parcel();
}

/* The message of another server has no outbox rows here. */
static void
test_not_of_here(void **state)
{
	struct refusal r;
	struct uuid id;

	(void)state;
	id = add_message(BOB, ANN, 1)->message.id;
	assert_string_equal(answers(), "accepted");
	r = operate(OPERATOR_RETRY, &id);
	assert_int_equal(r.problem, PROBLEM_CONFLICT);
	assert_string_equal(r.detail,
	    "it came from another server, which has its outbox rows: there is "
	    "nothing to try again");
	r = operate(OPERATOR_DISCARD, &id);
	assert_int_equal(r.problem, PROBLEM_CONFLICT);
	assert_string_equal(r.detail,
	    "it came from another server, which has its outbox rows: there is "
	    "nothing to give up");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		test_requeued_alone, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_requeued_covers, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_requeued_covered, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_requeued_early, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_requeued_early_unsaid, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_note_of_another_time, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_requeued_promised, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_requeued_both, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_requeued_known, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_named_then_covered, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_lanes_mixed, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_given_up_covers, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_given_up_before_restore, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_given_up_after_restore, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_place_of_another_time, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_place_behind, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_place_said, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_not_of_here, open_rig, close_rig),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
