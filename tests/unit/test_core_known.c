/* SPDX-License-Identifier: MIT */
/*
 * The destinations in the memory of the relay's core (core_fixture.h): those
 * that have messages to send, up to a limit.  A destination that was dropped
 * comes back with its next message.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "unit/core_fixture.h"

static void
count(void *arg, const struct core_destination *d)
{

	(void)d;
	++*(size_t *)arg;
}

static size_t
known(void)
{
	size_t n = 0;

	core_destinations(scene.core, count, &n);
	return (n);
}

struct wanted {
	int64_t id;
	bool found;
};

static void
compare(void *arg, const struct core_destination *d)
{
	struct wanted *w = arg;

	w->found = w->found || d->destination_id == w->id;
}

/* Returns whether server ${name} is in memory. */
static bool
is_known(const char *name)
{
	struct wanted w = {0};
	char sql[128];

	(void)snprintf(sql, sizeof(sql),
	    "SELECT destination_id FROM destinations WHERE name = '%s'", name);
	w.id = rig_number(&scene.rig, sql);
	core_destinations(scene.core, compare, &w);
	return (w.found);
}

static void
no_answer(struct parcel *parcel)
{

	scene_fail(parcel, 0, 0);
}

/* Adds servers that have only been in contact, as strangers can cause it. */
static void
strangers(int n)
{
	char sql[320];

	(void)snprintf(sql, sizeof(sql),
	    "WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s "
	    "WHERE n < %d) INSERT INTO destinations (name, created_at, "
	    "updated_at) SELECT 's' || n || '.example', 1, 1 FROM s",
	    n);
	assert_int_equal(rig_exec(&scene.rig, sql), n);
}

/* Ann sends to the servers a1.example to a${n}.example. */
static void
send_to_all(int n)
{
	char to[32];
	int i;

	for (i = 1; i <= n; i++) {
		(void)snprintf(to, sizeof(to), "bob@a%d.example", i);
		scene_send(to);
	}
}

/* However many other servers the database has, those without messages to send
 * use no memory: neither at the start nor after a poll. */
static void
test_strangers(void **state)
{

	(void)state;
	scene.answers = scene_answer;
	strangers(1200);
	scene_restart(500, 0);
	assert_int_equal(known(), 0);
	scene_run(10 * SECOND);
	assert_int_equal(known(), 0);
	scene_expect("");
	scene_send("bob@a.example");
	scene_run(SECOND);
	assert_int_equal(known(), 1);
	assert_int_equal(scene_count("outbox WHERE state = 'sent'"), 1);
	rig_check_promises(&scene.rig);
}

/* Messages that wait are found at the start, without a wake-up or a poll. */
static void
test_start(void **state)
{

	(void)state;
	send_to_all(3);
	strangers(600);
	scene_send("bob@z.example");
	scene_restart(3600 * SECOND, 0);
	assert_int_equal(known(), 4);
	scene_run(0);
	assert_int_equal(scene.ncarried, 4);
}

/* A destination is dropped a minute after its last message, but not while it
 * has a message or has failed. */
static void
test_forgotten(void **state)
{

	(void)state;
	scene.answers = scene_answer;
	scene_send("bob@a.example");
	scene_run(59 * SECOND);
	assert_int_equal(known(), 1);
	scene_run(2 * SECOND);
	assert_int_equal(known(), 0);
	scene.answers = NULL;
	scene_send("bob@a.example");
	(void)scene_turn_by(scene_wake("a.example"));
	scene_run(120 * SECOND);
	assert_int_equal(known(), 1);
	scene_fail(scene.carried[0], 0, 0);
	scene_run(120 * SECOND);
	assert_int_equal(known(), 1);
}

/* The row of a dropped destination is read again at a wake-up, so that a pause
 * of an operator counts. */
static void
test_paused_while_forgotten(void **state)
{

	(void)state;
	scene.answers = scene_answer;
	scene_send("bob@a.example");
	scene_run(61 * SECOND);
	assert_int_equal(known(), 0);
	(void)rig_exec(&scene.rig,
	    "UPDATE destinations SET paused_at = 1 WHERE name = 'a.example'");
	scene_send("bob@a.example");
	scene_forget();
	(void)scene_turn_by(scene_wake("a.example"));
	scene_run(SECOND);
	assert_null(strstr(scene.told, "carry"));
	(void)rig_exec(&scene.rig, "UPDATE destinations SET paused_at = NULL");
	scene_run(61 * SECOND);
	assert_int_equal(scene_count("outbox WHERE state = 'sent'"), 2);
}

/* The row of an idle destination in memory is read again as well: the note of
 * another node may have been lost. */
static void
test_paused_while_idle(void **state)
{

	(void)state;
	scene.answers = scene_answer;
	scene_send("bob@a.example");
	scene_run(20 * SECOND);
	assert_int_equal(known(), 1);
	(void)rig_exec(&scene.rig,
	    "UPDATE destinations SET paused_at = 1 WHERE name = 'a.example'");
	scene_send("bob@a.example");
	scene_forget();
	(void)scene_turn_by(scene_wake("a.example"));
	scene_run(0);
	assert_null(strstr(scene.told, "carry"));
}

/* A destination that failed once or twice, and whose message has expired, is
 * dropped after ten minutes.  Its row keeps the failures. */
