/* SPDX-License-Identifier: MIT */
/*
 * What another server sends: each kind of envelope, new, again, and wrong.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "contract/far.h"
#include "delivery/receive.h"
#include "model/event.h"

#define HERE "b.example"
#define FAR "a.example"
#define ANN "ann@" HERE
#define BEN "ben@" HERE
#define BOB "bob@" FAR
#define CAT "cat@" FAR
#define STRANGER "eve@c.example"

static struct rig rig;
static struct receive_unit unit;
static struct envelope list[ENVELOPE_ITEMS];
static size_t n;
static int nonces;
static int64_t origin_id, ann, ann_device, walk_most;

static int
open_rig(void **state)
{

	(void)state;
	rig_open(&rig);
	ann = rig_user(&rig, "ann", &ann_device);
	(void)rig_user(&rig, "ben", NULL);
	(void)rig_exec(&rig,
	    "INSERT INTO destinations (name, created_at, updated_at)"
	    " VALUES ('" FAR "', 0, 0)");
	origin_id = rig_number(&rig,
	    "SELECT destination_id FROM destinations WHERE name = '" FAR "'");
	nonces = 0;
	walk_most = RECEIVE_WALK_ROWS;
	n = 0;
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

static struct span
span(const char *text)
{

	return ((struct span){text, strlen(text)});
}

/* The next envelope of the request. */
static struct envelope *
add(int kind, const char *from, const char *to, int64_t sequence)
{
	struct envelope *e = &list[n++];

	memset(e, 0, sizeof(*e));
	e->event_id = uuid_gen_next(&rig.ids);
	e->kind = kind;
	e->sequence = sequence;
	e->timestamp_ms = RIG_START_MS - 1000;
	e->attempt = 1;
	e->from = span(from);
	e->recipient = span(to);
	return (e);
}

static struct envelope *
add_message(const char *from, const char *to, int64_t sequence)
{
	struct envelope *e = add(EVENT_MESSAGE, from, to, sequence);

	e->message.has_id = true;
	e->message.id = uuid_gen_next(&rig.ids);
	e->message.body = span("hello");
	return (e);
}

static struct envelope *
add_receipt(int kind, const char *from, const char *to, int64_t sequence,
    const struct uuid *upto)
{
	struct envelope *e = add(kind, from, to, sequence);

	e->upto = *upto;
	return (e);
}

static void
finished(struct unit *base)
{

	assert_ptr_equal(base, &unit.unit);
}

/* The request with nonce ${nonce}; the envelopes stay for a repetition. */
static void
request(const char *nonce, bool full)
{

	memset(&unit, 0, sizeof(unit));
	receive_unit_init(&unit);
	unit.unit.finish = finished;
	unit.domain = HERE;
	unit.origin = FAR;
	unit.origin_id = origin_id;
	unit.key_id = "k1";
	unit.nonce = nonce;
	unit.nonce_until = RIG_START_MS + 600000;
	unit.envelopes = list;
	unit.n = n;
	unit.full = full;
	unit.walk_most = walk_most;
	assert_int_equal(writer_submit(rig.writer, &unit.unit), RC_OK);
	assert_int_equal(writer_run_once(rig.writer), 1);
	assert_int_equal(unit.unit.rc, RC_OK);
}

/* What is said of the request: a word for each envelope. */
static const char *
answers_of(bool full)
{
	static char text[1024];
	char nonce[32];
	size_t i, at = 0;

	(void)snprintf(nonce, sizeof(nonce), "nonce-number-%06d", nonces++);
	request(nonce, full);
	assert_false(unit.repeated);
	text[0] = '\0';
	for (i = 0; i < n; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s",
		    i == 0 ? "" : " ",
		    unit.items[i].duplicate ? "duplicate"
		    : unit.items[i].reason == ENVELOPE_NO_REASON
			? "accepted"
			: envelope_reason_word(unit.items[i].reason));
	return (text);
}

static const char *
answers(void)
{

	return (answers_of(false));
}

static int64_t
count(const char *table)
{
	char sql[80];

	(void)snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", table);
	return (rig_number(&rig, sql));
}

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

