/* SPDX-License-Identifier: MIT */
/*
 * Which failures on the way to another server charge a message, and which
 * messages travel together.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "contract/far.h"
#include "store/lane.h"

#define FAR "a.example"
#define BOB "bob@" FAR

static struct rig rig;
static struct parcel parcel, other;
static struct err err;

static int
open_rig(void **state)
{

	(void)state;
	memset(&parcel, 0, sizeof(parcel));
	memset(&other, 0, sizeof(other));
	err = (struct err)ERR_INIT;
	rig_open(&rig);
	(void)rig_user(&rig, "ann", NULL);
	return (0);
}

static int
close_rig(void **state)
{

	(void)state;
	buf_fini(&parcel.text);
	buf_fini(&other.text);
	rig_check_promises(&rig);
	rig_close(&rig);
	return (0);
}

static void
send_bob(int n)
{

	while (n-- > 0)
		(void)far_send(&rig, 1, BOB, PRIORITY_NORMAL, 0);
}

/* Claims at most ${most} messages for the server.  Returns their number. */
static size_t
claim(size_t most)
{

	return (far_claim(&rig, &parcel, FAR, most, PRIORITY_NORMAL)->n);
}

/* Returns ${column} of the rows, in the order of their acceptance. */
static const char *
rows(const char *column)
{
	char sql[120];

	(void)snprintf(sql, sizeof(sql),
	    "SELECT %s FROM outbox WHERE dest_kind = 'server' ORDER BY id",
	    column);
	return (rig_list(&rig, sql));
}

static const char *
outcomes(void)
{

	return (rig_list(&rig,
	    "SELECT outcome FROM outbox_attempts ORDER BY outbox_id, attempt"));
}

/* ---- charges ---- */

/* A message that is refused for now holds the lane.  The messages behind it go
 * back without a charge, whatever the server answered about them. */
static void
test_held_uncharged(void **state)
{

	(void)state;
	send_bob(4);
	assert_int_equal(claim(4), 4);
	parcel.reached = true;
	parcel.items[0].answer = ANSWER_ACCEPTED;
	parcel.items[1].answer = ANSWER_RETRYABLE;
	parcel.items[2].answer = ANSWER_RETRYABLE;
	parcel.items[3].answer = ANSWER_NONE;
	assert_int_equal(far_settle(&rig, &parcel), 0);
	assert_string_equal(rows("state"), "sent pending pending pending");
	assert_string_equal(rows("retry_count"), "0 1 0 0");
	assert_string_equal(
	    rows("coalesce(next_retry_at, 0) > 0 AND state = 'pending'"),
	    rig.pg != NULL ? "f t f f" : "0 1 0 0");
	assert_string_equal(
	    outcomes(), "accepted retryable predecessor predecessor");
	/* Messages behind it that the server has taken are sent once more. */
	clk_fake_advance(&rig.clk, 60000);
	assert_int_equal(claim(4), 1);
	(void)far_answer(&rig, &parcel, ANSWER_ACCEPTED);
	assert_int_equal(claim(4), 2);
	(void)far_answer(&rig, &parcel, ANSWER_ACCEPTED);
	assert_string_equal(rows("retry_count"), "0 1 0 0");
}

/* A message that was refused before travels without others of its lane.  Other
 * lanes travel with it. */
static void
test_retry_alone(void **state)
{

	(void)state;
	send_bob(3);
	assert_int_equal(claim(50), 3);
	(void)far_answer(&rig, &parcel, ANSWER_RETRYABLE);
	clk_fake_advance(&rig.clk, 60000);
	(void)far_send(&rig, 1, "dan@" FAR, PRIORITY_NORMAL, 0);
	assert_int_equal(claim(50), 2);
	assert_int_not_equal(
	    parcel.items[0].row.lane_id, parcel.items[1].row.lane_id);
	assert_string_equal(rows("state"), "sending pending pending sending");
	(void)far_answer(&rig, &parcel, ANSWER_ACCEPTED);
	assert_int_equal(claim(50), 2);
	(void)far_answer(&rig, &parcel, ANSWER_ACCEPTED);
	assert_string_equal(rows("state"), "sent sent sent sent");
	assert_string_equal(rows("retry_count"), "1 0 0 0");
}

/* A message may be refused as many times as its retry profile allows.  One more
 * refusal makes it a dead letter, and the messages behind it go on. */
static void
test_last_refusal(void **state)
{
	const int most = retry_most(RETRY_CHAT);
	int i;

	(void)state;
	send_bob(2);
	for (i = 0; i <= most; i++) {
		assert_string_equal(rows("state"), "pending pending");
		assert_int_equal(claim(1), 1);
		(void)far_answer(&rig, &parcel, ANSWER_RETRYABLE);
		clk_fake_advance(&rig.clk, 120 * 1000);
	}
	assert_int_equal(most, 10);
	assert_string_equal(rows("state"), "failed pending");
	assert_string_equal(rows("attempts"), "11 0");
	assert_string_equal(
	    rig_text(&rig, "SELECT reason FROM dead_letter_queue"),
	    "max_retries");
	assert_int_equal(claim(1), 1);
	(void)far_answer(&rig, &parcel, ANSWER_ACCEPTED);
	assert_string_equal(rows("state"), "failed sent");
	assert_string_equal(rows("retry_count"), "10 0");
}

/* A start ends all leases and charges no message, because the cause of the stop
 * is unknown.  However many starts there are, none makes a message poison.  A
 * lease that runs out does charge. */
