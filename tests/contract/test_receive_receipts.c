/* SPDX-License-Identifier: MIT */
/*
 * Receipts that another server sends, and what goes back to it; and kills in
 * the middle of a request.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "contract/received.h"
#include "delivery/operator.h"

/* ---- receipts ---- */

static void
test_delivered(void **state)
{
	struct uuid ids[3];

	(void)state;
	send_bob(ids, 3);
	(void)add_receipt(EVENT_DELIVERED, BOB, ANN, 1, &ids[1]);
	rig_forget(&rig);
	assert_string_equal(answers(), "accepted");
	assert_string_equal(states(), "acked acked sent");
	assert_int_equal(rig.nevents, 1);
	assert_int_equal(rig.events[0].kind, EVENT_DELIVERED);
	assert_int_equal(rig.events[0].conversation_seq, 2);
	assert_int_equal(
	    rig_number(&rig, "SELECT acked_total FROM outbox_totals"), 2);
	assert_string_equal(answers(), "duplicate");
	/* An earlier one that comes late is no news. */
	n = 0;
	(void)add_receipt(EVENT_DELIVERED, BOB, ANN, 2, &ids[0]);
	rig_forget(&rig);
	assert_string_equal(answers(), "accepted");
	assert_int_equal(rig.nevents, 0);
	assert_string_equal(states(), "acked acked sent");
}

static void
test_read(void **state)
{
	struct uuid ids[2];

	(void)state;
	send_bob(ids, 2);
	(void)add_receipt(EVENT_READ, BOB, ANN, 1, &ids[1]);
	assert_string_equal(answers(), "accepted");
	assert_string_equal(states(), "acked acked");
	assert_int_equal(
	    rig_number(&rig, "SELECT p.shown_upto FROM participants p"
			     " JOIN users u ON u.user_id = p.user_id"
			     " WHERE u.name = '" BOB "'"),
	    2);
}

static void
test_receipts_refused(void **state)
{
	struct uuid ids[1], local, unknown;
	struct send_unit sent;

	(void)state;
	send_bob(ids, 1);
	local = uuid_gen_next(&rig.ids);
	sent = rig_send(&rig, ann, "ben", "local", &local);
	assert_int_equal(sent.refusal.problem, PROBLEM_NONE);
	unknown = uuid_gen_next(&rig.ids);
	/* Of nothing, of a stranger, by one who does not have it. */
	(void)add_receipt(EVENT_READ, BOB, ANN, 1, &unknown);
	(void)add_receipt(EVENT_READ, CAT, ANN, 1, &ids[0]);
	(void)add_receipt(EVENT_READ, BOB, ANN, 2, &local);
	(void)add_receipt(EVENT_READ, BOB, BEN, 1, &ids[0]);
	(void)add_receipt(EVENT_READ, STRANGER, ANN, 1, &ids[0]);
	assert_string_equal(answers(),
	    "unknown-message unknown-message unknown-message "
	    "unknown-message foreign-sender");
	assert_string_equal(states(), "sent");
	assert_int_equal(rig_number(&rig, "SELECT count(*) FROM users"
					  " WHERE name LIKE '%@%'"),
	    1);
	(void)rig_deliver(&rig);
}

static void
read_finished(struct unit *base)
{

	(void)base;
}

/* Ann reads what Bob has written to her. */
static void
read_bob(int64_t upto)
{
	struct read_unit u;

	memset(&u, 0, sizeof(u));
	read_unit_init(&u);
	u.unit.finish = read_finished;
	u.user_id = ann;
	u.device_id = ann_device;
	u.form = READ_CONVERSATION;
	u.conversation = rig.events[rig.nevents - 1].conversation;
	u.upto = upto;
	assert_int_equal(writer_submit(rig.writer, &u.unit), RC_OK);
	assert_int_equal(writer_run_once(rig.writer), 1);
	assert_int_equal(u.unit.rc, RC_OK);
	assert_int_equal(u.refusal.problem, PROBLEM_NONE);
}

