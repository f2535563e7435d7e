/* SPDX-License-Identifier: MIT */
/*
 * The relay's core (core_fixture.h): leases of rows under way are renewed up to
 * a limit.  Also what wakes the core, what it sends together, and its log.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "delivery/reclaim.h"
#include "delivery/settle.h"
#include "store/lane.h"
#include "unit/core_fixture.h"
#include "unit/logged.h"

#define LEASE (60 * SECOND)
#define THIRD (LEASE / 3)

/* ---- a carrier that hangs ---- */

/* The lease is renewed each third of its length, for the time of two leases.
 * When the last one has run out, the messages are reclaimed and sent again.
 * The first answer then comes too late and changes nothing. */
static void
test_hanging(void **state)
{
	int i;

	(void)state;
	scene_send("bob@a.example");
	scene_send("dan@a.example");
	scene_pass(SECOND);
	assert_int_equal(scene.ncarried, 1);
	assert_int_equal(scene.carried[0]->n, 2);
	assert_int_equal(scene_lease_left(), LEASE);
	scene_pass_slowly(THIRD - SECOND);
	assert_int_equal(scene.renewals, 0);
	for (i = 1; i <= 5; i++) {
		scene_pass(SECOND);
		assert_int_equal(scene_lease_left(), LEASE);
		/* One statement for each lane. */
		assert_int_equal(scene.renewals, 2 * i);
		scene_pass_slowly(THIRD - SECOND);
		assert_int_equal(scene_lease_left(), LEASE - THIRD + SECOND);
	}
	scene_pass_slowly(LEASE - THIRD);
	assert_int_equal(scene.renewals, 10);
	assert_int_equal(scene_lease_left(), SECOND);
	assert_int_equal(scene_count("outbox WHERE rescue_count > 0"), 0);
	scene_pass_slowly(2 * SECOND);
	assert_int_equal(scene_count("outbox WHERE rescue_count = 1"), 2);
	/* A server that does not answer gets no further parcel. */
	scene_pass_slowly(60 * SECOND);
	assert_int_equal(scene.ncarried, 1);
	scene_answer(scene.carried[0]);
	scene_pass(SECOND);
	assert_int_equal(scene.ncarried, 2);
	assert_int_equal(scene.carried[1]->n, 2);
	assert_int_equal(
	    rig_number(&scene.rig, "SELECT fenced_total FROM outbox_totals"),
	    2);
	assert_int_equal(scene_count("outbox WHERE state = 'sent'"), 0);
	scene_answer(scene.carried[1]);
	scene_pass(0);
	assert_int_equal(scene_count("outbox WHERE state = 'sent'"), 2);
	rig_check_promises(&scene.rig);
}

/* The lease of a settled message is not renewed: neither later, nor when the
 * renewal is in the writer's queue already. */
static void
test_settled(void **state)
{

	(void)state;
	scene_send("bob@a.example");
	scene_pass(SECOND);
	scene_answer(scene.carried[0]);
	scene_pass(0);
	assert_int_equal(scene_count("outbox WHERE state = 'sent'"), 1);
	scene_pass_slowly(3 * LEASE);
	assert_int_equal(scene.renewals, 0);

	scene_send("bob@a.example");
	scene_pass(SECOND);
	assert_int_equal(scene.ncarried, 2);
	clk_fake_advance(&scene.rig.clk, THIRD);
	(void)scene_turn(); /* submits the renewal */
	scene_answer(scene.carried[1]);
	(void)scene_turn(); /* submits settle, for the same batch */
	assert_int_equal(writer_waiting(scene.rig.writer), 2);
	scene_pass(0);
	assert_int_equal(scene.renewals, 1);
	assert_int_equal(scene_count("outbox WHERE state = 'sent'"), 2);
	assert_int_equal(
	    scene_count(
		"outbox_lanes WHERE state = 'idle' AND lease_until IS NULL"),
	    1);
	rig_check_promises(&scene.rig);
}

static void
rescue_finished(struct unit *base)
{
	struct reclaim_unit *u = CONTAINER_OF(base, struct reclaim_unit, unit);

	(void)u;
}

/* Another transaction has ended the lease: no renewal brings it back, and there
 * is no further attempt. */
