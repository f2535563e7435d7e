/* SPDX-License-Identifier: MIT */
/*
 * Messages that another server has answered with "later", and that it settles
 * by acks of its own: accepted, not now, never.  Also acks about other events.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "contract/far.h"
#include "delivery/promise.h"

#define FAR "a.example"
#define OTHER "c.example"
#define BOB "bob@" FAR

static struct rig rig;
static struct parcel parcel;
static struct envelope_ack acks[ENVELOPE_ACKS];
static size_t nacks, early;

/* Ann has sent two messages to Bob.  The first was answered with "later", the
 * second waits. */
static int
open_rig(void **state)
{

	(void)state;
	memset(&parcel, 0, sizeof(parcel));
	nacks = 0;
	rig_open(&rig);
	(void)rig_user(&rig, "ann", NULL);
	(void)far_send(&rig, 1, BOB, PRIORITY_NORMAL, 0);
	(void)far_send(&rig, 1, BOB, PRIORITY_NORMAL, 0);
	(void)far_claim(&rig, &parcel, FAR, 1, PRIORITY_NORMAL);
	assert_int_equal(parcel.n, 1);
	acks[0].event_id = parcel.items[0].row.event_id;
	(void)far_answer(&rig, &parcel, ANSWER_LATER);
	rig_forget(&rig);
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

static int64_t
server(const char *name)
{
	char sql[100];

	(void)snprintf(sql, sizeof(sql),
	    "SELECT destination_id FROM destinations WHERE name = '%s'", name);
	return (rig_number(&rig, sql));
}

static void
finish(struct unit *unit)
{
	struct promise_unit *u = CONTAINER_OF(unit, struct promise_unit, unit);

	*(bool *)u->arg = true;
}

/* Server ${origin} acks the first message with ${status}.  Returns the number
 * of acks that counted. */
static size_t
say(int64_t origin, enum envelope_status status, int64_t retry_after_ms)
{
	struct promise_unit u;
	bool done = false;

	acks[0].status = status;
	acks[0].retry_after_ms = retry_after_ms;
	(void)snprintf(acks[0].reason, sizeof(acks[0].reason), "%s",
	    status == ENVELOPE_REJECTED ? "unknown-recipient" : "");
	promise_unit_init(&u);
	u.origin_id = origin;
	u.acks = acks;
	u.n = 1;
	u.unit.finish = finish;
	u.arg = &done;
	assert_int_equal(writer_submit(rig.writer, &u.unit), RC_OK);
	while (!done)
		(void)writer_run_once(rig.writer);
	assert_int_equal(u.unit.rc, RC_OK);
	early = u.early;
	return (u.settled);
}

static const char *
rows(const char *column)
{
	char sql[120];

	(void)snprintf(sql, sizeof(sql),
	    "SELECT %s FROM outbox WHERE dest_kind = 'server' ORDER BY id",
	    column);
	return (rig_list(&rig, sql));
}

static size_t
claim(void)
{

	return (
	    far_claim(&rig, &parcel, FAR, PARCEL_ITEMS, PRIORITY_NORMAL)->n);
}

/* ---- acks that count ---- */

static void
test_accepted(void **state)
{

	(void)state;
	assert_int_equal(claim(), 0);
	assert_int_equal(say(server(FAR), ENVELOPE_ACCEPTED, 0), 1);
	assert_string_equal(rows("state"), "sent pending");
	assert_string_equal(rows("coalesce(ack_deadline, 0)"), "0 0");
	/* A second one does not count. */
	assert_int_equal(say(server(FAR), ENVELOPE_ACCEPTED, 0), 0);
	assert_int_equal(say(server(FAR), ENVELOPE_REJECTED, 0), 0);
	assert_int_equal(claim(), 1);
	(void)far_answer(&rig, &parcel, ANSWER_ACCEPTED);
	assert_string_equal(rows("state"), "sent sent");
	assert_string_equal(rows("retry_count"), "0 0");
}

/* Not now: the message is charged, and offered again at the given time, before
 * those behind it. */
static void
test_retryable(void **state)
{

	(void)state;
	assert_int_equal(say(server(FAR), ENVELOPE_RETRYABLE, 5000), 1);
	assert_string_equal(rows("state"), "sent pending");
	clk_fake_advance(&rig.clk, 4999);
	assert_int_equal(claim(), 0);
	clk_fake_advance(&rig.clk, 1);
	assert_int_equal(claim(), 1);
	assert_true(
	    uuid_equal(&parcel.items[0].row.event_id, &acks[0].event_id));
	(void)far_answer(&rig, &parcel, ANSWER_ACCEPTED);
	assert_string_equal(rows("retry_count"), "1 0");
	assert_int_equal(claim(), 1);
	(void)far_answer(&rig, &parcel, ANSWER_ACCEPTED);
}

/* A wait of an hour ends with the time that the row waits for an ack (60 s). */
static void
test_retryable_late(void **state)
{

	(void)state;
	assert_int_equal(say(server(FAR), ENVELOPE_RETRYABLE, 3600000), 1);
	clk_fake_advance(&rig.clk, 60000);
	assert_int_equal(claim(), 1);
	(void)far_answer(&rig, &parcel, ANSWER_ACCEPTED);
}

/* Never: the sender gets a bounce, and the message behind it goes. */
static void
test_rejected(void **state)
{

	(void)state;
	assert_int_equal(say(server(FAR), ENVELOPE_REJECTED, 0), 1);
	assert_string_equal(rows("state"), "failed pending");
	assert_string_equal(rig_text(&rig, "SELECT last_error FROM outbox"
					   " WHERE state = 'failed'"),
	    "unknown-recipient");
	assert_int_equal(
	    rig_number(&rig, "SELECT count(*) FROM dead_letter_queue"), 1);
	assert_int_equal(claim(), 1);
	(void)far_answer(&rig, &parcel, ANSWER_ACCEPTED);
}

/* ---- acks that do not count ---- */

static void
test_ignored(void **state)
{
	const struct uuid promised = acks[0].event_id;

	(void)state;
	(void)far_send(&rig, 1, "dan@" OTHER, PRIORITY_NORMAL, 0);
	/* From another server. */
	assert_int_equal(say(server(OTHER), ENVELOPE_ACCEPTED, 0), 0);
	assert_int_equal(say(server(OTHER), ENVELOPE_REJECTED, 0), 0);
	/* "Later" once more. */
	assert_int_equal(say(server(FAR), ENVELOPE_LATER, 0), 0);
	assert_int_equal(say(server(FAR), ENVELOPE_NO_ANSWER, 0), 0);
	/* An event that was not answered with "later", and an unknown one. */
	acks[0].event_id = uuid_gen_next(&rig.ids);
	assert_int_equal(say(server(FAR), ENVELOPE_ACCEPTED, 0), 0);
	assert_string_equal(rows("state"), "sent pending pending");
	acks[0].event_id = promised;
	assert_int_equal(say(server(FAR), ENVELOPE_ACCEPTED, 0), 1);
}

/* The ack overtakes the answer "later".  It counts when it is repeated. */
static void
test_early(void **state)
{

	(void)state;
	assert_int_equal(say(server(FAR), ENVELOPE_ACCEPTED, 0), 1);
	assert_int_equal(claim(), 1);
	acks[0].event_id = parcel.items[0].row.event_id;
	assert_int_equal(say(server(FAR), ENVELOPE_ACCEPTED, 0), 0);
	assert_int_equal(early, 1);
	assert_string_equal(rows("state"), "sent sending");
	(void)far_answer(&rig, &parcel, ANSWER_LATER);
	assert_int_equal(say(server(FAR), ENVELOPE_ACCEPTED, 0), 1);
	assert_int_equal(early, 0);
	assert_string_equal(rows("coalesce(ack_deadline, 0)"), "0 0");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_accepted, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_retryable, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(
		test_retryable_late, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(test_rejected, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(test_early, open_rig, close_rig),
	    cmocka_unit_test_setup_teardown(test_ignored, open_rig, close_rig),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
