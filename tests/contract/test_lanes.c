/* SPDX-License-Identifier: MIT */
/*
 * Lanes to other servers, claimed and settled by hand: leases and their
 * renewal.  A lane has the priority of its most urgent waiting message,
 * whatever happens to that message.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "contract/far.h"
#include "contract/watched.h"
#include "delivery/operator.h"
#include "delivery/renew.h"
#include "unit/skip.h"

#define PEOPLE 3
#define FARS 2
#define PARCELS 4

static const char *const fars[FARS] = {"a.example", "b.example"};

static struct rig rig;
static struct parcel parcels[PARCELS];
static struct uuid ids[4096];
static size_t nids;

/* ---- statements, counted ---- */

/* Queries for a lane's priority, counted on SQLite, which reports
 * statements. */
static int looks;

/* ---- verbs ---- */

static void
run(struct unit *unit)
{

	assert_int_equal(writer_submit(rig.writer, unit), RC_OK);
	assert_int_equal(writer_run_once(rig.writer), 1);
	assert_int_equal(unit->rc, RC_OK);
}

static void
send_far(int64_t from, const char *to, int priority, int64_t deliver_at)
{

	assert_true(nids < sizeof(ids) / sizeof(ids[0]));
	ids[nids++] = far_send(&rig, from, to, priority, deliver_at);
}

static void
admin_finished(struct unit *base)
{
	struct operator_unit *u =
	    CONTAINER_OF(base, struct operator_unit, unit);

	(void)u;
}

static bool
do_admin(struct operator_unit *u)
{

	u->unit.finish = admin_finished;
	run(&u->unit);
	return (u->refusal.problem == PROBLEM_NONE);
}

static bool
do_admin_message(enum operator_op op, const struct uuid *id)
{
	struct operator_unit u;

	operator_unit_init(&u, op, "op");
	u.message = *id;
	return (do_admin(&u));
}

static bool
rewind_lane(int64_t lane, int64_t seq)
{
	struct operator_unit u;

	operator_unit_init(&u, OPERATOR_REWIND, "op");
	u.lane_id = lane;
	u.number = seq;
	return (do_admin(&u));
}

static int64_t
lane_priority(void)
{

	return (rig_number(
	    &rig, "SELECT priority FROM outbox_lanes WHERE state <> 'local'"));
}

/* ---- a world ---- */

/* ${seed} 0: the rig's default. */
static void
open_world(uint64_t seed)
{
	const struct rig_options options = {.seed = seed};

	nids = 0;
	memset(parcels, 0, sizeof(parcels));
	rig_open_with(&rig, &options);
	(void)rig_user(&rig, "ann", NULL);
	(void)rig_user(&rig, "ben", NULL);
	(void)rig_user(&rig, "cyd", NULL);
}

static void
close_world(void)
{
	size_t i;

	for (i = 0; i < PARCELS; i++)
		buf_fini(&parcels[i].text);
	rig_close(&rig);
}

static int
open_rig(void **state)
{

	(void)state;
	looks = 0;
	watched_start("SELECT max(o.priority)", &looks);
	open_world(0);
	return (0);
}

static int
close_rig(void **state)
{

	(void)state;
	watched_stop();
	close_world();
	return (0);
}

/* ---- leases ---- */

static void
renew_finished(struct unit *base)
{
	struct renew_unit *u = CONTAINER_OF(base, struct renew_unit, unit);

	(void)u;
}

/* Renews the lease of ${p} for ${ms} from now, if ${token} is the token of the
 * lease.  Returns true if it was renewed. */
static bool
renew_far(const struct parcel *p, int64_t token, int64_t ms)
{
	struct renew_lease lease = {p->items[0].row.lane_id, token, false};
	struct renew_unit u;

	renew_unit_init(&u);
	u.leases = &lease;
	u.n = 1;
	u.lease_ms = ms;
	u.unit.finish = renew_finished;
	run(&u.unit);
	assert_int_equal(u.lost, lease.lost);
	return (!lease.lost);
}

static int64_t
lease_left(void)
{

	return (rig_number(&rig,
		    "SELECT coalesce(lease_until, 0) FROM outbox_lanes WHERE "
		    "state <> 'local'") -
		rig.clk.wall_ms);
}

