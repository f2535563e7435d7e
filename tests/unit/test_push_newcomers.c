/* SPDX-License-Identifier: MIT */
/*
 * The limits of strangers' WebSockets.  Their sessions are in a pool of their
 * own, in which the address with the most sessions loses its oldest one.  Their
 * messages are short.  A message that has begun must end in time, whoever sends
 * it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/limits.h"
#include "unit/push_fixture.h"

/* The fixture has places for 100 users; the pool has the smallest size. */
#define POOL 64

static struct lws *many[POOL + 2];

static void
connect_many(int from, int n, const char *address)
{
	int i;

	for (i = from; i < from + n; i++)
		many[i] = client_connect_from(address);
}

static int
count_ended(int from, int n)
{
	int i, ended = 0;

	for (i = from; i < from + n; i++)
		ended += many[i]->ended;
	return (ended);
}

/* ---- the pool ---- */

static void
test_pool(void **state)
{

	(void)state;
	assert_int_equal(newcomers_limit(scene->push), POOL);
	connect_many(0, POOL, "192.0.2.1");
	assert_int_equal(count_ended(0, POOL), 0);
	/* One more session cuts the oldest. */
	many[POOL] = client_connect_from("192.0.2.1");
	assert_int_equal(count_ended(0, POOL + 1), 1);
	assert_true(many[0]->ended);
	assert_int_equal(scene->push->nnewcomers, POOL);
	assert_int_equal(
	    metrics_get(scene->metrics, METRIC_WS_NEWCOMERS_CUT), 1);
	assert_int_equal(push_sessions(scene->push), POOL);
}

/* A connection that the library still has to write to exists longer than its
 * session.  The session makes room nevertheless, and is not cut twice. */
static void
test_pool_of_lingering(void **state)
{

	(void)state;
	connect_many(0, POOL, "192.0.2.1");
	many[0]->lingers = true;
	connect_many(POOL, 2, "192.0.2.1");
	assert_false(many[0]->ended);
	assert_true(many[1]->ended);
	assert_int_equal(session_of(many[0])->state, SESSION_ENDED);
	assert_int_equal(scene->push->nnewcomers, POOL);
	assert_int_equal(
	    metrics_get(scene->metrics, METRIC_WS_NEWCOMERS_CUT), 2);
}

/* Handshakes in one turn of the loop count before they are sessions. */
static void
test_pool_at_once(void **state)
{
	int fds[4];
	size_t i;

	(void)state;
	connect_many(0, POOL - 1, "192.0.2.1");
	for (i = 0; i < 4; i++)
		fds[i] = client_dial("203.0.113.1");
	turn();
	assert_int_equal(scene->push->nnewcomers, POOL);
	assert_int_equal(count_ended(0, POOL - 1), 3);
	assert_true(many[0]->ended && many[1]->ended && many[2]->ended);
	for (i = 0; i < 4; i++)
		(void)close(fds[i]);
}

/* The address with the most sessions loses one, not the address with the
 * oldest. */
static void
test_pool_is_shared(void **state)
{
	struct lws *quiet;

	(void)state;
	quiet = client_connect_from("198.51.100.7");
	connect_many(0, POOL - 1, "192.0.2.1");
	connect_many(POOL - 1, 2, "203.0.113.1");
	assert_false(quiet->ended);
	assert_int_equal(count_ended(0, POOL + 1), 2);
	assert_true(many[0]->ended && many[1]->ended);
	/* Its hello is still accepted. */
	say(quiet, "{\"type\":\"hello\",\"token\":\"u1d1\"}");
	jobs_run();
	assert_frames(quiet, "welcome caught_up=0");
}

/* An IPv6 address counts as its /64. */
static void
test_pool_counts_networks(void **state)
{
	char address[40];
	struct lws *quiet;
	int i;

	(void)state;
	quiet = client_connect_from("2001:db8:1::1");
	for (i = 0; i < POOL; i++) {
		(void)snprintf(
		    address, sizeof(address), "2001:db8:2::%x", i + 1);
		many[i] = client_connect_from(address);
	}
	assert_false(quiet->ended);
	assert_true(many[0]->ended);
	assert_int_equal(count_ended(0, POOL), 1);
}

/* Sessions of users do not count in the pool, nor do newcomers use the places
 * of users. */
