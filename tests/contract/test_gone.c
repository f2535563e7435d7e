/* SPDX-License-Identifier: MIT */
/*
 * A lane to another server waits for the next attempt of its first message only
 * while that message is there.  When the message is canceled, discarded or
 * expired, the messages behind it may go at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "contract/far.h"
#include "delivery/operator.h"

#define FAR "a.example"
#define BOB "bob@" FAR

static struct rig rig;
static struct parcel parcel;
static struct uuid first, second;

static size_t
claim(size_t most)
{

	return (far_claim(&rig, &parcel, FAR, most, PRIORITY_NORMAL)->n);
}

/* Ann has sent two messages.  The first was refused for now, so nothing may
 * go. */
static int
open_rig(void **state)
{

	(void)state;
	memset(&parcel, 0, sizeof(parcel));
	rig_open(&rig);
	(void)rig_user(&rig, "ann", NULL);
	first = far_send(&rig, 1, BOB, PRIORITY_NORMAL, 0);
	second = far_send(&rig, 1, BOB, PRIORITY_NORMAL, 0);
	assert_int_equal(claim(1), 1);
	assert_int_equal(far_answer(&rig, &parcel, ANSWER_RETRYABLE), 0);
	assert_int_equal(claim(2), 0);
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

/* Checks that one message may go, and that its place in the lane is
 * ${place}. */
static void
check_goes(int64_t place)
{

	assert_int_equal(claim(2), 1);
	assert_int_equal(parcel.items[0].row.lane_seq, place);
}

static void
cancel(const struct uuid *id)
{

	assert_int_equal(rig_cancel(&rig, 1, id).refusal.problem, PROBLEM_NONE);
}

static void
test_canceled(void **state)
{

	(void)state;
	cancel(&first);
	check_goes(2);
}

static void
admin_finished(struct unit *base)
{
	struct operator_unit *u =
	    CONTAINER_OF(base, struct operator_unit, unit);

	(void)u;
}

static void
test_discarded(void **state)
{
	struct operator_unit u;

	(void)state;
	operator_unit_init(&u, OPERATOR_DISCARD, "op");
	u.message = first;
	u.unit.finish = admin_finished;
	assert_int_equal(writer_submit(rig.writer, &u.unit), RC_OK);
	assert_int_equal(writer_run_once(rig.writer), 1);
	assert_int_equal(u.unit.rc, RC_OK);
	assert_int_equal(u.refusal.problem, PROBLEM_NONE);
	check_goes(2);
}

static void
test_expired(void **state)
{

	(void)state;
	assert_int_equal(rig_exec(&rig, "UPDATE outbox SET expires_at = "
					"created_at WHERE lane_seq = 1"),
	    1);
	clk_fake_advance(&rig.clk, 100);
	assert_int_equal(claim(2), 0);
	(void)far_rescue(&rig, false);
	check_goes(2);
}

/* If a message behind the first is removed, nothing changes for the first. */
static void
test_behind(void **state)
{

	(void)state;
	cancel(&second);
	assert_int_equal(claim(2), 0);
	clk_fake_advance(&rig.clk, 60000);
	check_goes(1);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_rig, close_rig)
	const struct CMUnitTest tests[] = {
	    TEST(test_canceled),
	    TEST(test_discarded),
	    TEST(test_expired),
	    TEST(test_behind),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