static const char *
lease(void)
{

	return (rig_text(&rig,
	    "SELECT state || coalesce(CAST(lease_until AS TEXT), ' for nobody')"
	    " FROM outbox_lanes WHERE state <> 'local'"));
}

static void
test_renew(void **state)
{
	struct parcel *p = &parcels[0];
	int64_t token;

	(void)state;
	send_far(1, "bob@a.example", PRIORITY_NORMAL, 0);
	assert_int_equal(far_claim(&rig, p, "a.example", 1, 0)->n, 1);
	token = p->items[0].lane_token;
	assert_int_equal(lease_left(), FAR_LEASE_MS);
	clk_fake_advance(&rig.clk, FAR_LEASE_MS - 1);
	assert_true(renew_far(p, token, FAR_LEASE_MS));
	assert_int_equal(lease_left(), FAR_LEASE_MS);
	/* The lease does not get shorter when the lane gets another message. */
	send_far(1, "bob@a.example", PRIORITY_NORMAL, 0);
	assert_int_equal(lease_left(), FAR_LEASE_MS);
	/* The old end of the lease finds it renewed. */
	clk_fake_advance(&rig.clk, FAR_LEASE_MS - 1);
	assert_int_equal(far_rescue(&rig, false), 0);
	/* Another token cannot renew it. */
	assert_false(renew_far(p, token - 1, FAR_LEASE_MS));
	assert_false(renew_far(p, token + 1, FAR_LEASE_MS));
	assert_int_equal(lease_left(), 1);
	/* After its end no token can renew it. */
	clk_fake_advance(&rig.clk, 1);
	assert_int_equal(far_rescue(&rig, false), 1);
	assert_false(renew_far(p, token, FAR_LEASE_MS));
	assert_false(renew_far(p, token + 1, FAR_LEASE_MS));
	assert_string_equal(lease(), "ready for nobody");
	/* A renewal applies to its own lease only: the next lease has the
	 * normal time. */
	assert_int_equal(far_claim(&rig, p, "a.example", 1, 0)->n, 1);
	assert_int_equal(lease_left(), FAR_LEASE_MS);
	assert_true(renew_far(p, p->items[0].lane_token, 2 * FAR_LEASE_MS));
	assert_int_equal(far_answer(&rig, p, ANSWER_ACCEPTED), 0);
	assert_false(renew_far(p, p->items[0].lane_token, FAR_LEASE_MS));
	assert_string_equal(lease(), "ready for nobody");
	rig_check_promises(&rig);
}

/* ---- priorities: examples ---- */

/* After the urgent message has gone, the lane is no longer urgent. */
static void
test_falls(void **state)
{
	struct parcel *p = &parcels[0];

	(void)state;
	send_far(1, "bob@a.example", PRIORITY_HIGH, 0);
	send_far(1, "bob@a.example", PRIORITY_NORMAL, 0);
	send_far(1, "bob@a.example", PRIORITY_LOW, 0);
	assert_int_equal(lane_priority(), PRIORITY_HIGH);
	assert_int_equal(far_claim(&rig, p, "a.example", 1, 0)->n, 1);
	assert_int_equal(far_answer(&rig, p, ANSWER_ACCEPTED), 0);
	assert_int_equal(lane_priority(), PRIORITY_NORMAL);
	/* A refused message still waits for its retry. */
	assert_int_equal(far_claim(&rig, p, "a.example", 1, 0)->n, 1);
	assert_int_equal(far_answer(&rig, p, ANSWER_RETRYABLE), 0);
	assert_int_equal(lane_priority(), PRIORITY_NORMAL);
	/* A canceled message does not wait. */
	assert_int_equal(
	    rig_cancel(&rig, 1, &ids[1]).refusal.problem, PROBLEM_NONE);
	assert_int_equal(lane_priority(), PRIORITY_LOW);
	/* Another urgent message comes. */
	send_far(1, "bob@a.example", PRIORITY_HIGH, 0);
	assert_int_equal(lane_priority(), PRIORITY_HIGH);
	/* It is discarded. */
	assert_true(do_admin_message(OPERATOR_DISCARD, &ids[3]));
	assert_int_equal(lane_priority(), PRIORITY_LOW);
	rig_check_promises(&rig);
}

