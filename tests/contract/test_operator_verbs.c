/* SPDX-License-Identifier: MIT */
/*
 * Each operation of an operator, and each mark of a reader, in each state of
 * its message: the full text of its refusals, and its entries in the audit log.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "contract/far.h"
#include "delivery/destination.h"
#include "delivery/operator.h"
#include "inspect/inspect.h"

#define SAID_SIZE 4096

static struct rig rig;
static struct parcel parcel;
static int64_t ann, ben, phone;
static char said[SAID_SIZE];

static int
open_rig(void **state)
{

	(void)state;
	rig_open(&rig);
	ann = rig_user(&rig, "ann", NULL);
	ben = rig_user(&rig, "ben", &phone);
	memset(&parcel, 0, sizeof(parcel));
	clk_fake_advance(&rig.clk, 10);
	return (0);
}

static int
close_rig(void **state)
{

	(void)state;
	buf_fini(&parcel.text);
	rig_check_promises(&rig);
	rig_close(&rig);
	return (0);
}

static void
admin_finished(struct unit *base)
{
	struct operator_unit *u =
	    CONTAINER_OF(base, struct operator_unit, unit);

	(void)u;
}

/* Returns the result of ${u}: its refusal or the number of changed rows,
 * followed by the new entries of the audit log. */
static const char *
done(struct operator_unit *u)
{
	const struct refusal *r = &u->refusal;
	char head[REFUSAL_POINTER_SIZE + REFUSAL_DETAIL_SIZE + 16];

	u->unit.finish = admin_finished;
	assert_int_equal(writer_submit(rig.writer, &u->unit), RC_OK);
	assert_int_equal(writer_run_once(rig.writer), 1);
	assert_int_equal(u->unit.rc, RC_OK);
	if (r->problem != PROBLEM_NONE)
		(void)snprintf(head, sizeof(head), "%d %s: %s",
		    problem_status(r->problem), r->pointer, r->detail);
	else
		(void)snprintf(head, sizeof(head), "done %zu", u->done);
	(void)snprintf(said, sizeof(said), "%s | %s", head,
	    rig_list(&rig,
		"SELECT (at - 1700000000000) || '/' || actor || '/' || action "
		"|| '/' || CASE WHEN length(object) = 36 THEN 'id' ELSE object "
		"END || '/' || coalesce(detail, '-') FROM audit_log "
		"ORDER BY audit_id"));
	(void)rig_exec(&rig, "DELETE FROM audit_log");
	clk_fake_advance(&rig.clk, 10);
	return (said);
}

static const char *
message(enum operator_op op, const struct uuid *id)
{
	struct operator_unit u;

	operator_unit_init(&u, op, "root");
	u.message = *id;
	u.sender_id = ann;
	return (done(&u));
}

static const char *
place(enum operator_op op, const char *name, int64_t number)
{
	struct operator_unit u;

	operator_unit_init(&u, op, "root");
	(void)snprintf(u.name, sizeof(u.name), "%s", name);
	(void)snprintf(
	    u.reason, sizeof(u.reason), "%s", number == 1 ? "repairs" : "");
	u.number = number;
	return (done(&u));
}

static const char *
rewind_lane(int64_t lane_id, int64_t seq)
{
	struct operator_unit u;

	operator_unit_init(&u, OPERATOR_REWIND, "root");
	u.lane_id = lane_id;
	u.number = seq;
	return (done(&u));
}

static const char *
states(void)
{

	return (rig_list(&rig,
	    "SELECT state || '/' || coalesce(lane_seq, 0) || '/' || "
	    "coalesce(next_retry_at - 1700000000000, 0) || '/' || "
	    "(expires_at - 1700000000000) || '/' || requeues "
	    "FROM outbox WHERE kind = 1 ORDER BY id"));
}

/* ---- messages ---- */

