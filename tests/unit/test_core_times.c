/* SPDX-License-Identifier: MIT */
/*
 * The times at which the relay's core acts (core_fixture.h).  It has a turn at
 * the times that it asks for and at no other, so a time that it forgets shows
 * as an action that is late, or missing.
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
not_found(struct parcel *parcel)
{

	scene_fail(parcel, 404, 0);
}

static void
busy_for_5_s(struct parcel *parcel)
{

	scene_fail(parcel, 503, 5 * SECOND);
}

static void
in_words(struct parcel *parcel)
{

	(void)snprintf(
	    parcel->error, sizeof(parcel->error), "connection refused");
	scene_fail(parcel, 503, 0);
}

/* Returns the breaker's row of the only other server. */
static const char *
breaker_row(void)
{

	return (
	    rig_text(&scene.rig, "SELECT breaker || ' ' || failures || ' ' || "
				 "coalesce(last_error, '-') FROM destinations "
				 "WHERE destination_id > 1"));
}

/* Ann sends a message to another user of this server. */
static void
send_here(void)
{

	(void)rig_user(&scene.rig, "ben", NULL);
	scene_send_here("ben", 0);
}

/* ---- turns ---- */

/* Without work the core asks for its next turn at the time of the safety
 * poll. */
static void
test_idle(void **state)
{
	int i;

	(void)state;
	for (i = 0; i < 30; i++) {
		assert_int_equal(scene_turn() - scene_now(), 500);
		clk_fake_advance(&scene.rig.clk, 500);
	}
	scene_expect("");
}

/* A core that is stopping begins nothing new.  It asks for its next turn soon
 * while work is under way. */
static void
test_stopping(void **state)
{

	(void)state;
	send_here();
	scene_send("bob@a.example");
	assert_int_equal(scene_turn_stopping() - scene_now(), 200);
	scene_expect("");
	assert_true(core_idle(scene.core));
	assert_int_equal(core_in_flight(scene.core), 0);
	(void)scene_turn();
	scene_expect("0 deliver\n0 claim\n");
	assert_false(core_idle(scene.core));
	assert_int_equal(core_in_flight(scene.core), 2);
	assert_int_equal(writer_run_once(scene.rig.writer), 2);
	assert_int_equal(scene_turn_stopping() - scene_now(), 200);
	/* Rows that were claimed are sent nevertheless. */
	scene_expect("0 carry a.example 1\n");
	assert_int_equal(core_in_flight(scene.core), 1);
	assert_false(core_idle(scene.core));
	scene.refused = "settle";
	scene_answer(scene.carried[0]);
	assert_int_equal(scene_turn_stopping() - scene_now(), 200);
	/* The lease stays until the next start.  The unit with the breaker is
	 * in the writer's queue. */
	scene_expect("0 breaker\n0 settle\n");
	assert_int_equal(core_in_flight(scene.core), 0);
	assert_false(core_idle(scene.core));
	assert_int_equal(writer_run_once(scene.rig.writer), 1);
	(void)scene_turn_stopping();
	assert_true(core_idle(scene.core));
}

/* ---- a server that does not answer ---- */

/* The pauses are 250 ms, 500 ms, 1 s and 2 s.  The fifth failure opens the
 * breaker, and the next attempt leaves at the time that is stored. */
static void
test_no_answer(void **state)
{
	int64_t probe;
	char text[128];

	(void)state;
	scene.answers = no_answer;
	scene_send("bob@a.example");
	scene_run(4 * SECOND);
	scene_expect(
	    "0 claim\n0 carry a.example 1\n0 breaker\n0 settle\n"
	    "250 claim\n250 carry a.example 1\n250 breaker\n250 settle\n"
	    "750 claim\n750 carry a.example 1\n750 breaker\n750 settle\n"
	    "1750 claim\n1750 carry a.example 1\n1750 breaker\n1750 settle\n"
	    "3750 claim\n3750 carry a.example 1\n3750 breaker\n"
	    "3750 settle\n");
	assert_string_equal(breaker_row(), "open 5 no answer");
	probe = rig_number(
		    &scene.rig, "SELECT max(next_probe_at) FROM destinations") -
		scene.rig.clk.wall_ms;
	assert_in_range(probe, SECOND, 3 * SECOND);
	scene_run(probe);
	(void)snprintf(text, sizeof(text),
	    "%lld claim\n%lld breaker\n%lld carry a.example 1\n"
	    "%lld settle\n%lld breaker\n",
	    (long long)probe, (long long)probe, (long long)probe,
	    (long long)probe, (long long)probe);
	scene_expect(text);
	/* The attempts do not count against the message. */
	assert_int_equal(
	    scene_count("outbox WHERE state = 'pending' AND retry_count = 0"),
	    1);
	rig_check_promises(&scene.rig);
}