/* The waiting messages may change while a lane is leased.  The end of the lease
 * reads the priority again. */
static void
test_leased(void **state)
{
	struct parcel *p = &parcels[0];

	(void)state;
	send_far(1, "bob@a.example", PRIORITY_LOW, 0);
	send_far(1, "bob@a.example", PRIORITY_HIGH, 0);
	assert_int_equal(far_claim(&rig, p, "a.example", 1, 0)->n, 1);
	(void)rig_cancel(&rig, 1, &ids[1]);
	clk_fake_advance(&rig.clk, FAR_LEASE_MS + 1);
	assert_int_equal(far_rescue(&rig, false), 1);
	assert_int_equal(lane_priority(), PRIORITY_LOW);
	/* The same if the parcel is settled as refused. */
	send_far(1, "bob@a.example", PRIORITY_HIGH, 0);
	assert_int_equal(far_claim(&rig, p, "a.example", 1, 0)->n, 1);
	assert_int_equal(lane_priority(), PRIORITY_HIGH);
	(void)rig_cancel(&rig, 1, &ids[2]);
	(void)far_answer(&rig, p, ANSWER_RETRYABLE);
	assert_int_equal(lane_priority(), PRIORITY_LOW);
	rig_check_promises(&rig);
}

/* A scheduled message does not make its lane urgent before its time. */
static void
test_scheduled(void **state)
{

	(void)state;
	send_far(1, "bob@a.example", PRIORITY_LOW, 0);
	send_far(1, "bob@a.example", PRIORITY_HIGH, rig.clk.wall_ms + 60000);
	send_far(1, "bob@a.example", PRIORITY_NORMAL, 0);
	assert_int_equal(lane_priority(), PRIORITY_NORMAL);
	(void)rig_cancel(&rig, 1, &ids[2]);
	assert_int_equal(lane_priority(), PRIORITY_LOW);
	clk_fake_advance(&rig.clk, 60000);
	assert_int_equal(rig_release(&rig), 1);
	assert_int_equal(lane_priority(), PRIORITY_HIGH);
	rig_check_promises(&rig);
}

/* A message that waits for a promised ack does not count as waiting, until its
 * deadline. */
static void
test_later(void **state)
{
	struct parcel *p = &parcels[0];

	(void)state;
	send_far(1, "bob@a.example", PRIORITY_HIGH, 0);
	send_far(1, "bob@a.example", PRIORITY_LOW, 0);
	assert_int_equal(far_claim(&rig, p, "a.example", 1, 0)->n, 1);
	(void)far_answer(&rig, p, ANSWER_LATER);
	assert_int_equal(lane_priority(), PRIORITY_LOW);
	assert_int_equal(far_claim(&rig, p, "a.example", 1, 0)->n, 0);
	clk_fake_advance(&rig.clk, 60001);
	assert_int_equal(far_claim(&rig, p, "a.example", 1, 0)->n, 1);
	(void)far_answer(&rig, p, ANSWER_RETRYABLE);
	assert_int_equal(lane_priority(), PRIORITY_HIGH);
	rig_check_promises(&rig);
}

/* A message that is offered again after a rewind does not count as waiting.  A
 * rewind during a lease is not lost. */
static void
test_rewound(void **state)
{
	struct parcel *p = &parcels[0];

	(void)state;
	send_far(1, "bob@a.example", PRIORITY_HIGH, 0);
	assert_int_equal(far_claim(&rig, p, "a.example", 1, 0)->n, 1);
	(void)far_answer(&rig, p, ANSWER_ACCEPTED);
	assert_true(rewind_lane(1, 1));
	assert_int_equal(lane_priority(), PRIORITY_LOW);
	send_far(1, "bob@a.example", PRIORITY_NORMAL, 0);
	assert_int_equal(lane_priority(), PRIORITY_NORMAL);
	(void)far_answer(
	    &rig, far_claim(&rig, p, "a.example", 2, 0), ANSWER_ACCEPTED);
	(void)far_answer(
	    &rig, far_claim(&rig, p, "a.example", 2, 0), ANSWER_ACCEPTED);
	assert_true(rewind_lane(1, 2));
	assert_int_equal(far_claim(&rig, p, "a.example", 2, 0)->n, 1);
	assert_true(rewind_lane(1, 1));
	(void)far_answer(&rig, p, ANSWER_ACCEPTED);
	assert_int_equal(far_claim(&rig, p, "a.example", 2, 0)->n, 2);
	assert_int_equal(p->items[0].row.lane_seq, 1);
	(void)far_answer(&rig, p, ANSWER_ACCEPTED);
	assert_int_equal(far_claim(&rig, p, "a.example", 2, 0)->n, 0);
	rig_check_promises(&rig);
}