static void
test_waiting(void **state)
{
	struct uuid id = uuid_gen_next(&rig.ids), none = {.b = {1}};

	(void)state;
	(void)rig_send(&rig, ann, "ben", "hello", &id);
	assert_string_equal(message(OPERATOR_RETRY, &none),
	    "404 : there is no such message | ");
	assert_string_equal(message(OPERATOR_OWN_RETRY, &none),
	    "404 : you have sent no such message | ");
	assert_string_equal(message(OPERATOR_RETRY, &id),
	    "done 1 | 30/root/retry/id/for 1 of its recipients");
	assert_string_equal(message(OPERATOR_OWN_RETRY, &id), "done 1 | ");
	assert_string_equal(message(OPERATOR_DISCARD, &id),
	    "done 1 | 50/root/discard/id/for 1 of its recipients");
	assert_string_equal(states(), "failed/1/0/432000010/0");
	assert_string_equal(message(OPERATOR_DISCARD, &id),
	    "409 : it has been dealt with already | ");
	assert_string_equal(message(OPERATOR_RETRY, &id),
	    "done 1 | 70/root/retry/id/for 1 of its recipients");
	assert_string_equal(states(), "pending/2/0/432000070/1");
	assert_int_equal(rig_deliver(&rig), 1);
	assert_string_equal(message(OPERATOR_RETRY, &id),
	    "409 : it is sent: there is nothing to try again | ");
	assert_string_equal(message(OPERATOR_DISCARD, &id),
	    "409 : it is sent: only what waits, has failed or has expired is "
	    "discarded | ");
	(void)rig_ack(&rig, ben, phone, 1);
	assert_string_equal(message(OPERATOR_OWN_RETRY, &id),
	    "409 : it is acked: there is nothing to try again | ");
}

static void
test_never_waiting(void **state)
{
	struct uuid note = uuid_gen_next(&rig.ids), later;

	(void)state;
	(void)rig_send(&rig, ann, "ann", "note", &note);
	assert_string_equal(message(OPERATOR_RETRY, &note),
	    "409 : it is acked, and was never on its way | ");
	assert_string_equal(message(OPERATOR_DISCARD, &note),
	    "409 : it is acked, and was never on its way | ");
	later =
	    far_send(&rig, ann, "ben", PRIORITY_NORMAL, rig.clk.wall_ms + 9000);
	assert_string_equal(message(OPERATOR_RETRY, &later),
	    "409 : it is scheduled: there is nothing to try again | ");
	assert_string_equal(message(OPERATOR_DISCARD, &later),
	    "409 : it is scheduled: only what waits, has failed or has expired "
	    "is discarded | ");
}

static void
test_letters(void **state)
{
	struct operator_dead_letter letters[3] = {
	    {.dead_id = 1}, {.dead_id = 9}, {.dead_id = 1}};
	struct uuid id = uuid_gen_next(&rig.ids);
	struct operator_unit u;

	(void)state;
	(void)rig_send(&rig, ann, "ben", "hello", &id);
	(void)message(OPERATOR_DISCARD, &id);
	(void)rig_exec(&rig, "UPDATE dead_letter_queue SET resolution = NULL, "
			     "resolved_at = NULL, resolved_by = NULL");
	operator_unit_init(&u, OPERATOR_REQUEUE_DEAD_LETTERS, "root");
	u.dead_letters = letters;
	u.ndead_letters = 3;
	assert_string_equal(
	    done(&u), "done 1 | 20/root/requeue/id/dead letter 1 to ben");
	assert_false(letters[0].refused);
	assert_true(letters[1].refused);
	assert_string_equal(letters[1].detail, "there is no such dead letter");
	assert_true(letters[2].refused);
	assert_string_equal(letters[2].detail, "it is resolved already");
	assert_string_equal(states(), "pending/2/0/432000020/1");
	assert_string_equal(
	    rig_text(&rig, "SELECT resolution || '/' || (resolved_at - "
			   "1700000000000) || '/' || resolved_by "
			   "FROM dead_letter_queue"),
	    "requeued/20/root");
	(void)message(OPERATOR_DISCARD, &id);
	(void)rig_exec(&rig,
	    "UPDATE dead_letter_queue SET resolution = NULL, "
	    "resolved_at = NULL, resolved_by = NULL WHERE dead_id = 2");
	operator_unit_init(&u, OPERATOR_DISCARD_DEAD_LETTERS, "root");
	letters[0].dead_id = 2;
	u.dead_letters = letters;
	u.ndead_letters = 1;
	assert_string_equal(
	    done(&u), "done 1 | 40/root/discard/id/dead letter 2 to ben");
	assert_string_equal(states(), "failed/2/0/432000020/1");
}

/* ---- destinations and lanes ---- */