static void
test_lost(void **state)
{
	struct reclaim_unit u;

	(void)state;
	scene_send("bob@a.example");
	scene_pass(SECOND);
	assert_int_equal(scene.ncarried, 1);
	scene.refused = "claim";
	reclaim_unit_init(&u);
	u.all = true;
	u.unit.finish = rescue_finished;
	assert_int_equal(writer_submit(scene.rig.writer, &u.unit), RC_OK);
	assert_int_equal(writer_run_once(scene.rig.writer), 1);
	assert_int_equal(u.reclaimed, 1);
	scene_pass_slowly(LEASE);
	assert_int_equal(scene.renewals, 1);
	assert_int_equal(
	    scene_count(
		"outbox_lanes WHERE state = 'ready' AND lease_until IS NULL"),
	    1);
	scene_answer(scene.carried[0]);
	scene_pass(SECOND);
	assert_int_equal(
	    rig_number(&scene.rig, "SELECT fenced_total FROM outbox_totals"),
	    1);
	assert_int_equal(scene_count("outbox WHERE state = 'pending'"), 1);
	rig_check_promises(&scene.rig);
}

/* A lease that has run out was passed over: the core tries again soon, and does
 * not wait for the reclaim of every 10 s. */
static void
test_passed_over(void **state)
{

	(void)state;
	scene_send("bob@a.example");
	scene_pass(SECOND);
	assert_int_equal(scene.ncarried, 1);
	scene.refused = "renew";
	scene.passes_over = "reclaim";
	scene_pass(scene_lease_left());
	assert_null(scene.passes_over);
	assert_int_equal(scene_count("outbox WHERE rescue_count > 0"), 0);
	scene_pass(SECOND);
	assert_int_equal(scene_count("outbox WHERE rescue_count = 1"), 1);
	rig_check_promises(&scene.rig);
}

/* A message that is due was passed over: the core tries again soon, and does
 * not wait for the next poll. */
static void
test_due_passed_over(void **state)
{

	(void)state;
	(void)rig_send_at(
	    &scene.rig, 1, "ann", "later", scene.rig.clk.wall_ms + SECOND);
	scene.passes_over = "release";
	scene_pass(SECOND);
	assert_null(scene.passes_over);
	assert_int_equal(scene_count("outbox WHERE lane_seq IS NULL"), 1);
	scene_pass(100);
	assert_int_equal(scene_count("outbox WHERE lane_seq IS NULL"), 0);
	rig_check_promises(&scene.rig);
}

/* One of a parcel's lanes is lost: the leases of the others are renewed. */
static void
test_one_lost(void **state)
{
	char state_of[80];
	sqlite3 *hand;

	(void)state;
	scene_send("bob@a.example");
	scene_send("dan@a.example");
	scene_pass(SECOND);
	assert_int_equal(scene.carried[0]->n, 2);
	assert_int_equal(sqlite3_open(scene.rig.path, &hand), SQLITE_OK);
	assert_int_equal(
	    sqlite3_exec(hand,
		"UPDATE outbox_lanes SET lease_token = lease_token + 1 WHERE "
		"lane_id = (SELECT min(lane_id) FROM outbox_lanes WHERE state "
		"= 'leased')",
		NULL, NULL, NULL),
	    SQLITE_OK);
	(void)sqlite3_close(hand);
	scene_pass_slowly(THIRD);
	assert_int_equal(scene.renewals, 2);
	scene_pass_slowly(THIRD);
	assert_int_equal(scene.renewals, 3);
	(void)snprintf(state_of, sizeof(state_of), "%s",
	    rig_text(&scene.rig,
		"SELECT group_concat(lease_until - updated_at, ' ') FROM "
		"(SELECT * FROM outbox_lanes WHERE state = 'leased' ORDER BY "
		"lane_id)"));
	assert_string_equal(state_of, "60000 60000");
	assert_int_equal(scene_lease_left(), LEASE);
	assert_int_equal(
	    scene_count("outbox_lanes WHERE lease_until = 60000 + (SELECT "
			"min(updated_at) FROM outbox_lanes WHERE state "
			"= 'leased')"),
	    1);
}