static void
test_places_of_users(void **state)
{
	struct lws *a, *b;

	(void)state;
	scene->push->options.session_limit = 2;
	connect_many(0, POOL - 1, "192.0.2.1");
	a = client_open("u1d1", "");
	b = client_open("u2d2", "");
	assert_int_equal(count_ended(0, POOL - 1), 0);
	assert_int_equal(scene->push->nnewcomers, POOL - 1);
	/* A newcomer for which there is no place gets close code 1013. */
	say(many[0], "{\"type\":\"hello\",\"token\":\"u3d3\"}");
	jobs_run();
	assert_frames(many[0], "CLOSE:1013");
	hang_up(a);
	turn();
	say(many[1], "{\"type\":\"hello\",\"token\":\"u3d3\"}");
	jobs_run();
	assert_frames(many[1], "welcome caught_up=0");
	assert_false(b->ended);
}

/* A session that is being closed before its hello still counts. */
static void
test_closing_counts(void **state)
{
	int i;

	(void)state;
	connect_many(0, POOL, "192.0.2.1");
	for (i = 0; i < POOL; i++)
		say(many[i], "{}");
	assert_int_equal(scene->push->nnewcomers, POOL);
	many[POOL] = client_connect_from("192.0.2.1");
	assert_true(many[0]->ended);
	assert_int_equal(scene->push->nnewcomers, POOL);
}

/* ---- messages ---- */

/* Sends a frame with the beginning of an object, ${n} bytes long. */
static void
say_long(struct lws *c, size_t n)
{
	static char text[LIMIT_HELLO_LEN + 2];

	memset(text, ' ', n);
	text[n] = '\0';
	say(c, text);
}

static void
test_short_before_hello(void **state)
{
	struct lws *a;

	(void)state;
	a = client_connect();
	say_long(a, LIMIT_HELLO_LEN + 1);
	assert_frames(a, "CLOSE:1009");
	/* The short limit lasts until the token is found; then it is the limit
	 * of all messages. */
	a = client_hello("u1d1", "");
	say_long(a, LIMIT_HELLO_LEN + 1);
	assert_frames(a, "CLOSE:1009");
	a = client_open("u1d1", "");
	say_long(a, LIMIT_HELLO_LEN + 1);
	assert_frames(a, "error:400 CLOSE:4400");
}

/* Sends the first fragment of a message. */
static void
begin_message(struct lws *c)
{

	say_frame(c, 0x01, "{\"type\":");
}

static void
test_message_deadline(void **state)
{
	struct lws *a;

	(void)state;
	a = client_open("u1d1", "");
	begin_message(a);
	/* Further bytes and pings do not extend the deadline. */
	pass(MESSAGE_DEADLINE_MS / 2);
	say_frame(a, 0x00, " ");
	say_frame(a, 0x89, "");
	assert_frames(a, "PONG:");
	pass(MESSAGE_DEADLINE_MS - MESSAGE_DEADLINE_MS / 2 - 1000);
	assert_frames(a, "");
	pass(1000);
	assert_frames(a, "CLOSE:4408");
}

/* Each message has its own deadline, also if it begins right after another. */
static void
test_messages_each(void **state)
{
	struct lws *a;
	int i;

	(void)state;
	a = client_open("u1d1", "");
	begin_message(a);
	for (i = 0; i < 4; i++) {
		pass(MESSAGE_DEADLINE_MS / 2);
		say_frame(a, 0x80, "\"ping\",\"id\":1}");
		assert_frames(a, "pong=1");
		begin_message(a);
	}
	say_frame(a, 0x80, "\"ping\",\"id\":2}");
	assert_frames(a, "pong=2");
	pass(MESSAGE_DEADLINE_MS * 2);
	assert_frames(a, "");
}

int
main(void)
{
#define T(name)                                                                \
	cmocka_unit_test_setup_teardown(name, scene_set_up, scene_tear_down)
	const struct CMUnitTest tests[] = {
	    T(test_pool),
	    T(test_pool_of_lingering),
	    T(test_pool_at_once),
	    T(test_pool_is_shared),
	    T(test_pool_counts_networks),
	    T(test_places_of_users),
	    T(test_closing_counts),
	    T(test_short_before_hello),
	    T(test_message_deadline),
	    T(test_messages_each),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