static void
test_destinations(void **state)
{

	(void)state;
	assert_string_equal(place(OPERATOR_PAUSE, "far.example", 1),
	    "404 : no message was ever sent to a destination called "
	    "\"far.example\" | ");
	assert_string_equal(place(OPERATOR_RESUME, "far.example", 1),
	    "404 : no message was ever sent to a destination called "
	    "\"far.example\" | ");
	assert_string_equal(place(OPERATOR_RATE, "far.example", 1),
	    "404 : no message was ever sent to a destination called "
	    "\"far.example\" | ");
	(void)far_send(&rig, ann, "x@far.example", PRIORITY_NORMAL, 0);
	assert_string_equal(place(OPERATOR_PAUSE, "far.example", 1),
	    "done 0 | 40/root/pause/far.example/repairs");
	/* A second pause changes who paused and why, but not since when. */
	assert_string_equal(place(OPERATOR_PAUSE, "far.example", 2),
	    "done 0 | 50/root/pause/far.example/-");
#define PAUSE                                                                  \
	rig_text(&rig,                                                         \
	    "SELECT coalesce(paused_at - 1700000000000, 0) || '/' || "         \
	    "coalesce(paused_by, '-') || '/' || coalesce(pause_reason, '-') "  \
	    "|| '/' || per_second FROM destinations "                          \
	    "WHERE name = 'far.example'")
	assert_string_equal(PAUSE, "40/root/-/0");
	assert_string_equal(place(OPERATOR_RESUME, "far.example", 1),
	    "done 0 | 60/root/resume/far.example/-");
	assert_string_equal(PAUSE, "0/-/-/0");
	assert_string_equal(place(OPERATOR_RATE, "far.example", -1),
	    "400 /per_second: per_second is a number from 0 (no limit) to "
	    "1000000 | ");
	assert_string_equal(
	    place(OPERATOR_RATE, "far.example", DESTINATION_RATE_MAX + 1),
	    "400 /per_second: per_second is a number from 0 (no limit) to "
	    "1000000 | ");
	assert_string_equal(
	    place(OPERATOR_RATE, "far.example", DESTINATION_RATE_MAX),
	    "done 0 | 90/root/rate/far.example/1000000/s");
	assert_string_equal(PAUSE, "0/-/-/1000000");
	assert_string_equal(place(OPERATOR_RATE, "far.example", 0),
	    "done 0 | 100/root/rate/far.example/0/s");
	assert_string_equal(PAUSE, "0/-/-/0");
	/* A rate for the inboxes here would hold nothing back. */
	assert_string_equal(place(OPERATOR_RATE, "local", 1),
	    "400 /per_second: only another server has a rate: what is for the "
	    "inboxes here is delivered as it comes; pause \"local\" to hold it "
	    "back | ");
	assert_string_equal(place(OPERATOR_RATE, "local", 0),
	    "done 0 | 120/root/rate/local/0/s");
}

#define FAR_LANE                                                               \
	rig_text(&rig,                                                         \
	    "SELECT state || '/' || next_seq || '/' || due_at || '/' || "      \
	    "priority || '/' || coalesce(replay_seq, 0) FROM outbox_lanes "    \
	    "WHERE state <> 'local'")

/* Returns the first place of ${lane} whose row was taken at ${ms} or later, or
 * -1 if there is none. */
static int64_t
sent_since(int64_t lane, int64_t ms)
{
	struct err err = ERR_INIT;
	int64_t seq = -1;
	enum rc rc = inspect_lane_sent_since(rig.db, lane, ms, &seq, &err);

	assert_int_equal(rc, seq < 0 ? RC_NOT_FOUND : RC_OK);
	return (seq);
}

/* A time stands for the first place whose row was taken at that time or later.
 * Rows that were given up or that wait have no such time. */