/* The answer is there, but the store cannot write it: the lease is renewed
 * until it can. */
static void
test_unsettled(void **state)
{

	(void)state;
	scene_send("bob@a.example");
	scene_pass(SECOND);
	scene.refused = "settle";
	scene_pass(SECOND);
	scene_answer(scene.carried[0]);
	scene_pass_slowly(LEASE + THIRD);
	assert_true(scene.renewals >= 3);
	assert_int_equal(scene_count("outbox WHERE state = 'sending'"), 1);
	assert_true(scene_lease_left() > LEASE - THIRD - SECOND);
	scene.refused = NULL;
	scene_pass_slowly(SECOND);
	assert_int_equal(scene_count("outbox WHERE state = 'sent'"), 1);
	assert_int_equal(scene_count("outbox WHERE rescue_count > 0"), 0);
	scene.renewals = 0;
	scene_pass_slowly(2 * LEASE);
	assert_int_equal(scene.renewals, 0);
	rig_check_promises(&scene.rig);
}

/* The renewal itself is refused: the core submits it again soon. */
static void
test_renewal_refused(void **state)
{

	(void)state;
	scene_send("bob@a.example");
	scene_pass(SECOND);
	scene.refused = "renew";
	scene_pass_slowly(THIRD + 5 * SECOND);
	assert_int_equal(scene.renewals, 0);
	scene.refused = NULL;
	scene_pass(SECOND);
	assert_int_equal(scene.renewals, 1);
	assert_int_equal(scene_lease_left(), LEASE);
	scene_answer(scene.carried[0]);
	scene_pass(0);
	assert_int_equal(scene_count("outbox WHERE state = 'sent'"), 1);
}

/* ---- leases that end ---- */

/* Leases that exist at the start are ended at once, because no other process
 * can hold one.  Later leases are not. */
static void
test_leases_at_the_start(void **state)
{

	(void)state;
	scene_send("bob@a.example");
	scene_run(100);
	assert_int_equal(scene.ncarried, 1);
	scene_answer(scene.carried[0]); /* the core never learns of it */
	scene_restart(500, 0);
	logged_start(&scene.rig.clk.clk);
	scene_run(SECOND);
	assert_non_null(
	    strstr(logged_stop(), "relay.rescue lanes=1 why=restart\n"));
	scene_expect("0 reclaim\n0 claim\n0 carry a.example 1\n");
	scene_run(18 * SECOND);
	scene_expect("");
	assert_int_equal(scene_count("outbox WHERE state = 'sending'"), 1);
}

/* A lease that has run out is reclaimed at its time. */
static void
test_lease_runs_out(void **state)
{

	(void)state;
	scene_send("bob@a.example");
	scene_run(0);
	scene.refused = "renew";
	scene_run(21 * SECOND);
	scene_forget();
	scene_run(39 * SECOND - 1);
	assert_null(strstr(scene.told, "reclaim"));
	scene_forget();
	logged_start(&scene.rig.clk.clk);
	scene_run(1);
	assert_non_null(
	    strstr(logged_stop(), "relay.rescue lanes=1 why=lease\n"));
	assert_non_null(strstr(scene.told, "1 reclaim\n"));
	assert_int_equal(scene_count("outbox WHERE rescue_count = 1"), 1);
}

static void
test_rescue_put_off(void **state)
{

	(void)state;
	scene_send_expiring("dan@b.example", SECOND);
	(void)rig_exec(&scene.rig,
	    "UPDATE destinations SET paused_at = 1 WHERE name = 'b.example'");
	scene.refused = "reclaim";
	scene_run(1399);
	scene_expect("1000 reclaim\n1200 reclaim\n");
	scene.refused = NULL;
	scene.fails = "reclaim";
	scene_run(201);
	scene_expect("1 reclaim\n201 reclaim\n");
	scene.fails_with = RC_CLOSED;
	scene_run(10 * SECOND);
	scene_expect("200 reclaim\n");
}

/* Two parcels that left at different times are renewed at their own times.
 * There is no poll here that could do so by chance. */