/* A peer knows the ids of our events, and may give its own the same. */
static void
test_our_event_ids(void **state)
{
	struct uuid ids[1];
	struct send_unit sent;

	(void)state;
	send_bob(ids, 1);
	(void)add_receipt(EVENT_DELIVERED, BOB, ANN, 1, &ids[0]);
	take_event_id(&list[0].event_id, "dest_kind = 'server'");
	assert_string_equal(answers(), "accepted");
	rig_check_promises(&rig);
	/* Ben's message to Ann, which she has not acked. */
	sent = rig_send(&rig, ben, "ann", "local", NULL);
	assert_int_equal(sent.refusal.problem, PROBLEM_NONE);
	assert_int_equal(rig_deliver(&rig), 1);
	n = 0;
	(void)add_message(BOB, ANN, 1);
	take_event_id(&list[0].event_id, "dest_kind = 'user'");
	assert_string_equal(answers(), "accepted");
	read_bob(2);
	assert_string_equal(
	    rig_text(&rig, "SELECT state FROM outbox WHERE dest_kind = 'user'"
			   " AND kind = 1"),
	    "sent");
}

/* A receipt overtakes the answer to what it is about. */
static void
test_receipt_early(void **state)
{
	static struct parcel parcel;
	struct uuid id;

	(void)state;
	id = far_send(&rig, ann, BOB, PRIORITY_NORMAL, 0);
	(void)far_claim(&rig, &parcel, FAR, PARCEL_ITEMS, PRIORITY_NORMAL);
	(void)add_receipt(EVENT_DELIVERED, BOB, ANN, 1, &id);
	assert_string_equal(answers(), "accepted");
	assert_string_equal(states(), "sending");
	(void)far_answer(&rig, &parcel, ANSWER_ACCEPTED);
	assert_string_equal(states(), "acked");
	assert_int_equal(
	    rig_number(&rig, "SELECT acked_total FROM outbox_totals"), 1);
	buf_fini(&parcel.text);
	memset(&parcel, 0, sizeof(parcel));
}

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

/* A receipt that covers very much comes in steps. */
static void
test_receipt_steps(void **state)
{
	struct uuid ids[7];

	(void)state;
	send_bob(ids, 7);
	walk_most = 4;
	(void)add_receipt(EVENT_READ, BOB, ANN, 1, &ids[6]);
	(void)add_receipt(EVENT_DELIVERED, BOB, ANN, 2, &ids[0]);
	assert_string_equal(answers(), "busy predecessor");
	assert_int_equal(unit.went_back, 0);
	assert_string_equal(states(), "acked acked acked acked sent sent sent");
	rig_check_promises(&rig);
	assert_string_equal(answers(), "accepted accepted");
	assert_int_equal(unit.went_back, 0);
	assert_string_equal(
	    states(), "acked acked acked acked acked acked acked");
	assert_string_equal(rig_list(&rig, "SELECT conversation_seq FROM inbox"
					   " WHERE own = 0 ORDER BY seq"),
	    "4 7");
	assert_string_equal(answers(), "duplicate duplicate");
}

/* ---- back to the other server ---- */

static void
test_ack_goes_back(void **state)
{
	struct ack_unit ack;

	(void)state;
	(void)add_message(BOB, ANN, 1);
	assert_string_equal(answers(), "accepted");
	ack = rig_ack(&rig, ann, ann_device, 1);
	assert_int_equal(ack.refusal.problem, PROBLEM_NONE);
	assert_int_equal(rig_number(&rig, "SELECT kind FROM outbox"
					  " WHERE dest_kind = 'server'"),
	    EVENT_DELIVERED);
	assert_int_equal(
	    rig_number(&rig, "SELECT destination_id FROM outbox_lanes"),
	    origin_id);
}

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
	(void)add_message(BOB, ANN, 5);
	assert_string_equal(answers(), "accepted accepted");
	assert_int_equal(unit.went_back, 1);
	assert_int_equal(place_said(), 7);
	/* Where it was taken helps nobody: it is not said. */
	assert_string_equal(answers(), "duplicate duplicate");
	assert_int_equal(unit.items[1].sequence, 0);
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

/* ---- kills ---- */

#ifdef TWINBOX_FAULTS

/* What does not change from one try to the next. */
static struct uuid
fixed_id(char letter)
{
	struct uuid id;

	memset(&id, letter, sizeof(id));
	id.b[6] = 0x70;
	id.b[8] = 0x80;
	return (id);
}

