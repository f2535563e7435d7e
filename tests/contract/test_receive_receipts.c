/* SPDX-License-Identifier: MIT */
/*
 * Receipts from another server, receipts to it, and kills in the middle of a
 * request.
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
	assert_true(uuid_equal(&rig.events[0].of, &ids[1]));
	assert_int_equal(
	    rig_number(&rig, "SELECT acked_total FROM outbox_totals"), 2);
	assert_string_equal(answers(), "duplicate");
	/* An earlier receipt that arrives late changes nothing. */
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
	/* For an unknown message, from a stranger, and from a person who does
	 * not have the message. */
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

/* Ann reads Bob's messages up to ${upto}. */
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

/* A peer knows the ids of our events, and may use them for its own. */
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
	/* Ben's message to Ann, which is not acked. */
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

/* A receipt overtakes the answer for its message. */
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

/* A receipt that covers many messages is taken in steps. */
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

/* ---- receipts to the other server ---- */

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

/* ---- kills ---- */

#ifdef TWINBOX_FAULTS

/* Returns an id that is the same in each try. */
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

/* Makes a request with a message to Ann and a receipt for hers, with this
 * nonce.  Returns the answers. */
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

/* Runs this program again, which is killed at ${point}. */
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

/* Removes a database and the files that belong to it. */
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

/* After a kill in the transaction, the request is as if it had never come.
 * After a kill behind the commit, it is as if its answer was lost. */
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
