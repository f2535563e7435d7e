/* SPDX-License-Identifier: MIT */
/*
 * Lost leases and clocks that jump, each test a row of the crash matrix
 * (README.md).  A worker that settles too late is fenced off.  An impossible
 * time of the clock is not believed.  No message is sent twice or given up
 * because of the clock.
 *
 * Messages to other servers exist only in builds with --enable-faults.  In
 * other builds this program skips itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "contract/rig.h"
#include "delivery/claim.h"
#include "delivery/reclaim.h"
#include "delivery/settle.h"

#ifdef TWINBOX_FAULTS

#define DAY_MS INT64_C(86400000)
#define LEASE_MS 60000

static struct rig rig;
static int64_t ann;

static int
setup(void **state)
{

	(void)state;
	rig_open(&rig);
	ann = rig_user(&rig, "ann", NULL);
	return (0);
}

static int
teardown(void **state)
{

	(void)state;
	rig_check_promises(&rig);
	rig_close(&rig);
	return (0);
}

/* ---- a relay's verbs, one at a time ---- */

static void
run(struct unit *unit)
{

	assert_int_equal(writer_submit(rig.writer, unit), RC_OK);
	assert_true(writer_run_once(rig.writer) > 0);
	assert_int_equal(unit->rc, RC_OK);
}

static void
claimed(struct unit *base)
{
	struct claim_unit *u = CONTAINER_OF(base, struct claim_unit, unit);

	(void)u;
}

static void
settled(struct unit *base)
{
	struct settle_unit *u = CONTAINER_OF(base, struct settle_unit, unit);

	(void)u;
}

static void
rescued(struct unit *base)
{
	struct reclaim_unit *u = CONTAINER_OF(base, struct reclaim_unit, unit);

	(void)u;
}

/* Claims a parcel for ${owner}.  Returns the number of its messages. */
static size_t
claim(struct parcel *p, const char *owner)
{
	struct claim_unit u;

	memset(&u, 0, sizeof(u));
	memset(p, 0, sizeof(*p));
	p->destination_id =
	    rig_number(&rig, "SELECT destination_id FROM destinations "
			     "WHERE name = 'far.fault.test'");
	buf_init(&p->text, 0);
	claim_unit_init(&u);
	u.parcel = p;
	u.most = PARCEL_ITEMS;
	u.lease_ms = LEASE_MS;
	u.owner = owner;
	u.unit.finish = claimed;
	run(&u.unit);
	return (p->n);
}

/* Settles all messages of ${p} with the same answer.  Returns the number of
 * lanes that were fenced off because another worker holds their lease. */
static size_t
settle(struct parcel *p, enum answer answer, bool duplicate)
{
	struct settle_unit u;
	size_t i;

	memset(&u, 0, sizeof(u));
	settle_unit_init(&u);
	p->reached = true;
	for (i = 0; i < p->n; i++) {
		p->items[i].answer = answer;
		p->items[i].duplicate = duplicate;
	}
	u.parcel = p;
	u.unit.finish = settled;
	run(&u.unit);
	buf_fini(&p->text);
	return (u.fenced);
}

/* Reclaims leases that have run out, and, if ${expire}, expires messages. */
static struct reclaim_unit
rescue(bool expire)
{
	struct reclaim_unit u;

	memset(&u, 0, sizeof(u));
	reclaim_unit_init(&u);
	u.expire = expire;
	u.unit.finish = rescued;
	run(&u.unit);
	return (u);
}

/* Fails unless the only message has this state, attempts, retries and
 * rescues. */
static void
assert_message(const char *want)
{

	assert_string_equal(
	    rig_text(&rig, "SELECT state || ' ' || attempts || ' ' || "
			   "retry_count || ' ' || rescue_count FROM outbox"),
	    want);
}

/* Fails unless the attempts have these outcomes, in this order. */
static void
assert_outcomes(const char *want)
{

	assert_string_equal(
	    rig_text(&rig, "SELECT group_concat(outcome, ' ') FROM "
			   "(SELECT outcome FROM outbox_attempts "
			   "ORDER BY outbox_id, attempt)"),
	    want);
}

static void
leap(int64_t ms)
{

	rig.clk.wall_ms += ms;
}