static void
test_renewals(void **state)
{

	(void)state;
	scene_restart(3600 * SECOND, 0);
	scene_send("bob@a.example");
	scene_run(5 * SECOND);
	scene_send("bob@b.example");
	(void)scene_turn_by(scene_wake("b.example"));
	scene_run(21 * SECOND);
	scene_expect("0 claim\n0 carry a.example 1\n"
		     "5000 claim\n5000 carry b.example 1\n"
		     "20000 renew\n25000 renew\n");
	scene_run(20 * SECOND);
	scene_expect("14000 renew\n19000 renew\n");
}

/* ---- wake-ups ---- */

/* In these tests the clock stands still after the wake-up, so that no safety
 * poll can take its place. */

/* A commit for another server wakes the relay, which claims and sends at
 * once. */
static void
test_wake(void **state)
{

	(void)state;
	scene_send("bob@a.example");
	scene_pass(SECOND); /* the poll finds a server without a wake-up */
	scene_answer(scene.carried[0]);
	scene_pass(0);
	assert_int_equal(scene.ncarried, 1);
	scene_send("bob@a.example");
	scene_pass(0);
	assert_int_equal(scene.ncarried, 1);
	(void)scene_turn_by(scene_wake("a.example"));
	(void)writer_run_once(scene.rig.writer);
	(void)scene_turn();
	assert_int_equal(scene.ncarried, 2);
	scene_answer(scene.carried[1]);
	scene_pass(0);
	assert_int_equal(scene_count("outbox WHERE state = 'sent'"), 2);
	rig_check_promises(&scene.rig);
}

/* A wake-up is not lost if it arrives between a claim that has found no rows
 * and the result of this claim. */
static void
test_wake_before_claim_is_back(void **state)
{
	struct core_job *claim_job;

	(void)state;
	scene_send("bob@a.example");
	scene_pass(SECOND);
	scene_answer(scene.carried[0]);
	scene_pass(0);
	(void)scene_turn_by(scene_wake("a.example"));
	assert_int_equal(writer_run_once(scene.rig.writer), 1);
	claim_job = scene.jobs;
	assert_non_null(claim_job);
	assert_null(claim_job->next);
	scene.jobs = NULL;
	scene.jobs_tail = &scene.jobs;
	scene_send("bob@a.example");
	(void)scene_turn_by(scene_wake("a.example"));
	assert_int_equal(writer_waiting(scene.rig.writer), 0);
	scene.jobs = claim_job;
	scene.jobs_tail = &claim_job->next;
	scene_pass(0);
	assert_int_equal(scene.ncarried, 2);
	scene_answer(scene.carried[1]);
	scene_pass(0);
	assert_int_equal(scene_count("outbox WHERE state = 'sent'"), 2);
	rig_check_promises(&scene.rig);
}

/* ---- pauses ---- */

/* A needless wake-up costs one claim. */
static void
test_needless_wake(void **state)
{

	(void)state;
	scene.answers = scene_answer;
	scene_send("bob@a.example");
	scene_run(100);
	scene_forget();
	(void)scene_turn_by(scene_wake("a.example"));
	scene_run(10 * SECOND);
	scene_expect("0 claim\n");
}

static struct wake *
wake_by_admin(void)
{
	struct wake *wake = wake_new();

	assert_non_null(wake);
	wake->destinations_changed = true;
	return (wake);
}

/* The core knows at once what an operator has paused or released, because it
 * gets a wake-up. */
static void
test_admin(void **state)
{
	static const char *const rows[] = {
	    "name = 'a.example'", "destination_id = 0"};
	char sql[96];
	size_t i;

	(void)state;
	scene.answers = scene_answer;
	scene_send("bob@a.example");
	scene_run(100);
	for (i = 0; i < 2; i++) {
		(void)snprintf(sql, sizeof(sql),
		    "UPDATE destinations SET paused_at = 1 WHERE %s", rows[i]);
		(void)rig_exec(&scene.rig, sql);
		(void)scene_turn_by(wake_by_admin());
		scene_send("bob@a.example");
		scene_forget();
		(void)scene_turn_by(scene_wake("a.example"));
		scene_run(50);
		scene_expect("");
		(void)snprintf(sql, sizeof(sql),
		    "UPDATE destinations SET paused_at = NULL WHERE %s",
		    rows[i]);
		(void)rig_exec(&scene.rig, sql);
		(void)scene_turn_by(wake_by_admin());
		scene_run(50);
		scene_expect("0 claim\n0 carry a.example 1\n0 settle\n");
	}
}