static void
test_rewind_since(void **state)
{
	int64_t first_ms, third_ms, lane, here;

	(void)state;
	(void)rig_send(&rig, ann, "ben", "hello", NULL);
	here = rig_number(
	    &rig, "SELECT lane_id FROM outbox_lanes WHERE state = 'local'");
	(void)far_send(&rig, ann, "x@far.example", PRIORITY_NORMAL, 0);
	(void)far_send(&rig, ann, "x@far.example", PRIORITY_NORMAL, 0);
	lane = rig_number(
	    &rig, "SELECT lane_id FROM outbox_lanes WHERE state <> 'local'");
	assert_int_equal(sent_since(lane, 0), -1);
	(void)far_claim(&rig, &parcel, "far.example", 9, PRIORITY_NORMAL);
	assert_int_equal(parcel.n, 2);
	parcel.reached = true;
	parcel.items[0].answer = ANSWER_ACCEPTED;
	parcel.items[1].answer = ANSWER_REJECTED;
	first_ms = rig.clk.wall_ms;
	(void)far_settle(&rig, &parcel);
	clk_fake_advance(&rig.clk, 1000);
	(void)far_send(&rig, ann, "x@far.example", PRIORITY_NORMAL, 0);
	(void)far_claim(&rig, &parcel, "far.example", 9, PRIORITY_NORMAL);
	third_ms = rig.clk.wall_ms;
	assert_int_equal(far_answer(&rig, &parcel, ANSWER_ACCEPTED), 0);
	(void)far_send(&rig, ann, "x@far.example", PRIORITY_NORMAL, 0);
	assert_int_equal(sent_since(lane, 0), 1);
	assert_int_equal(sent_since(lane, first_ms), 1);
	assert_int_equal(sent_since(lane, first_ms + 1), 3);
	assert_int_equal(sent_since(lane, third_ms), 3);
	assert_int_equal(sent_since(lane, third_ms + 1), -1);
	assert_int_equal(sent_since(here, 0), -1);
	assert_int_equal(sent_since(99, 0), -1);
	assert_string_equal(rewind_lane(lane, sent_since(lane, third_ms)),
	    "done 0 | 1010/root/rewind/2/from 3, of 3");
	assert_string_equal(FAR_LANE, "ready/4/0/0/3");
}

static void
test_rewind(void **state)
{
	int64_t lane, here;

	(void)state;
	(void)rig_send(&rig, ann, "ben", "hello", NULL);
	(void)far_send(&rig, ann, "x@far.example", PRIORITY_HIGH, 0);
	(void)far_send(&rig, ann, "x@far.example", PRIORITY_HIGH, 0);
	here = rig_number(
	    &rig, "SELECT lane_id FROM outbox_lanes WHERE state = 'local'");
	lane = rig_number(
	    &rig, "SELECT lane_id FROM outbox_lanes WHERE state <> 'local'");
	assert_string_equal(rewind_lane(99, 1), "404 : no such lane | ");
	assert_string_equal(rewind_lane(here, 1),
	    "409 : this lane leads into an inbox here, which has all that it "
	    "was given | ");
	assert_string_equal(rewind_lane(lane, 1),
	    "400 /seq: seq is a place that was settled: from 1 to 0 | ");
	(void)far_claim(&rig, &parcel, "far.example", 9, PRIORITY_NORMAL);
	assert_int_equal(far_answer(&rig, &parcel, ANSWER_ACCEPTED), 0);
	assert_string_equal(FAR_LANE, "idle/3/0/1/0");
	assert_string_equal(rewind_lane(lane, OPERATOR_NO_PLACE),
	    "done 0 | 40/root/rewind/2/nothing, of 2");
	assert_string_equal(FAR_LANE, "idle/3/0/1/0");
	assert_string_equal(rewind_lane(lane, 3),
	    "400 /seq: seq is a place that was settled: from 1 to 2 | ");
	assert_string_equal(
	    rewind_lane(lane, 2), "done 0 | 60/root/rewind/2/from 2, of 2");
	assert_string_equal(FAR_LANE, "ready/3/0/-1/2");
	(void)far_claim(&rig, &parcel, "far.example", 9, PRIORITY_NORMAL);
	assert_int_equal(parcel.n, 1);
	assert_true(parcel.items[0].replay);
	assert_int_equal(parcel.items[0].row.lane_seq, 2);
	assert_int_equal(far_answer(&rig, &parcel, ANSWER_ACCEPTED), 0);
	assert_string_equal(FAR_LANE, "ready/3/0/-1/3");
	assert_string_equal(
	    rewind_lane(lane, 1), "done 0 | 70/root/rewind/2/from 1, of 2");
	assert_string_equal(FAR_LANE, "ready/3/0/-1/1");
	/* A later place takes nothing from the replay that is under way. */
	assert_string_equal(
	    rewind_lane(lane, 2), "done 0 | 80/root/rewind/2/from 1, of 2");
	assert_string_equal(FAR_LANE, "ready/3/0/-1/1");
	/* A message that the destination refuses for now is offered once more,
	 * and is not charged. */
	(void)far_claim(&rig, &parcel, "far.example", 9, PRIORITY_NORMAL);
	assert_int_equal(parcel.n, 2);
	parcel.reached = true;
	parcel.items[0].answer = ANSWER_ACCEPTED;
	parcel.items[1].answer = ANSWER_RETRYABLE;
	parcel.items[1].retry_after_ms = 5000;
	(void)far_settle(&rig, &parcel);
	assert_string_equal(FAR_LANE, "ready/3/1700000005090/-1/2");
	clk_fake_advance(&rig.clk, 4999);
	assert_int_equal(
	    far_claim(&rig, &parcel, "far.example", 9, PRIORITY_NORMAL)->n, 0);
	clk_fake_advance(&rig.clk, 1);
	(void)far_claim(&rig, &parcel, "far.example", 9, PRIORITY_NORMAL);
	assert_int_equal(parcel.n, 1);
	assert_int_equal(parcel.items[0].row.lane_seq, 2);
	/* The destination answers the request but not this message. */
	parcel.reached = true;
	parcel.items[0].answer = ANSWER_NONE;
	parcel.items[0].retry_after_ms = 3000;
	(void)far_settle(&rig, &parcel);
	assert_string_equal(FAR_LANE, "ready/3/1700000008090/-1/2");
	clk_fake_advance(&rig.clk, 3000);
	(void)far_claim(&rig, &parcel, "far.example", 9, PRIORITY_NORMAL);
	assert_int_equal(parcel.n, 1);
	assert_int_equal(parcel.items[0].row.lane_seq, 2);
	(void)far_answer(&rig, &parcel, ANSWER_ACCEPTED);
	assert_string_equal(FAR_LANE, "ready/3/0/-1/3");
	assert_int_equal(rig_number(&rig, "SELECT sum(retry_count) FROM outbox"
					  " WHERE dest_kind = 'server'"),
	    0);
}