static void
open_file(const char *path)
{
	const struct rig_options options = {.path = path};

	rig_open_with(&rig, &options);
	n = 0;
	walk_most = RECEIVE_WALK_ROWS;
	origin_id = rig_number(&rig,
	    "SELECT destination_id FROM destinations WHERE name = '" FAR "'");
}

/* A message to Ann and a receipt for hers, with this nonce. */
static const char *
ask_both(int nonce, const struct uuid *upto)
{

	nonces = nonce;
	(void)add_message(BOB, ANN, 1);
	list[0].event_id = fixed_id('e');
	list[0].message.id = fixed_id('m');
	(void)add_receipt(EVENT_READ, BOB, ANN, 1, upto);
	list[1].event_id = fixed_id('r');
	return (answers());
}

/* This program again, which is to be killed at ${point}. */
static void
die_at(const char *point, const char *path, const struct uuid *upto)
{
	char fault[80], id[UUID_TEXT_LEN + 1];
	char name[] = "test_receive_receipts";
	char *argv[] = {name, (char *)(uintptr_t)path, id, NULL};
	int status;
	pid_t pid;

	(void)snprintf(fault, sizeof(fault), "TWINBOX_FAULT=%s:1:kill", point);
	uuid_format(upto, id);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)putenv(fault);
		(void)execv("/proc/self/exe", argv);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		fail_msg("%s: status %d", point, status);
}

/* Removes a database with what belongs to it. */
static void
remove_file(const char *path)
{
	static const char *const ends[] = {"", "-wal", "-shm"};
	char name[80];
	size_t i;

	for (i = 0; i < 3; i++) {
		(void)snprintf(name, sizeof(name), "%s%s", path, ends[i]);
		(void)unlink(name);
	}
}

/* Killed at each point of the transaction, the request is as if it had never
 * come; after the commit, as if its answer was lost. */
static void
test_killed(void **state)
{
	static const struct {
		const char *point;
		const char *answers; /* to the same request again */
	} rows[] = {
	    {"receive.nonce.after", "accepted accepted"},
	    {"receive.people.after", "accepted accepted"},
	    {"receive.receipt.after", "accepted accepted"},
	    {"receive.messages.before", "accepted accepted"},
	    {"receive.inbox.before", "accepted accepted"},
	    {"writer.commit.before", "accepted accepted"},
	    {"writer.commit.after", "duplicate duplicate"},
	};
	char dir[] = "/tmp/twinbox-receive-XXXXXX", path[64];
	struct uuid upto;
	size_t i;

	(void)state;
	assert_non_null(mkdtemp(dir));
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%zu.db", dir, i);
		rig_open_with(&rig, &(struct rig_options){.path = path});
		ann = rig_user(&rig, "ann", &ann_device);
		send_bob(&upto, 1);
		rig_close(&rig);
		die_at(rows[i].point, path, &upto);
		open_file(path);
		rig_check_promises(&rig);
		assert_string_equal(ask_both(2, &upto), rows[i].answers);
		assert_int_equal(count("messages"), 2);
		assert_int_equal(count("inbox"), 3);
		assert_string_equal(states(), "acked");
		rig_check_promises(&rig);
		rig_close(&rig);
		remove_file(path);
	}
	assert_int_equal(rmdir(dir), 0);
}

#else

static void
test_killed(void **state)
{

	(void)state;
	skip();
}

#endif

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		test_delivered, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(test_read, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_receipts_refused, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_our_event_ids, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_receipt_early, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_requeued_alone, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_requeued_covers, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_requeued_covered, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_requeued_early, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_requeued_known, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_place_said, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_place_behind, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_given_up_covers, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_place_of_another_time, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_receipt_steps, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_ack_goes_back, open_rig, close_rig),
	    cmocka_unit_test(test_killed),
	};

#ifdef TWINBOX_FAULTS
	struct uuid upto;

	if (argc == 3) {
		assert_true(uuid_parse(argv[2], strlen(argv[2]), &upto));
		open_file(argv[1]);
		(void)ask_both(1, &upto);
		return (0);
	}
#endif
	(void)argc;
	(void)argv;
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