/* Two workers: the second has claimed the message that the first is still
 * sending.  The receiver already has it from the first. */
static void
late_settle(struct parcel *first, struct parcel *second)
{

	assert_int_equal(claim(second, "second"), 1);
	assert_message("sending 2 0 1");
	assert_int_equal(settle(first, ANSWER_ACCEPTED, false), 1);
	assert_message("sending 2 0 1");
	assert_int_equal(settle(second, ANSWER_ACCEPTED, true), 0);
	assert_message("sent 2 0 1");
}

/* ---- the rows ---- */

/* R306: a worker whose lease has run out cannot settle anything. */
static void
test_lease_runs_out(void **state)
{
	struct parcel first, second;

	(void)state;
	(void)rig_send(&rig, ann, "bob@far.fault.test", "x", NULL);
	assert_int_equal(claim(&first, "first"), 1);
	clk_fake_advance(&rig.clk, LEASE_MS - 1);
	assert_int_equal(rescue(false).reclaimed, 0);
	assert_message("sending 1 0 0");
	clk_fake_advance(&rig.clk, 1);
	assert_int_equal(rescue(false).reclaimed, 1);
	assert_message("pending 1 0 1");
	late_settle(&first, &second);
	assert_outcomes("lease_lost duplicate");
	/* A second attempt of this worker to settle is too late, too. */
	assert_int_equal(settle(&first, ANSWER_REJECTED, false), 1);
	assert_message("sent 2 0 1");
}

static void
test_a_day_forward(void **state)
{
	struct parcel first, second;

	(void)state;
	(void)rig_send(&rig, ann, "bob@far.fault.test", "x", NULL);
	assert_int_equal(claim(&first, "first"), 1);
	leap(DAY_MS);
	assert_int_equal(rescue(true).reclaimed, 1);
	late_settle(&first, &second);
	assert_outcomes("lease_lost duplicate");
}

/* The clock jumps six days forward, so the message would have expired a day
 * ago.  Expiry waits for a minute, in case an operator sets the clock back. */
static void
test_expiry_waits(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		(void)rig_send(&rig, ann, "bob@far.fault.test", "x", NULL);
		leap(6 * DAY_MS);
		assert_int_equal(rescue(true).expired, 0);
		clk_fake_advance(&rig.clk, 59000);
		assert_int_equal(rescue(true).expired, 0);
		if (i == 0)
			leap(-6 * DAY_MS); /* an operator sets it right */
		clk_fake_advance(&rig.clk, 2000);
		assert_int_equal(rescue(true).expired, i == 0 ? 0 : 2);
	}
	assert_int_equal(
	    rig_number(&rig, "SELECT count(*) FROM dead_letter_queue"), 2);
}

/* The clock jumps a day back, so a retry and a lease would end only tomorrow.
 * Both end at once. */
static void
test_a_day_back(void **state)
{
	struct parcel first, second;

	(void)state;
	(void)rig_send(&rig, ann, "bob@far.fault.test", "x", NULL);
	assert_int_equal(claim(&first, "first"), 1);
	assert_int_equal(settle(&first, ANSWER_RETRYABLE, false), 0);
	assert_message("pending 1 1 0");
	assert_int_equal(claim(&first, "first"), 0); /* not due */
	leap(-DAY_MS);
	assert_int_equal(rescue(false).reclaimed, 0);
	assert_int_equal(claim(&first, "first"), 1);
	assert_message("sending 2 1 0");
	leap(-DAY_MS);
	assert_int_equal(rescue(false).reclaimed, 1);
	assert_int_equal(claim(&second, "second"), 1);
	assert_int_equal(settle(&first, ANSWER_ACCEPTED, false), 1);
	assert_int_equal(settle(&second, ANSWER_ACCEPTED, true), 0);
	assert_message("sent 3 1 1");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		test_lease_runs_out, setup, teardown),
	    cmocka_unit_test_setup_teardown(
		test_a_day_forward, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_expiry_waits, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_a_day_back, setup, teardown),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}

#else

int
main(void)
{

	(void)printf("1..1\nok 1 - test_leases # SKIP without "
		     "--enable-faults\n");
	return (0);
}

#endif