/* The pause that a server asks for is kept.  Its status is the text of the
 * error if the carrier has none; an older status is not used again. */
static void
test_errors(void **state)
{

	(void)state;
	scene.answers = busy_for_5_s;
	scene_send("bob@a.example");
	scene_run(5 * SECOND - 1);
	scene_expect("0 claim\n0 carry a.example 1\n0 breaker\n0 settle\n");
	assert_string_equal(breaker_row(), "closed 1 HTTP 503");
	scene.answers = not_found;
	scene_run(250);
	scene_expect("1 claim\n1 carry a.example 1\n1 breaker\n1 settle\n");
	assert_string_equal(breaker_row(), "closed 2 HTTP 404");
	scene.answers = no_answer;
	scene_run(500);
	scene_expect(
	    "251 claim\n251 carry a.example 1\n251 breaker\n251 settle\n");
	assert_string_equal(breaker_row(), "closed 3 no answer");
	scene.answers = in_words;
	scene_run(1000);
	scene_expect(
	    "751 claim\n751 carry a.example 1\n751 breaker\n751 settle\n");
	assert_string_equal(breaker_row(), "closed 4 connection refused");
	/* The text and the pause of one answer are not used for the next
	 * one. */
	scene.answers = no_answer;
	scene_run(2000);
	scene_expect("1751 claim\n1751 carry a.example 1\n1751 breaker\n"
		     "1751 settle\n");
	assert_string_equal(breaker_row(), "open 5 no answer");
}

/* A breaker that changes while it is being written is written again. */
static void
test_breaker_is_written_again(void **state)
{

	(void)state;
	scene.answers = busy_for_5_s;
	scene_send("bob@a.example");
	scene_run(25 * SECOND - 1);
	assert_string_equal(breaker_row(), "open 5 HTTP 503");
	scene.answers = NULL;
	clk_fake_advance(&scene.rig.clk, 1);
	scene_forget();
	(void)scene_turn(); /* submits the claim */
	assert_int_equal(writer_run_once(scene.rig.writer), 1);
	(void)scene_turn(); /* half-open; the probe is under way */
	scene_answer(scene.carried[0]);
	(void)scene_turn(); /* the breaker changes again */
	scene_expect("0 claim\n0 breaker\n0 carry a.example 1\n0 settle\n");
	assert_int_equal(writer_run_once(scene.rig.writer), 2);
	(void)scene_turn();
	/* The half-open breaker causes another probe, as no message waits. */
	scene_expect("0 breaker\n0 carry a.example 0\n");
	assert_int_equal(writer_run_once(scene.rig.writer), 1);
	(void)scene_turn();
	scene_expect("");
	assert_int_equal(
	    rig_number(&scene.rig, "SELECT max(successes) FROM destinations"),
	    1);
}

/* A breaker that could not be written is written with its next change. */
static void
test_breaker_is_not_taken(void **state)
{

	(void)state;
	scene.answers = no_answer;
	scene.refused = "breaker";
	scene_send("bob@a.example");
	scene_run(100);
	scene_expect("0 claim\n0 carry a.example 1\n0 breaker\n0 settle\n");
	assert_string_equal(breaker_row(), "closed 0 -");
	assert_true(core_idle(scene.core));
	scene.refused = NULL;
	scene_run(150);
	scene_expect(
	    "150 claim\n150 carry a.example 1\n150 breaker\n150 settle\n");
	assert_string_equal(breaker_row(), "closed 2 no answer");
}

/* ---- units that the writer refuses, or cannot write ---- */

/* The core tries again after 200 ms, or after 2 s if the disk was full.  It
 * does not try again after the writer has closed. */
