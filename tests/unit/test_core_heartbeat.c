/* SPDX-License-Identifier: MIT */
/*
 * Heartbeats between servers (core_fixture.h): a server that was not reached,
 * and for which no message waits, is probed until it answers.  A heartbeat from
 * that server does not cause one here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "unit/core_fixture.h"

static void
no_answer(struct parcel *parcel)
{

	scene_fail(parcel, 0, 0);
}

static void
parks(struct parcel *parcel)
{

	parcel->park_ms = 30 * SECOND;
	parcel->finish(parcel);
}

/* Returns the breaker of server ${name} in the store. */
static const char *
breaker_of(const char *name)
{
	char sql[128];

	(void)snprintf(sql, sizeof(sql),
	    "SELECT breaker FROM destinations WHERE name = '%s'", name);
	return (rig_text(&scene.rig, sql));
}

/* Returns how many times ${what} is in the text since the last
 * scene_forget(). */
static int
told(const char *what)
{
	const char *p;
	int n = 0;

	for (p = scene.told; (p = strstr(p, what)) != NULL; p++)
		n++;
	return (n);
}

/* Server ${name} does not answer, and the message for it has expired. */
static void
give_up(const char *name)
{
	char to[64];

	scene.answers = no_answer;
	(void)snprintf(to, sizeof(to), "bob@%s", name);
	scene_send_expiring(to, 10 * SECOND);
	scene_run(15 * SECOND);
	assert_string_not_equal(breaker_of(name), "closed");
	assert_int_equal(scene_count("outbox WHERE state = 'pending'"), 0);
	scene_forget();
}

/* The server is probed at growing intervals, up to ten minutes.  Two answers
 * close its breaker, and then the probes end. */
static void
test_until_it_answers(void **state)
{
	int beats;

	(void)state;
	give_up("a.example");
	scene_run(3600 * SECOND);
	beats = told(" carry a.example 0\n");
	assert_in_range(beats, 6, 16);
	assert_int_equal(told(" claim"), 0);
	assert_int_equal(told(" settle"), 0);
	assert_string_equal(breaker_of("a.example"), "open");
	scene.answers = scene_answer;
	scene_forget();
	scene_run(1300 * SECOND);
	assert_int_equal(told(" carry a.example 0\n"), 2);
	assert_int_equal(told(" carry "), 2);
	assert_string_equal(breaker_of("a.example"), "closed");
	scene_forget();
	scene_run(3600 * SECOND);
	scene_expect("");
	assert_true(core_idle(scene.core));
	rig_check_promises(&scene.rig);
}

/* A server that asks for a pause gets it. */
static void
test_parked(void **state)
{

	(void)state;
	give_up("a.example");
	scene.answers = parks;
	scene_run(95 * SECOND);
	assert_in_range(told(" carry a.example 0\n"), 2, 4);
}

static void
parks_shortly(struct parcel *parcel)
{

	parcel->park_ms = SECOND;
	parcel->finish(parcel);
}

/* Whatever pause the server asks for, short or long, the intervals grow as
 * after failed heartbeats.  A message that comes meanwhile waits only for the
 * pause. */
static void
test_parked_for_ever(void **state)
{

	(void)state;
	give_up("a.example");
	scene.answers = parks_shortly;
	scene_run(3600 * SECOND);
	assert_in_range(told(" carry a.example 0\n"), 6, 16);
	scene_send("bob@a.example");
	scene.answers = scene_answer;
	scene_forget();
	(void)scene_turn_by(scene_wake("a.example"));
	scene_run(2 * SECOND);
	assert_int_equal(told(" carry a.example 1\n"), 1);
	assert_int_equal(scene_count("outbox WHERE state = 'sent'"), 1);
}

/* A message takes the place of a heartbeat: it is itself the probe, and does
 * not wait for the heartbeat's answer. */
static void
test_messages_go_first(void **state)
{

	(void)state;
	give_up("a.example");
	scene_send("bob@a.example");
	scene.answers = scene_answer;
	scene_run(60 * SECOND);
	assert_int_equal(told(" carry a.example 1\n"), 1);
	assert_int_equal(scene_count("outbox WHERE state = 'sent'"), 1);
	/* The second success, which closes the breaker. */
	assert_int_equal(told(" carry a.example 0\n"), 1);
	assert_string_equal(breaker_of("a.example"), "closed");
	rig_check_promises(&scene.rig);
}

/* The row of the breaker outlives the process. */
static void
test_restart(void **state)
{

	(void)state;
	give_up("a.example");
	scene_restart(500, 0);
	scene.answers = scene_answer;
	scene_run(60 * SECOND);
	assert_int_equal(told(" carry a.example 0\n"), 2);
	assert_string_equal(breaker_of("a.example"), "closed");
}

/* The closed breaker is stored, though not at the first attempt.  Otherwise the
 * row would say that the server is down until the next message. */