/* ---- readers ---- */

static void
read_finished(struct unit *base)
{
	struct read_unit *u = CONTAINER_OF(base, struct read_unit, unit);

	(void)u;
}

static const char *
read_by(struct read_unit *u)
{

	u->user_id = ben;
	u->device_id = phone;
	u->unit.finish = read_finished;
	assert_int_equal(writer_submit(rig.writer, &u->unit), RC_OK);
	assert_int_equal(writer_run_once(rig.writer), 1);
	assert_int_equal(u->unit.rc, RC_OK);
	(void)snprintf(said, sizeof(said), "%d %s: %s, head %d | %s",
	    u->refusal.problem == PROBLEM_NONE
		? 0
		: problem_status(u->refusal.problem),
	    u->refusal.pointer, u->refusal.detail, (int)u->refusal.head,
	    rig_text(&rig, "SELECT delivered_upto || '/' || acked_upto || '/' "
			   "|| read_upto || '/' || shown_upto "
			   "FROM participants WHERE user_id = 2"));
	return (said);
}

static void
test_readers(void **state)
{
	struct uuid ids[3];
	struct read_unit u;
	int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		ids[i] = uuid_gen_next(&rig.ids);
		(void)rig_send(&rig, ann, "ben", "hello", &ids[i]);
		if (i == 1)
			(void)rig_deliver(&rig);
	}
	memset(&u, 0, sizeof(u));
	read_unit_init(&u);
	u.form = READ_UPTO;
	u.upto = 3;
	assert_string_equal(
	    read_by(&u), "422 /upto: the inbox ends at 2, head 2 | 2/0/0/0");
	u.form = READ_IDS;
	u.ids = ids;
	u.nids = 3;
	assert_string_equal(read_by(&u),
	    "404 /ids/2: no such message is in your inbox, head -1 | 2/0/0/0");
	u.nids = 1;
	assert_string_equal(read_by(&u), "0 : , head -1 | 2/1/1/1");
	u.form = READ_CONVERSATION;
	u.upto = 1;
	assert_string_equal(read_by(&u),
	    "404 /conversation: you are in no such conversation, head -1 | "
	    "2/1/1/1");
	u.conversation = rig_send(&rig, ben, "ann", "hello", NULL).conversation;
	u.upto = 5;
	assert_string_equal(read_by(&u),
	    "422 /upto_conversation_seq: the conversation ends at 4, head 4 | "
	    "2/1/1/1");
	/* A mark cannot pass the last event of the inbox. */
	u.upto = 4;
	assert_string_equal(read_by(&u), "0 : , head -1 | 2/2/2/2");
	u.conversation = rig_send(&rig, ann, "ann", "mine", NULL).conversation;
	u.upto = 1;
	assert_string_equal(read_by(&u),
	    "404 /conversation: you are in no such conversation, head -1 | "
	    "2/2/2/2");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_waiting, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_never_waiting, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(test_letters, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_destinations, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(test_rewind, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_rewind_since, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(test_readers, open_rig, close_rig),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