/* Local deliveries stop for a pause of their own and for a pause of all
 * destinations.  Messages behind a pause expire nevertheless. */
static void
test_local_pause(void **state)
{
	int64_t id;

	(void)state;
	(void)rig_user(&scene.rig, "ben", NULL);
	for (id = DESTINATION_ALL; id <= DESTINATION_LOCAL; id++) {
		(void)rig_exec(
		    &scene.rig, id == DESTINATION_ALL
				    ? "UPDATE destinations SET paused_at = 1 "
				      "WHERE destination_id = 0"
				    : "UPDATE destinations SET paused_at = 1 "
				      "WHERE destination_id = 1");
		(void)scene_turn_by(wake_by_admin());
		scene_run(0);
		scene_forget();
		scene_send_here("ben", SECOND);
		scene_send_here("ben", 60 * SECOND);
		scene_run(20 * SECOND);
		assert_null(strstr(scene.told, "deliver"));
		assert_int_equal(
		    scene_count("outbox WHERE state = 'expired'"), id + 1);
		(void)rig_exec(
		    &scene.rig, "UPDATE destinations SET paused_at = NULL");
		(void)scene_turn_by(wake_by_admin());
		scene_run(SECOND);
		assert_non_null(strstr(scene.told, "deliver"));
		assert_int_equal(
		    scene_count("outbox WHERE state = 'sent'"), id + 1);
	}
	rig_check_promises(&scene.rig);
}

/* ---- parcels ---- */

/* R103: messages for another server leave in parcels of fifty. */
static void
test_parcels_of_fifty(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 51; i++)
		scene_send(i % 2 == 0 ? "bob@a.example" : "dan@a.example");
	scene_pass(SECOND);
	assert_int_equal(scene.carried[0]->n, 50);
	scene_answer(scene.carried[0]);
	scene_pass(0);
	assert_int_equal(scene.ncarried, 2);
	assert_int_equal(scene.carried[1]->n, 1);
	scene_answer(scene.carried[1]);
	scene_pass(0);
	assert_int_equal(scene.ncarried, 2);
	assert_int_equal(scene_count("outbox WHERE state = 'sent'"), 51);
	rig_check_promises(&scene.rig);
}

/* ---- the log ---- */

/* R431: each turn that has handed over rows is a line of the log, with the
 * destination and the number of rows. */
static void
test_turns_are_logged(void **state)
{
	const char *text;

	(void)state;
	(void)rig_user(&scene.rig, "ben", NULL);
	logged_start(&scene.rig.clk.clk);
	(void)rig_send(&scene.rig, 1, "ben", "one", NULL);
	(void)rig_send(&scene.rig, 1, "ben", "two", NULL);
	scene_send("bob@a.example");
	scene_pass(SECOND);
	scene_answer(scene.carried[0]);
	scene_pass(SECOND); /* a turn without work */
	text = logged_stop();
	assert_non_null(
	    strstr(text, "debug relay.turn destination=local rows=2\n"));
	assert_non_null(
	    strstr(text, "debug relay.turn destination=a.example rows=1\n"));
	assert_ptr_equal(
	    strstr(strstr(text, "destination=local") + 1, "destination=local"),
	    NULL);
}

int
main(void)
{
#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, scene_set_up, scene_tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(test_hanging),
	    TEST(test_settled),
	    TEST(test_lost),
	    TEST(test_passed_over),
	    TEST(test_due_passed_over),
	    TEST(test_one_lost),
	    TEST(test_unsettled),
	    TEST(test_renewal_refused),
	    TEST(test_leases_at_the_start),
	    TEST(test_lease_runs_out),
	    TEST(test_rescue_put_off),
	    TEST(test_renewals),
	    TEST(test_needless_wake),
	    TEST(test_admin),
	    TEST(test_local_pause),
	    TEST(test_wake),
	    TEST(test_wake_before_claim_is_back),
	    TEST(test_parcels_of_fifty),
	    TEST(test_turns_are_logged),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