static void
test_saving_fails(void **state)
{
	int saves;

	(void)state;
	give_up("a.example");
	scene.answers = scene_answer;
	scene.fails = "breaker";
	scene.fails_with = RC_FULL;
	scene_run(60 * SECOND);
	assert_int_equal(told(" carry a.example 0\n"), 2);
	assert_string_not_equal(breaker_of("a.example"), "closed");
	/* The attempts have pauses. */
	saves = told(" breaker\n");
	assert_in_range(saves, 10, 40);
	scene.fails = NULL;
	scene_run(120 * SECOND);
	assert_string_equal(breaker_of("a.example"), "closed");
	scene_forget();
	scene_run(600 * SECOND);
	scene_expect("");
}

static void
test_saving_refused(void **state)
{

	(void)state;
	give_up("a.example");
	scene.answers = scene_answer;
	scene.refused = "breaker";
	scene_run(60 * SECOND);
	assert_int_equal(told(" carry a.example 0\n"), 2);
	assert_string_not_equal(breaker_of("a.example"), "closed");
	scene.refused = NULL;
	scene_run(120 * SECOND);
	assert_string_equal(breaker_of("a.example"), "closed");
}

/* No heartbeat goes to a server that an operator has paused. */
static void
test_paused(void **state)
{
	struct wake *wake;

	(void)state;
	give_up("a.example");
	(void)rig_exec(&scene.rig,
	    "UPDATE destinations SET paused_at = 1 WHERE name = 'a.example'");
	wake = wake_new();
	wake->destinations_changed = true;
	(void)scene_turn_by(wake);
	scene_forget();
	scene_run(3600 * SECOND);
	scene_expect("");
	(void)rig_exec(&scene.rig, "UPDATE destinations SET paused_at = NULL");
	wake = wake_new();
	wake->destinations_changed = true;
	scene.answers = scene_answer;
	(void)scene_turn_by(wake);
	scene_run(600 * SECOND);
	assert_string_equal(breaker_of("a.example"), "closed");
}

/* A server that this one may not write to, by its policy or by a block, is not
 * probed, and its breaker stays as it is.  Once it is allowed again, it is
 * probed within the longest interval, without a wake-up. */
static void
test_closed_way(void **state)
{

	(void)state;
	give_up("a.example");
	scene.closed_way = true;
	scene_run(3600 * SECOND);
	scene_expect("");
	assert_string_equal(breaker_of("a.example"), "open");
	scene.closed_way = false;
	scene.answers = scene_answer;
	scene_run(1300 * SECOND);
	assert_int_equal(told(" carry a.example 0\n"), 2);
	assert_string_equal(breaker_of("a.example"), "closed");
}

/* If many servers are down, two are probed at a time. */
static void
test_few_at_a_time(void **state)
{
	char name[32];
	int i, n;

	(void)state;
	for (i = 0; i < 5; i++) {
		(void)snprintf(name, sizeof(name), "s%d.example", i);
		give_up(name);
	}
	scene.answers = NULL;
	scene_run(700 * SECOND);
	assert_int_equal(scene.ncarried, 2);
	/* Each answer makes room for the next probe. */
	for (n = 0; n < 10; n++) {
		assert_in_range(scene.ncarried, n + 1, n + 2);
		scene_answer(scene.carried[n]);
		scene_run(0);
	}
	assert_int_equal(scene.ncarried, 10);
	scene_run(SECOND);
	assert_int_equal(
	    scene_count("destinations WHERE breaker <> 'closed'"), 0);
	assert_true(core_idle(scene.core));
}

/* Heartbeats do not use the places of messages to servers that have never
 * answered. */
static void
test_places_of_their_own(void **state)
{
	char to[32];
	size_t i;

	(void)state;
	give_up("s1.example");
	give_up("s2.example");
	scene.answers = NULL;
	scene_run(700 * SECOND);
	assert_int_equal(scene.ncarried, 2);
	for (i = 0; i < 9; i++) {
		(void)snprintf(to, sizeof(to), "bob@a%zu.example", i);
		scene_send(to);
	}
	scene_run(SECOND);
	assert_int_equal(scene.ncarried, 10);
	for (i = 0; i < 10; i++)
		scene_answer(scene.carried[i]);
	scene_run(0);
	assert_int_equal(scene.ncarried, 13);
}

/* Probing a hundred servers that are down takes longer than the longest
 * interval.  Each of them is probed nevertheless. */