static void
test_failed_and_forgotten(void **state)
{

	(void)state;
	scene.answers = no_answer;
	scene_send_expiring("bob@a.example", 1 * SECOND);
	scene_run(120 * SECOND);
	assert_int_equal(scene_count("outbox WHERE state = 'pending'"), 0);
	assert_int_equal(
	    scene_count("destinations WHERE breaker = 'closed' AND "
			"failures BETWEEN 1 AND 4"),
	    1);
	assert_int_equal(known(), 1);
	scene_run(500 * SECOND);
	assert_int_equal(known(), 0);
	assert_int_equal(
	    scene_count("destinations WHERE failures BETWEEN 1 AND 4"), 1);
}

/* Another node, which has died, could not reach a server.  As soon as the
 * server answers here, its row says so. */
static void
test_row_of_another_node(void **state)
{

	(void)state;
	scene.answers = scene_answer;
	scene_send("bob@a.example");
	scene_run(20 * SECOND);
	assert_int_equal(known(), 1);
	(void)rig_exec(&scene.rig,
	    "UPDATE destinations SET breaker = 'open', failures = 5, "
	    "interval_ms = 2000, next_probe_at = 1 WHERE name = 'a.example'");
	scene_send("bob@a.example");
	(void)scene_turn_by(scene_wake("a.example"));
	scene_run(SECOND);
	assert_int_equal(scene_count("outbox WHERE state = 'sent'"), 2);
	assert_int_equal(
	    scene_count("destinations WHERE breaker <> 'closed'"), 0);
	/* It does so once. */
	scene_forget();
	scene_send("bob@a.example");
	(void)scene_turn_by(scene_wake("a.example"));
	scene_run(20 * SECOND);
	assert_null(strstr(scene.told, "breaker"));
}

/* There are more destinations with messages than places in memory.  Each is
 * tried, dead ones make room, and in the end all get their messages. */
static void
test_bound(void **state)
{
	int i;

	(void)state;
	scene.answers = no_answer;
	scene.destinations_most = 4;
	send_to_all(20);
	scene_restart(500, 0);
	assert_true(known() <= 4);
	for (i = 0; i < 60; i++) {
		scene_run(SECOND);
		assert_true(known() <= 4);
	}
	assert_int_equal(
	    scene_count("destinations WHERE last_failure_at IS NOT NULL"), 20);
	/* A new message for another server is tried at once. */
	scene.answers = scene_answer;
	scene_send("bob@good.example");
	(void)scene_turn_by(scene_wake("good.example"));
	scene_run(10);
	assert_int_equal(scene_count("outbox WHERE state = 'sent'"), 1);
	scene_pass_slowly(1200 * SECOND);
	assert_int_equal(scene_count("outbox WHERE state = 'sent'"), 21);
	assert_true(known() <= 4);
	rig_check_promises(&scene.rig);
}

/* A destination with a parcel under way is never dropped for a new one: a
 * wake-up without room waits for the poll. */
static void
test_under_way(void **state)
{
	size_t i;

	(void)state;
	scene.destinations_most = 4;
	scene_restart(500, 0);
	send_to_all(4);
	scene_run(SECOND);
	assert_int_equal(scene.ncarried, 4);
	scene_send("bob@z.example");
	(void)scene_turn_by(scene_wake("z.example"));
	scene_run(SECOND);
	assert_int_equal(known(), 4);
	assert_int_equal(scene.ncarried, 4);
	for (i = 0; i < 4; i++)
		scene_answer(scene.carried[i]);
	scene_run(SECOND);
	assert_int_equal(scene.ncarried, 5);
	assert_string_equal(scene.carried[4]->name, "z.example");
	assert_int_equal(scene_count("outbox WHERE state = 'sent'"), 4);
	rig_check_promises(&scene.rig);
}

/* Servers that have never answered fill the memory, and wait for one of the few
 * places of such servers.  A server that has answered before is served
 * nevertheless, and keeps its place in memory until it was unused for a
 * minute. */
static void
test_silent_strangers(void **state)
{

	(void)state;
	scene.destinations_most = 12;
	scene_restart(500, 0);
	send_to_all(30);
	scene_run(SECOND);
	assert_int_equal(known(), 12);
	assert_int_equal(scene.ncarried, 8);
	scene_send("bob@good.example");
	(void)rig_exec(&scene.rig,
	    "UPDATE destinations SET last_success_at = 1 "
	    "WHERE name = 'good.example'");
	(void)scene_turn_by(scene_wake("good.example"));
	scene_run(0);
	assert_int_equal(scene.ncarried, 9);
	assert_string_equal(scene.carried[8]->name, "good.example");
	scene_answer(scene.carried[8]);
	/* The others are polled each second, and do not take its place. */
	scene_run(50 * SECOND);
	assert_true(is_known("good.example"));
	rig_check_promises(&scene.rig);
}

int
main(void)
{
#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, scene_set_up, scene_tear_down)
	const struct CMUnitTest tests[] = {
	    TEST(test_strangers),
	    TEST(test_start),
	    TEST(test_forgotten),
	    TEST(test_paused_while_forgotten),
	    TEST(test_paused_while_idle),
	    TEST(test_failed_and_forgotten),
	    TEST(test_row_of_another_node),
	    TEST(test_bound),
	    TEST(test_under_way),
	    TEST(test_silent_strangers),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