static void
test_claim_put_off(void **state)
{

	(void)state;
	scene.answers = scene_answer;
	scene_send("bob@a.example");
	scene.refused = "claim";
	scene_run(399);
	scene_expect("0 claim\n200 claim\n");
	scene.refused = NULL;
	scene.fails = "claim";
	scene_run(401);
	scene_expect("1 claim\n201 claim\n401 claim\n");
	scene.fails_with = RC_FULL;
	scene_run(4 * SECOND);
	scene_expect("200 claim\n2200 claim\n");
	scene.fails_with = RC_CLOSED;
	scene_run(10 * SECOND);
	scene_expect("200 claim\n");
	assert_int_equal(scene_count("outbox WHERE state = 'pending'"), 1);
}

static void
test_claim_never_again(void **state)
{

	(void)state;
	scene_send("bob@a.example");
	scene.refused = "claim";
	scene.refused_with = RC_CLOSED;
	scene_run(10 * SECOND);
	scene_expect("0 claim\n");
}

/* The answer is kept until it is written. */
static void
test_settling_put_off(void **state)
{

	(void)state;
	scene.answers = scene_answer;
	scene_send("bob@a.example");
	scene.refused = "settle";
	scene_run(399);
	scene_expect("0 claim\n0 carry a.example 1\n0 breaker\n0 settle\n"
		     "200 settle\n");
	scene.refused = NULL;
	scene.fails = "settle";
	scene.fails_with = RC_FULL;
	scene_run(2001);
	scene_expect("1 settle\n2001 settle\n");
	scene.fails = NULL;
	scene_run(2 * SECOND);
	scene_expect("2000 settle\n");
	assert_int_equal(scene_count("outbox WHERE state = 'sent'"), 1);
	rig_check_promises(&scene.rig);
}

static void
test_settling_never_again(void **state)
{

	(void)state;
	scene.answers = scene_answer;
	scene_send("bob@a.example");
	scene.fails = "settle";
	scene.fails_with = RC_CLOSED;
	scene_run(100);
	scene_send("bob@b.example");
	scene_run(10 * SECOND);
	scene_expect("0 claim\n0 carry a.example 1\n0 breaker\n0 settle\n");
	assert_int_equal(core_in_flight(scene.core), 0);
	assert_int_equal(scene_count("outbox WHERE state = 'sending'"), 1);
}

static void
test_delivery_put_off(void **state)
{

	(void)state;
	send_here();
	scene.refused = "deliver";
	scene_run(399);
	scene_expect("0 deliver\n200 deliver\n");
	scene.refused = NULL;
	scene.fails = "deliver";
	scene.fails_with = RC_FULL;
	scene_run(2001);
	scene_expect("1 deliver\n2001 deliver\n");
	assert_int_equal(core_in_flight(scene.core), 0);
	scene.fails = NULL;
	scene_run(2 * SECOND);
	scene_expect("2000 deliver\n");
	assert_int_equal(scene_count("outbox WHERE state = 'sent'"), 1);
	rig_check_promises(&scene.rig);
}

static void
test_delivery_never_again(void **state)
{
	int fails;

	(void)state;
	for (fails = 0; fails < 2; fails++) {
		(void)scene_tear_down(NULL);
		(void)scene_set_up(NULL);
		send_here();
		scene.refused = fails ? NULL : "deliver";
		scene.fails = fails ? "deliver" : NULL;
		scene.refused_with = scene.fails_with = RC_CLOSED;
		scene_run(10 * SECOND);
		scene_expect("0 deliver\n");
		assert_true(core_idle(scene.core));
	}
}

/* A refused renewal has a pause of its own. */
static void
test_renewal_put_off(void **state)
{

	(void)state;
	scene_send("bob@a.example");
	scene_run(19 * SECOND + 900);
	scene_forget();
	scene.refused = "renew";
	scene_run(499);
	scene_expect("100 renew\n300 renew\n");
	scene.refused = NULL;
	scene.fails = "renew";
	scene_run(401);
	scene_expect("1 renew\n201 renew\n401 renew\n");
	scene.fails = NULL;
	scene_run(30 * SECOND);
	scene_expect("200 renew\n20200 renew\n");
	scene.fails = "renew";
	scene.fails_with = RC_CLOSED;
	scene_run(30 * SECOND);
	scene_expect("10200 renew\n");
}