static void
test_all_have_their_turn(void **state)
{
	struct parcel *parcels[2];
	const char *name;
	int probes[100] = {0};
	size_t i, n;
	int k, s;

	(void)state;
	assert_int_equal(
	    rig_exec(&scene.rig,
		"WITH RECURSIVE s (n) AS (SELECT 0 UNION ALL SELECT n + 1 "
		"FROM s WHERE n < 99) INSERT INTO destinations (name, breaker, "
		"failures, interval_ms, next_probe_at, last_failure_at, "
		"created_at, updated_at) SELECT 's' || (n / 10) || (n % 10) || "
		"'.example', 'open', 5, 600000, 1, 1, 1, 1 FROM s"),
	    100);
	/* Not at 0, which stands for "no time". */
	scene_run(SECOND);
	scene_restart(10 * SECOND, 0);
	for (k = 0; k < 360; k++) {
		scene_run(20 * SECOND);
		n = scene.ncarried;
		assert_in_range(n, 0, 2);
		memcpy(parcels, scene.carried, n * sizeof(parcels[0]));
		scene.ncarried = 0;
		for (i = 0; i < n; i++) {
			name = parcels[i]->name;
			s = (name[1] - '0') * 10 + name[2] - '0';
			assert_in_range(s, 0, 99);
			probes[s]++;
			scene_fail(parcels[i], 0, 0);
		}
	}
	for (s = 0; s < 100; s++)
		assert_true(probes[s] >= 3);
}

/* a.example has sent a request; ${alone}: a heartbeat. */
static void
contact(bool alone)
{
	struct wake *wake = wake_new();

	wake->contact = rig_number(&scene.rig,
	    "SELECT destination_id FROM destinations WHERE name = 'a.example'");
	wake->contact_alone = alone;
	(void)scene_turn_by(wake);
}

/* A heartbeat from the other server changes nothing, however often it comes.
 * An envelope causes a probe at once. */
static void
test_no_ping_pong(void **state)
{

	(void)state;
	give_up("a.example");
	do
		scene_run(5 * SECOND);
	while (rig_number(
		   &scene.rig, "SELECT max(next_probe_at) FROM destinations") <=
	       scene.rig.clk.wall_ms + 25 * SECOND);
	scene_forget();
	contact(true);
	scene_run(10 * SECOND);
	contact(true);
	scene_run(10 * SECOND);
	scene_expect("");
	contact(false);
	scene_run(0);
	assert_int_equal(told(" carry a.example 0\n"), 1);
}

/* A server that writes to this one and cannot be reached is probed at once, and
 * then at growing intervals. */
static void
test_unreachable_and_writing(void **state)
{
	int i;

	(void)state;
	scene_restart(10 * SECOND, 0);
	give_up("a.example");
	for (i = 0; i < 360; i++) {
		contact(false);
		scene_run(10 * SECOND);
	}
	assert_in_range(told(" carry a.example 0\n"), 6, 32);
	scene.answers = parks_shortly;
	scene_run(600 * SECOND);
	scene_forget();
	for (i = 0; i < 360; i++) {
		contact(false);
		scene_run(10 * SECOND);
	}
	assert_in_range(told(" carry a.example 0\n"), 3, 32);
	/* The first envelope after a silence causes a probe at once. */
	scene_run(1300 * SECOND);
	scene.answers = scene_answer;
	scene_forget();
	contact(false);
	scene_run(0);
	assert_int_equal(told("0 carry a.example 0\n"), 2);
	assert_string_equal(breaker_of("a.example"), "closed");
}

/* After a restart the core does not know whether a message waits.  A heartbeat
 * from the other server is not a reason to find out. */
static void
test_no_ping_pong_after_restart(void **state)
{

	(void)state;
	give_up("a.example");
	scene_run(100 * SECOND);
	scene_restart(500, 0);
	contact(true);
	scene_run(SECOND);
	scene_expect("");
}

/* Messages that wait leave at once when a heartbeat shows that their server
 * answers. */
static void
test_heartbeat_lets_messages_go(void **state)
{

	(void)state;
	give_up("a.example");
	scene_run(100 * SECOND);
	scene_send("bob@a.example");
	(void)scene_turn_by(scene_wake("a.example"));
	scene_run(SECOND);
	scene_forget();
	scene.answers = scene_answer;
	contact(true);
	scene_run(0);
	assert_int_equal(told("0 carry a.example 1\n"), 1);
	assert_int_equal(scene_count("outbox WHERE state = 'sent'"), 1);
}

int
main(void)
{
#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, scene_set_up, scene_tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(test_until_it_answers),
	    TEST(test_parked),
	    TEST(test_parked_for_ever),
	    TEST(test_messages_go_first),
	    TEST(test_restart),
	    TEST(test_saving_fails),
	    TEST(test_saving_refused),
	    TEST(test_paused),
	    TEST(test_closed_way),
	    TEST(test_few_at_a_time),
	    TEST(test_places_of_their_own),
	    TEST(test_all_have_their_turn),
	    TEST(test_no_ping_pong),
	    TEST(test_unreachable_and_writing),
	    TEST(test_no_ping_pong_after_restart),
	    TEST(test_heartbeat_lets_messages_go),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
