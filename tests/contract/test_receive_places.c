/* SPDX-License-Identifier: MIT */
/*
 * Places in lanes to another server: what a receipt covers when messages were
 * given up, tried again, or taken from copies of requests that came late.
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

/* An operator has message ${id} tried again. */
static void
retry(const struct uuid *id)
{
	struct operator_unit u;
	bool done = false;

	operator_unit_init(&u, OPERATOR_RETRY, "root");
	u.message = *id;
	u.unit.finish = retry_finished;
	u.arg = &done;
	assert_int_equal(writer_submit(rig.writer, &u.unit), RC_OK);
	while (!done)
		(void)writer_run_once(rig.writer);
	assert_int_equal(u.unit.rc, RC_OK);
	assert_int_equal(u.refusal.problem, PROBLEM_NONE);
}

/* Two messages to Bob, of which the first is given up: the second is at place
 * 2, and the first, which is tried again, at place 3, on its way. */
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

/* The peer acks what it had promised to. */
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

/* A receipt that names ${id}, which was taken at place ${sequence} (0: it does
 * not say); what became of the messages. */
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

/* A message with a new place is not covered by a receipt for one before that
 * place, though it was written after it. */
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
	/* One that does not say where is about the message that it names. */
	assert_string_equal(receipt_of(&ids[0], 0), "acked acked");
	forget_parcel();
}

/* A receipt for a message with a new place covers what stands before that, and
 * tells the highest number. */
static void
test_requeued_covers(void **state)
{
	struct uuid ids[2];

	(void)state;
	give_up_first(ids);
	try_again(&ids[0]);
	(void)far_answer(&rig, &parcel, ANSWER_ACCEPTED);
	/* Taken when it stood at its old place, or not said where. */
	assert_string_equal(receipt_of(&ids[0], 1), "acked sent");
	assert_string_equal(receipt_of(&ids[0], 0), "acked sent");
	/* No place beyond the lane's end. */
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

/* The same, without a word of the place. */
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

/* The destination had the message, and has it no more: nobody has acked what it
 * has taken now. */
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

/* A promised answer comes after the receipt. */
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

/* Two that were given up, of which the second had been taken: the receipt for
 * the first covers its old place, and nothing is told of its number. */
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

/* A message that was taken, and acked, although it was given up here: its
 * server says at which place. */
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

/* Messages of which the rig was told that they are acked. */
static int
told_acked(void)
{
	int i, told = 0;

	for (i = 0; i < rig.nchanges; i++)
		told += rig.changes[i].event == CHANGE_ACKED;
	return (told);
}

/* A message that a receipt has named is acked when a later receipt of the same
 * request covers its place: each message is told of once. */
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

/* Receipts of one request for several lanes, and several for one, each of which
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
	/* The second one of Bob covers nothing that the first does not. */
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

/* ---- places that are said ---- */

/* A copy of a request may come late, when its message was given up here: the
 * recipient's server has taken it behind others, which the receipt covers. */
static void
test_given_up_covers(void **state)
{
	struct uuid ids[2];

	(void)state;
	give_up_first(ids);
	assert_string_equal(receipt_of(&ids[0], 2), "failed acked");
	rig_check_promises(&rig);
	/* Which is not forgotten until it is tried again. */
	try_again(&ids[0]);
	parcel.items[0].duplicate = true;
	(void)far_answer(&rig, &parcel, ANSWER_ACCEPTED);
	assert_string_equal(states(), "acked acked");
	forget_parcel();
}

/* The database goes back to an earlier state. */
static void
restore(void)
{
	char sql[128];

	(void)snprintf(sql, sizeof(sql),
	    "INSERT INTO meta (key, value) VALUES ('epoch_renewed_at', '%lld')",
	    (long long)clk_wall_ms(&rig.clk.clk));
	assert_int_equal(rig_exec(&rig, sql), 1);
}

/* A server that was restored from a backup gives places again.  A receipt with
 * a place may be of before then: it covers the message that it names alone. */
static void
test_given_up_before_restore(void **state)
{
	struct uuid ids[2];

	(void)state;
	restore();
	/* The last copy of a request of before, and a peer that then knows
	 * its places for as long again. */
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

/* No peer knows those places any more. */
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

/* Of a message that stands where it always stood no place behind it is
 * believed: a server that was restored gives places again. */
static void
test_place_of_another_time(void **state)
{
	struct uuid ids[3];

	(void)state;
	send_bob(ids, 3);
	assert_string_equal(receipt_of(&ids[0], 3), "acked sent sent");
}

/* What a receipt says of the place of Bob's last message. */
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
	/* Where it stands: behind 7. */
	assert_string_equal(answers(), "duplicate duplicate");
	assert_int_equal(unit.items[1].sequence, 8);
	/* No copy comes so late: places are given again. */
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

/* What a receipt says of the place, and an answer that it was here before. */
static void
test_place_said(void **state)
{

	(void)state;
	(void)add_message(BOB, ANN, 41);
	assert_string_equal(answers(), "accepted");
	assert_int_equal(place_said(), 41);
	assert_string_equal(answers(), "duplicate");
	assert_int_equal(unit.items[0].sequence, 41);
	/* It is said no more when the event has been forgotten. */
	assert_int_equal(rig_exec(&rig, "DELETE FROM processed_messages"), 1);
	assert_string_equal(answers(), "duplicate");
	assert_string_equal(answers(), "duplicate");
	assert_int_equal(unit.items[0].sequence, 0);
	forget_parcel();
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
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