static void
test_restart_charges_nobody(void **state)
{
	int i;

	(void)state;
	send_bob(2);
	for (i = 0; i <= CLAIM_POISON_AFTER; i++) {
		assert_int_equal(claim(50), 2);
		assert_int_equal(far_rescue(&rig, true), 1);
		assert_string_equal(rows("rescue_count"), "0 0");
	}
	assert_string_equal(rows("state"), "pending pending");
	assert_int_equal(
	    rig_number(&rig, "SELECT count(*) FROM outbox_attempts "
			     "WHERE outcome <> 'restart'"),
	    0);
	assert_int_equal(claim(50), 2);
	clk_fake_advance(&rig.clk, FAR_LEASE_MS);
	assert_string_equal(
	    rig_text(&rig, "SELECT lease_owner FROM outbox_lanes WHERE state = "
			   "'leased'"),
	    "test");
	assert_int_equal(far_rescue(&rig, false), 1);
	/* The lane has no owner. */
	assert_int_equal(
	    rig_number(&rig, "SELECT count(*) FROM outbox_lanes WHERE "
			     "lease_owner IS NULL AND lease_until IS NULL "
			     "AND state = 'ready'"),
	    1);
	assert_string_equal(rows("rescue_count"), "1 1");
	assert_int_equal(rig_number(&rig, "SELECT count(*) FROM outbox_attempts"
					  " WHERE outcome = 'lease_lost'"),
	    2);
}

/* ---- an ack after the answer "later" ---- */

struct confirm {
	struct unit unit; /* must be first */
	int64_t outbox_id;
};

static enum rc
confirm_apply(struct tx *tx, struct unit **units, size_t n, struct err *e)
{

	assert_int_equal(n, 1);
	return (settle_confirm(
	    tx, ((struct confirm *)(void *)units[0])->outbox_id, e));
}

static void
confirm_done(struct unit *unit)
{

	(void)unit;
}

UNIT_KIND(confirm, unit_locks_nothing, .queue = UNIT_DELIVERY, .order = 90,
    .apply = confirm_apply);

static void
confirm(int64_t outbox_id)
{
	struct confirm c = {.outbox_id = outbox_id};

	c.unit.kind = &confirm_kind;
	c.unit.finish = confirm_done;
	c.unit.bytes = 1;
	assert_int_equal(writer_submit(rig.writer, &c.unit), RC_OK);
	assert_int_equal(writer_run_once(rig.writer), 1);
	assert_int_equal(c.unit.rc, RC_OK);
}

static int64_t
due_at(void)
{

	return (rig_number(
	    &rig, "SELECT due_at FROM outbox_lanes WHERE state <> 'local'"));
}

/* The server answered "later": the lane waits until the deadline, or continues
 * at once when the ack comes. */
static void
test_confirm(void **state)
{
	int64_t first;

	(void)state;
	send_bob(2);
	assert_int_equal(claim(1), 1);
	first = parcel.items[0].row.id;
	(void)far_answer(&rig, &parcel, ANSWER_LATER);
	assert_int_equal(due_at(), rig.clk.wall_ms + 60000);
	assert_int_equal(claim(50), 0);
	rig_forget(&rig);
	confirm(first);
	assert_int_equal(due_at(), 0);
	assert_string_equal(rows("state"), "sent pending");
	assert_string_equal(rows("coalesce(ack_deadline, 0)"), "0 0");
	assert_int_equal(claim(50), 1);
	/* A second ack changes nothing. */
	confirm(first);
	(void)far_answer(&rig, &parcel, ANSWER_ACCEPTED);
	assert_string_equal(rows("state"), "sent sent");
	assert_string_equal(rows("retry_count"), "0 0");
}

/* ---- the fence ---- */

/* Only the token of the present lease opens the fence. */
static void
test_fence_token(void **state)
{
	int64_t lane, token;

	(void)state;
	send_bob(1);
	assert_int_equal(claim(1), 1);
	lane = parcel.items[0].row.lane_id;
	token = parcel.items[0].lane_token;
	assert_int_equal(db_begin(rig.db, &err), RC_OK);
	assert_int_equal(
	    store_lane_fence(rig.db, lane, token - 1, 1, &err), RC_CONFLICT);
	assert_int_equal(
	    store_lane_fence(rig.db, lane, token + 1, 1, &err), RC_CONFLICT);
	assert_int_equal(store_lane_fence(rig.db, lane, token, 1, &err), RC_OK);
	assert_int_equal(
	    store_lane_fence(rig.db, lane, token, 1, &err), RC_CONFLICT);
	db_rollback(rig.db);
}

/* R306: the lease has run out and the lane is leased anew: answers of the first
 * parcel do not count, those of the second do. */
static void
test_fenced(void **state)
{

	(void)state;
	send_bob(1);
	assert_int_equal(claim(1), 1);
	clk_fake_advance(&rig.clk, FAR_LEASE_MS);
	assert_int_equal(far_rescue(&rig, false), 1);
	assert_int_equal(
	    far_claim(&rig, &other, FAR, 1, PRIORITY_NORMAL)->n, 1);
	assert_int_equal(far_answer(&rig, &parcel, ANSWER_REJECTED), 1);
	assert_string_equal(rows("state"), "sending");
	assert_int_equal(far_answer(&rig, &other, ANSWER_ACCEPTED), 0);
	assert_string_equal(rows("state"), "sent");
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_rig, close_rig)
	const struct CMUnitTest tests[] = {
	    TEST(test_held_uncharged),
	    TEST(test_retry_alone),
	    TEST(test_last_refusal),
	    TEST(test_restart_charges_nobody),
	    TEST(test_confirm),
	    TEST(test_fence_token),
	    TEST(test_fenced),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