/* ---- messages that are due ---- */

static int64_t
in_1_s(int i)
{

	(void)i;
	return (scene.rig.clk.wall_ms + SECOND);
}

/* Scheduled messages are released at their time.  If one unit cannot take them
 * all, the next one follows at once. */
static void
test_release(void **state)
{
	int64_t ben;

	(void)state;
	ben = rig_user(&scene.rig, "ben", NULL);
	rig_send_many(&scene.rig, 1, "ben", LIMIT_SCHEDULED, in_1_s);
	rig_send_many(&scene.rig, ben, "ann",
	    RELEASE_ROWS + 20 - LIMIT_SCHEDULED, in_1_s);
	scene_run(SECOND - 1);
	scene_expect("");
	scene_run(SECOND);
	/* There is no wake-up in this test: a poll finds the second lane. */
	scene_expect("1 release\n1 release\n1 deliver\n501 deliver\n");
	assert_int_equal(
	    scene_count("outbox WHERE state = 'sent'"), RELEASE_ROWS + 20);
}

/* The release is refused: the core tries again with the next poll. */
static void
test_release_put_off(void **state)
{

	(void)state;
	(void)rig_user(&scene.rig, "ben", NULL);
	(void)rig_send_at(
	    &scene.rig, 1, "ben", "later", scene.rig.clk.wall_ms + SECOND);
	scene.refused = "release";
	scene_run(1499);
	scene_expect("1000 release\n");
	scene.refused = NULL;
	scene.fails = "release";
	scene_run(1);
	scene_expect("1 release\n");
	scene.fails = NULL;
	scene_run(SECOND);
	scene_expect("500 release\n1000 deliver\n");
	assert_int_equal(scene_count("outbox WHERE state = 'sent'"), 1);
}

/* Nothing claims the rows behind a pause.  A poll for expired rows finds those
 * that have expired or will do so before the next poll.  They are ended at
 * their time, although the only lease ends later. */
static void
test_expiry(void **state)
{

	(void)state;
	scene_send("bob@a.example");
	scene_send_expiring("dan@b.example", 2 * SECOND);
	(void)rig_exec(&scene.rig,
	    "UPDATE destinations SET paused_at = 1 WHERE name = 'b.example'");
	scene_run(3 * SECOND);
	scene_expect("0 claim\n0 carry a.example 1\n2000 reclaim\n");
	assert_int_equal(scene_count("outbox WHERE state = 'expired'"), 1);
	scene_send_expiring("dan@b.example", SECOND);
	scene_send_expiring("dan@b.example", 12 * SECOND);
	scene_run(12 * SECOND);
	/* There are 10 s between these polls. */
	scene_expect("9000 reclaim\n12000 reclaim\n");
	assert_int_equal(scene_count("outbox WHERE state = 'expired'"), 3);
	rig_check_promises(&scene.rig);
}

/* ---- shares ---- */

/* Ann sends to ${to} at server ${name}, and the core gets a wake-up. */
static void
send_and_wake(const char *to, const char *name)
{

	scene_send(to);
	(void)scene_turn_by(scene_wake(name));
	scene_run(0);
	scene_forget();
}

/* The window of a server that answers grows to 64 parcels.  The limit of all
 * parcels under way is higher, so that another server has its turn as well. */
static void
test_window(void **state)
{
	char to[32];
	int i;

	(void)state;
	scene.answers = scene_answer;
	for (i = 0; i < 64; i++)
		send_and_wake("bob@a.example", "a.example");
	send_and_wake("bob@b.example", "b.example");
	scene.answers = NULL;
	/* Each message has a lane of its own. */
	for (i = 0; i < 70; i++) {
		(void)snprintf(to, sizeof(to), "b%d@a.example", i);
		send_and_wake(to, "a.example");
	}
	assert_int_equal(scene.ncarried, 64);
	for (i = 0; i < 3; i++) {
		(void)snprintf(to, sizeof(to), "b%d@b.example", i);
		send_and_wake(to, "b.example");
	}
	/* The window of b.example is two. */
	assert_int_equal(scene.ncarried, 66);
	assert_string_equal(scene.carried[65]->name, "b.example");
	assert_int_equal(core_in_flight(scene.core), 66);
}