/* The queries for the priority: none if the lane is empty afterwards or if its
 * priority cannot have changed, one for each parcel if messages are left. */
static void
test_looks(void **state)
{
	struct parcel *p = &parcels[0];
	int i;

	(void)state;
	for (i = 0; i < 10; i++)
		send_far(1, "bob@a.example", PRIORITY_NORMAL, 0);
	(void)far_claim(&rig, p, "a.example", 50, 0);
	(void)far_answer(&rig, p, ANSWER_RETRYABLE);
	assert_int_equal(looks, 0); /* as urgent as before */
	clk_fake_advance(&rig.clk, 60000);
	(void)far_claim(&rig, p, "a.example", 50, 0);
	(void)far_answer(&rig, p, ANSWER_ACCEPTED);
	assert_int_equal(looks, 1); /* nine wait */
	(void)far_claim(&rig, p, "a.example", 50, 0);
	assert_int_equal(p->n, 9);
	(void)far_answer(&rig, p, ANSWER_ACCEPTED);
	assert_int_equal(looks, 1); /* empty */
	for (i = 0; i < 10; i++)
		send_far(1, "bob@a.example", PRIORITY_LOW, 0);
	(void)far_claim(&rig, p, "a.example", 5, 0);
	(void)far_answer(&rig, p, ANSWER_ACCEPTED);
	assert_int_equal(looks, 1); /* it cannot fall */
	/* Many messages expire in one unit: one query. */
	send_far(2, "bob@a.example", PRIORITY_LOW, 0);
	for (i = 0; i < 10; i++)
		send_far(2, "bob@a.example", PRIORITY_NORMAL, 0);
	clk_fake_advance(&rig.clk, INT64_C(6) * 86400 * 1000);
	looks = 0;
	(void)far_rescue(&rig, false);
	assert_int_equal(looks, 1);
	assert_int_equal(
	    rig_number(
		&rig, "SELECT count(*) FROM outbox WHERE state = 'pending'"),
	    0);
	rig_check_promises(&rig);
}

/* ---- priorities: a property ---- */

static struct {
	int sends, claims, settles, cancels, discards, requeues, rescues,
	    rewinds, releases, fenced, falls;
} did;

static uint64_t
dice(uint64_t bound)
{

	return (rnd_below(&rig.rnd.rnd, bound));
}

static int
some_priority(void)
{

	return ((int)dice(3) - 1);
}

static void
send_some(void)
{
	char to[32];

	(void)snprintf(to, sizeof(to), "%s@%s", dice(2) == 0 ? "bob" : "dan",
	    fars[dice(FARS)]);
	send_far(1 + (int64_t)dice(PEOPLE), to, some_priority(),
	    dice(8) == 0 ? rig.clk.wall_ms + 1000 + (int64_t)dice(5000) : 0);
	did.sends++;
}

static void
claim_some(struct parcel *p)
{

	if (p->n > 0 ||
	    rig_number(&rig, "SELECT count(*) FROM destinations") < 2 + FARS)
		return;
	did.claims +=
	    far_claim(&rig, p, fars[dice(FARS)], 1 + dice(6), some_priority())
		->n > 0;
}

static void
settle_some(struct parcel *p)
{
	size_t i;

	if (p->n == 0)
		return;
	p->reached = dice(5) > 0;
	for (i = 0; i < p->n; i++)
		p->items[i].answer =
		    dice(2) == 0 ? ANSWER_ACCEPTED : (enum answer)dice(ANSWERS);
	did.fenced += (int)far_settle(&rig, p);
	did.settles++;
}