/* Of a name that is as long as it may be. */
static void
test_long_address(void **state)
{
	static const char from[] = "a-name-that-has-thirty-two-bytes@" FAR;

	(void)state;
	(void)add_message(from, ANN, 1);
	assert_string_equal(answers(), "accepted");
	rig_restart(&rig);
	/* Another event, the same message: its sender is known by address. */
	list[0].event_id = uuid_gen_next(&rig.ids);
	assert_string_equal(answers(), "duplicate");
	n = 0;
	(void)add_message(from, ANN, 2);
	assert_string_equal(answers(), "accepted");
	assert_int_equal(rig_number(&rig, "SELECT count(*) FROM users"
					  " WHERE name LIKE '%@%'"),
	    1);
}

/* A clock that is ahead does not make a message from the future. */
static void
test_future(void **state)
{

	(void)state;
	add_message(BOB, ANN, 1)->timestamp_ms = RIG_START_MS + 3600000;
	assert_string_equal(answers(), "accepted");
	assert_int_equal(
	    rig_number(&rig, "SELECT event_time FROM messages"), RIG_START_MS);
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
	/* What was removed since cannot be compared. */
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
	/* As another event: the message is here. */
	list[0].event_id = uuid_gen_next(&rig.ids);
	list[0].sequence = 2;
	assert_string_equal(answers(), "duplicate");
	assert_string_equal(answers(), "duplicate");
	assert_int_equal(count("processed_messages"), 2);
	/* With another content, or of another sender, it is not. */
	list[0].event_id = uuid_gen_next(&rig.ids);
	list[0].message.body = span("hullo");
	assert_string_equal(answers(), "id-taken");
	list[0].message.body = span("hello");
	list[0].from = span(CAT);
	assert_string_equal(answers(), "id-taken");
	/* An id of this server. */
	list[0].from = span(BOB);
	list[0].message.id = uuid_gen_next(&rig.ids);
	sent = rig_send(&rig, ann, "ben", "local", &list[0].message.id);
	assert_int_equal(sent.refusal.problem, PROBLEM_NONE);
	assert_string_equal(answers(), "id-taken");
	assert_int_equal(count("messages"), 2);
	(void)rig_deliver(&rig);
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

/* Behind what has no room now nothing of its sequence is taken. */
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

/* By their numbers, whatever their places in the request. */
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

/* Nonces go when no signature with them is good any more. */
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

/* A request without envelopes takes its nonce, too. */
static void
test_empty(void **state)
{

	(void)state;
	assert_string_equal(answers(), "");
	assert_int_equal(count("federation_nonces"), 1);
}

/* A peer that was restored from a backup counts from an earlier number. */
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

/* ---- receipts ---- */

/* Ann writes to Bob; the ids of ${m} messages, all of them sent. */
static void
send_bob(struct uuid *ids, size_t m)
{
	static struct parcel parcel;
	size_t i;

	for (i = 0; i < m; i++)
		ids[i] = far_send(&rig, ann, BOB, PRIORITY_NORMAL, 0);
	(void)far_claim(&rig, &parcel, FAR, PARCEL_ITEMS, PRIORITY_NORMAL);
	assert_int_equal(parcel.n, m);
	(void)far_answer(&rig, &parcel, ANSWER_ACCEPTED);
	buf_fini(&parcel.text);
	memset(&parcel, 0, sizeof(parcel));
}

static const char *
states(void)
{

	return (
	    rig_list(&rig, "SELECT state FROM outbox WHERE dest_kind = 'server'"
			   " ORDER BY id"));
}

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

/* A receipt that covers very much comes in steps. */
static void
test_receipt_steps(void **state)
{
	struct uuid ids[7];

	(void)state;
	send_bob(ids, 7);
	walk_most = 3;
	(void)add_receipt(EVENT_READ, BOB, ANN, 1, &ids[6]);
	(void)add_receipt(EVENT_DELIVERED, BOB, ANN, 2, &ids[0]);
	assert_string_equal(answers(), "busy predecessor");
	assert_string_equal(states(), "acked acked acked acked sent sent sent");
	rig_check_promises(&rig);
	assert_string_equal(answers(), "accepted accepted");
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		test_new_message, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_long_address, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(test_future, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(test_again, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(test_id_taken, open_rig, close_rig),
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
	    cmocka_unit_test_setup_teardown(
		test_delivered, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(test_read, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_receipts_refused, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_receipt_early, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_receipt_steps, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_ack_goes_back, open_rig, close_rig),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