/* Of the places for parcels, servers that did not answer last time have eight.
 * A server that has answered need not wait for them. */
static void
test_doubtful(void **state)
{
	char to[32];
	int i;

	(void)state;
	scene.answers = scene_answer;
	scene_send("bob@known.example");
	scene_run(500);
	scene.answers = NULL;
	for (i = 0; i < 10; i++) {
		(void)snprintf(to, sizeof(to), "bob@s%d.example", i);
		scene_send(to);
	}
	scene_run(500);
	assert_int_equal(scene.ncarried, 8);
	assert_int_equal(core_in_flight(scene.core), 8);
	scene_send("bob@known.example");
	scene_run(500);
	assert_int_equal(scene.ncarried, 9);
	assert_string_equal(scene.carried[8]->name, "known.example");
	scene_answer(scene.carried[8]);
	scene_run(0);
	assert_int_equal(scene.ncarried, 9);
	scene_answer(scene.carried[0]);
	scene_run(0);
	assert_int_equal(scene.ncarried, 10);
	assert_string_equal(scene.carried[9]->name, "s8.example");
}

/* Two messages a second: a silence does not allow more of them at once, and
 * each leaves at its time. */
static void
test_rate(void **state)
{
	int i;

	(void)state;
	scene.answers = scene_answer;
	scene_send("bob@a.example");
	scene_run(500);
	(void)rig_exec(&scene.rig,
	    "UPDATE destinations SET per_second = 2 WHERE name = 'a.example'");
	/* The core reads the row of the server with the first message. */
	scene_restart(500, 0);
	scene_send("bob@a.example");
	scene_run(10 * SECOND);
	for (i = 0; i < 5; i++)
		scene_send("bob@a.example");
	scene_forget();
	scene_run(3 * SECOND);
	scene_expect("500 claim\n500 carry a.example 2\n500 settle\n"
		     "1000 claim\n1000 carry a.example 1\n1000 settle\n"
		     "1500 claim\n1500 carry a.example 1\n1500 settle\n"
		     "2000 claim\n2000 carry a.example 1\n2000 settle\n");
}

/* ---- destinations in memory ---- */

static char listed[256];

static void
list(void *arg, const struct core_destination *d)
{

	(void)arg;
	(void)snprintf(listed + strlen(listed), sizeof(listed) - strlen(listed),
	    "%lld %s window=%d in_flight=%d\n", (long long)d->destination_id,
	    breaker_state_name(d->breaker), d->window, d->in_flight);
}

static void
test_destinations(void **state)
{

	(void)state;
	scene_send("bob@a.example");
	scene_run(500);
	listed[0] = '\0';
	core_destinations(scene.core, list, NULL);
	assert_string_equal(listed, "2 closed window=1 in_flight=1\n");
}

/* A carrier gets 20 s, or the time of the option. */
static void
test_time_limit(void **state)
{

	(void)state;
	scene_send("bob@a.example");
	scene_run(500);
	assert_int_equal(scene.carried[0]->timeout_ms, 20000);
	scene_answer(scene.carried[0]);
	scene_run(500);
	scene_restart(500, 7000);
	scene_send("bob@a.example");
	scene_run(500);
	assert_int_equal(scene.carried[0]->timeout_ms, 7000);
}

int
main(void)
{
#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, scene_set_up, scene_tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(test_idle),
	    TEST(test_stopping),
	    TEST(test_no_answer),
	    TEST(test_errors),
	    TEST(test_breaker_is_written_again),
	    TEST(test_breaker_is_not_taken),
	    TEST(test_claim_put_off),
	    TEST(test_claim_never_again),
	    TEST(test_settling_put_off),
	    TEST(test_settling_never_again),
	    TEST(test_delivery_put_off),
	    TEST(test_delivery_never_again),
	    TEST(test_renewal_put_off),
	    TEST(test_release),
	    TEST(test_release_put_off),
	    TEST(test_expiry),
	    TEST(test_window),
	    TEST(test_doubtful),
	    TEST(test_rate),
	    TEST(test_destinations),
	    TEST(test_time_limit),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