static void
admin_some(void)
{
	const struct uuid *id = &ids[dice(nids)];
	int64_t lane = rig_number(&rig,
	    "SELECT lane_id FROM outbox_lanes WHERE state <> 'local' "
	    "ORDER BY (next_seq * 7) % 5 LIMIT 1");

	switch (dice(5)) {
	case 0:
		did.discards += do_admin_message(OPERATOR_DISCARD, id);
		break;
	case 1:
		did.rewinds += rewind_lane(lane, 1);
		break;
	case 2:
	case 3:
		did.requeues += do_admin_message(OPERATOR_RETRY, id);
		break;
	default:
		did.cancels += rig_cancel(&rig, 1 + (int64_t)dice(PEOPLE), id)
				   .refusal.problem == PROBLEM_NONE;
	}
}

static void
act(void)
{
	struct parcel *p = &parcels[dice(PARCELS)];

	switch (dice(10)) {
	case 0:
	case 1:
	case 2:
		send_some();
		break;
	case 3:
	case 4:
		claim_some(p);
		break;
	case 5:
	case 6:
		settle_some(p);
		break;
	case 7:
		if (nids > 0)
			admin_some();
		break;
	case 8:
		clk_fake_advance(&rig.clk, (int64_t)dice(20000));
		did.releases += (int)rig_release(&rig);
		break;
	default:
		if (dice(10) == 0)
			did.rescues += (int)far_rescue(&rig, dice(2) == 0);
	}
}

static int64_t
sum_of_priorities(void)
{

	return (rig_number(&rig,
	    "SELECT coalesce(sum(priority), 0) FROM outbox_lanes "
	    "WHERE state = 'ready'"));
}

static void
act_and_look(int steps)
{
	static const char wrong[] =
	    "SELECT count(*) FROM outbox_lanes l WHERE l.state = 'ready' AND "
	    "l.priority <> coalesce((SELECT max(priority) FROM outbox o WHERE "
	    "o.lane_id = l.lane_id AND o.state = 'pending' AND o.lane_seq > 0"
	    "), -1)";
	int64_t before, sum = sum_of_priorities();
	int i;

	for (i = 0; i < steps; i++) {
		before = sum;
		act();
		if (rig_number(&rig, wrong) != 0)
			fail_msg("wrong after step %d", i);
		sum = sum_of_priorities();
		did.falls += sum < before;
		if (i % 500 == 0)
			rig_check_promises(&rig);
	}
	rig_check_promises(&rig);
}

/* After each step the priority of each ready lane is that of its most urgent
 * waiting message, and fsck agrees at the end.  Several small worlds take less
 * time than one large world, in which every query finds thousands of rows. */
static void
test_top_priority(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= 8; seed++) {
		close_world();
		open_world(seed);
		act_and_look(750);
	}
	print_message("# sends %d, claims %d, settles %d, fenced %d, cancels "
		      "%d, discards %d, requeues %d, rescues %d, rewinds %d, "
		      "releases %d, falls %d, looks %d\n",
	    did.sends, did.claims, did.settles, did.fenced, did.cancels,
	    did.discards, did.requeues, did.rescues, did.rewinds, did.releases,
	    did.falls, looks);
	assert_true(did.sends > 0 && did.claims > 0 && did.settles > 0 &&
		    did.fenced > 0 && did.cancels > 0 && did.discards > 0 &&
		    did.requeues > 0 && did.rescues > 0 && did.rewinds > 0 &&
		    did.releases > 0 && did.falls > 0 &&
		    (looks > 0 || rig.pg != NULL));
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_rig, close_rig)
	struct CMUnitTest tests[] = {
	    TEST(test_renew),
	    TEST(test_falls),
	    TEST(test_leased),
	    TEST(test_scheduled),
	    TEST(test_later),
	    TEST(test_rewound),
	    TEST(test_looks),
	    TEST(test_top_priority),
	};

	if (rig_is_postgres())
		SKIP_TEST(tests, test_looks,
		    "PostgreSQL does not report its statements");
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
