/* SPDX-License-Identifier: MIT */
/*
 * A stream's connection: the wait before it connects again, its frames and acks
 * over several connections, and its end.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "unit/fake_time.h"
#include "unit/stream_fixture.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define ACK(n) "{\"type\":\"ack\",\"upto\":" #n "}\n"
#define SEND(id, body)                                                         \
	"{\"type\":\"send\",\"id\":" #id ",\"message\":{\"body\":\"" body      \
	"\"}}\n"

/* The server sends events ${first} to ${last}. */
static void
events(struct scene *s, int first, int last)
{

	for (; first <= last; first++)
		scene_say(s, "{'type':'event','seq':%d}", first);
}

/* Sends a message with ${body}; returns the result of stream_send(). */
static int64_t
send_body(struct scene *s, const char *body)
{
	json_t *message = json_pack("{ss}", "body", body);
	int64_t id = stream_send(s->stream, message);

	/* The stream must have its own copy. */
	(void)json_object_clear(message);
	json_decref(message);
	return (id);
}

/* ---- the back-off ---- */

/* Each failure doubles the longest wait, up to 20 s. */
static void
test_backoff_grows(void **state)
{
	static const int waits[] = {
	    500, 1000, 2000, 4000, 8000, 16000, 20000, 20000, 20000};
	struct scene *s = *state;
	char wanted[64];
	size_t i;

	scene_open(s, "", -1, true);
	for (i = 0; i < COUNT(waits); i++) {
		scene_timer(s);
		scene_refuse(s, 0, "Connection refused");
		(void)snprintf(wanted, sizeof(wanted),
		    "lost unreachable, %d ms; ", waits[i]);
		assert_string_equal(scene_told(s), wanted);
		assert_int_equal(scene_timer_ms(s), waits[i]);
	}
	assert_int_equal(s->connects, COUNT(waits));
}

/* Fails three times, then is connected for ${lived_ms} before the connection
 * breaks.  Returns the wait after that. */
static int64_t
wait_after(struct scene *s, int64_t lived_ms)
{
	int i;

	scene_again(s, "", -1, true);
	for (i = 0; i < 3; i++) {
		scene_timer(s);
		scene_refuse(s, 0, NULL);
	}
	assert_int_equal(scene_timer_ms(s), 2000);
	scene_welcome(s, "E", 0);
	fake_time_move(lived_ms);
	scene_cut(s);
	return (scene_timer_ms(s));
}

static void
test_backoff_after_a_stable_connection(void **state)
{
	struct scene *s = *state;

	assert_int_equal(wait_after(s, 5000), 500);
	/* The wait grows from there as before: a stable connection resets it
	 * once. */
	scene_timer(s);
	fake_time_move(60000);
	scene_refuse(s, 0, NULL);
	assert_int_equal(scene_timer_ms(s), 1000);
	scene_timer(s);
	scene_refuse(s, 0, NULL);
	assert_int_equal(scene_timer_ms(s), 2000);
}

static void
test_backoff_after_an_unstable_connection(void **state)
{
	struct scene *s = *state;

	assert_int_equal(wait_after(s, 0), 4000);
	assert_int_equal(wait_after(s, 4999), 4000);
	scene_welcome(s, "E", 0);
	scene_cut(s);
	assert_int_equal(scene_timer_ms(s), 8000);
}

/* A connection without a welcome does not count as stable, however long it
 * lasts. */
static void
test_backoff_without_welcome(void **state)
{
	struct scene *s = *state;
	int i;

	scene_open(s, "", -1, true);
	for (i = 0; i < 3; i++) {
		(void)scene_hello(s);
		fake_time_move(9000);
		scene_cut(s);
		assert_int_equal(scene_timer_ms(s), 500 << i);
	}
}

/* The wait that the server asks for is a minimum for the next wait alone. */
static void
test_retry_after(void **state)
{
	struct scene *s = *state;
	int i;

	scene_open(s, "", -1, true);
	(void)scene_hello(s);
	scene_say(s, "{'type':'error','re':1,'problem':{'status':503,"
		     "'code':'busy','retry_after':7}}");
	assert_string_equal(scene_told(s), "lost busy, 7000 ms; ");
	scene_timer(s);
	assert_int_equal(fake_time_ms(), 7000);
	scene_refuse(s, 0, NULL);
	assert_int_equal(scene_timer_ms(s), 1000);
	for (i = 0; i < 5; i++) {
		scene_timer(s);
		scene_refuse(s, 0, NULL);
	}
	assert_int_equal(scene_timer_ms(s), 20000);
	/* A longer back-off stays as it is. */
	(void)scene_hello(s);
	scene_say(s, "{'type':'error','re':1,'problem':{'status':503,"
		     "'code':'busy','retry_after':7}}");
	assert_int_equal(scene_timer_ms(s), 20000);
}

/* Reconnecting at once because of a new epoch does not count as a failure. */
static void
test_at_once_is_no_failure(void **state)
{
	struct scene *s = *state;

	scene_open(s, "E", 5, true);
	(void)scene_hello(s);
	scene_end(s, 4410);
	assert_string_equal(scene_told(s), "new epoch; ");
	assert_int_equal(scene_timer_ms(s), 0);
	(void)scene_hello(s);
	scene_cut(s);
	assert_string_equal(scene_told(s), "lost unreachable, 500 ms; ");
}

/* ---- making a connection ---- */

static void
test_address(void **state)
{
	static const struct {
		const char *server, *address;
		int port;
		bool tls;
	} cases[] = {
	    {"http://host.example", "host.example", 80, false},
	    {"https://host.example", "host.example", 443, true},
	    {"http://10.0.0.1:8080", "10.0.0.1", 8080, false},
	    {"https://[::1]:65535", "::1", 65535, true},
	    {"http://[fe80::1]", "fe80::1", 80, false},
	};
	struct scene *s = *state;
	size_t i;

	for (i = 0; i < COUNT(cases); i++) {
		scene_close(s);
		memset(s, 0, sizeof(*s));
		s->server = cases[i].server;
		scene_open(s, "", -1, true);
		scene_timer(s);
		assert_string_equal(s->address, cases[i].address);
		assert_string_equal(
		    s->host, strstr(cases[i].server, "://") + 3);
		assert_string_equal(s->path, "/v1/ws");
		assert_int_equal(s->port, cases[i].port);
		assert_int_equal(s->tls, cases[i].tls);
	}
}

/* The reason of a failed connection decides whether the stream tries again. */
static void
test_refused_connections(void **state)
{
	static const struct {
		unsigned status;
		const char *told;
	} cases[] = {
	    {0, "lost unreachable, 500 ms; "},
	    {401, "ended unauthenticated; "},
	    {403, "ended forbidden; "},
	    {429, "lost rate-limited, 500 ms; "},
	    {503, "lost busy, 500 ms; "},
	    {301, "ended protocol; "},
	    {404, "ended protocol; "},
	    {502, "lost unreachable, 500 ms; "},
	};
	struct scene *s = *state;
	size_t i;

	for (i = 0; i < COUNT(cases); i++) {
		scene_again(s, "", -1, true);
		scene_timer(s);
		scene_refuse(s, cases[i].status, "HS: ws upgrade\033[2J");
		assert_string_equal(scene_told(s), cases[i].told);
	}
}

/* libwebsockets fails at once: it makes no connection, without a callback, or
 * returns one that has closed already. */
static void
test_fails_at_once(void **state)
{
	struct scene *s = *state;
	int i;

	for (i = 0; i < 2; i++) {
		scene_again(s, "", -1, true);
		s->connect_fails = i == 0;
		s->connect_breaks = i == 1;
		scene_timer(s);
		assert_string_equal(
		    scene_told(s), "lost unreachable, 500 ms; ");
		s->connect_fails = s->connect_breaks = false;
		scene_welcome(s, "E", 0);
		assert_string_equal(scene_told(s), "welcome; ");
	}
}

/* A server that does not answer has ten seconds. */
static void
test_patience(void **state)
{
	struct scene *s = *state;

	scene_open(s, "", -1, true);
	scene_timer(s);
	assert_int_equal(scene_timer_ms(s), 10000);
	scene_timer(s);
	assert_string_equal(scene_told(s), "lost unreachable, 500 ms; ");
	(void)scene_hello(s);
	assert_int_equal(scene_timer_ms(s), 10000);
	scene_timer(s);
	assert_string_equal(scene_told(s), "lost unreachable, 1000 ms; ");
	/* The welcome ends this time limit. */
	scene_welcome(s, "E", 0);
	assert_int_equal(scene_timer_ms(s), -1);
}

/* The text of each close code. */
static void
test_close_codes(void **state)
{
	static const struct {
		int code;
		const char *told;
	} cases[] = {
	    {1000, "lost unreachable, 500 ms; "},
	    {1012, "lost unreachable, 500 ms; "},
	    {4408, "lost unreachable, 500 ms; "},
	    {1003, "ended protocol; "},
	    {4400, "ended protocol; "},
	    {4401, "ended not_logged_in; "},
	    {4403, "ended not_logged_in; "},
	    {4409, "ended replaced; "},
	    {4410, "new epoch; "},
	};
	struct scene *s = *state;
	size_t i;

	for (i = 0; i < COUNT(cases); i++) {
		scene_again(s, "", -1, true);
		scene_welcome(s, "E", 0);
		assert_string_equal(scene_told(s), "welcome; ");
		scene_end(s, cases[i].code);
		assert_string_equal(scene_told(s), cases[i].told);
	}
}

/* ---- frames that come in pieces ---- */

static void
test_pieces(void **state)
{
	static const char one[] = "{\"type\":\"event\",\"seq\":1}";
	struct scene *s = *state;
	size_t i;

	scene_open(s, "", -1, true);
	scene_welcome(s, "E", 0);
	(void)scene_told(s);
	for (i = 0; i < sizeof(one) - 1; i++) {
		assert_string_equal(scene_told(s), "");
		scene_say_piece(s, one + i, 1, i == sizeof(one) - 2);
	}
	assert_string_equal(scene_told(s), "event 1; ");
	/* Half a frame is dropped with its connection. */
	scene_say_piece(s, one, 10, false);
	scene_cut(s);
	(void)scene_told(s);
	scene_welcome(s, "E", 0);
	events(s, 2, 2);
	assert_string_equal(scene_told(s), "welcome; event 2; ");
}

static void
test_endless_frame(void **state)
{
	static char piece[1 << 20];
	struct scene *s = *state;
	int i;

	memset(piece, ' ', sizeof(piece));
	scene_open(s, "", -1, true);
	scene_welcome(s, "E", 0);
	(void)scene_told(s);
	for (i = 0; i < 4; i++)
		scene_say_piece(s, piece, sizeof(piece), false);
	assert_string_equal(scene_told(s), "");
	scene_say_piece(s, piece, 1, false);
	assert_string_equal(scene_told(s), "ended protocol; ");
}

/* ---- frames of the stream ---- */

/* Frames keep their order, whether the queue is empty between them or not. */
static void
test_queue(void **state)
{
	struct scene *s = *state;

	scene_open(s, "", -1, true);
	assert_int_equal(send_body(s, "too soon"), 0);
	(void)scene_hello(s);
	assert_int_equal(send_body(s, "too soon"), 0);
	stream_read(s->stream, "c", 3);
	scene_say(s, "{'type':'welcome','epoch':'E','acked':0}");
	assert_string_equal(scene_written(s), "");
	assert_int_equal(send_body(s, "a"), 2);
	scene_settle(s);
	assert_string_equal(scene_written(s), SEND(2, "a"));
	assert_int_equal(send_body(s, "b"), 3);
	scene_settle(s);
	assert_string_equal(scene_written(s), SEND(3, "b"));
	assert_int_equal(send_body(s, "c"), 4);
	stream_read(s->stream, "talk", 9);
	assert_int_equal(send_body(s, "d"), 5);
	scene_settle(s);
	assert_string_equal(scene_written(s),
	    SEND(4, "c") "{\"type\":\"read\",\"conversation\":\"talk\","
			 "\"upto_conversation_seq\":9}\n" SEND(5, "d"));
}

/* Frames that were not written are dropped with their connection: the owner
 * sends them again.  No number is used twice. */
static void
test_queue_goes_with_its_connection(void **state)
{
	struct scene *s = *state;

	scene_open(s, "", -1, true);
	scene_welcome(s, "E", 0);
	(void)scene_written(s);
	s->blocked = true;
	assert_int_equal(send_body(s, "a"), 2);
	assert_int_equal(send_body(s, "b"), 3);
	scene_cut(s);
	assert_int_equal(send_body(s, "too late"), 0);
	s->blocked = false;
	scene_welcome(s, "E", 0);
	assert_string_equal(scene_written(s), "");
	assert_int_equal(send_body(s, "a"), 4);
	scene_settle(s);
	assert_string_equal(scene_written(s), SEND(4, "a"));
}

static void
test_write_fails(void **state)
{
	struct scene *s = *state;

	scene_open(s, "", -1, true);
	scene_welcome(s, "E", 0);
	(void)scene_told(s);
	s->write_fails = true;
	assert_int_equal(send_body(s, "a"), 2);
	scene_settle(s);
	assert_string_equal(scene_told(s), "lost unreachable, 500 ms; ");
}

/* Only the newest ack is sent, and only if it is higher than the last. */
static void
test_acks(void **state)
{
	struct scene *s = *state;

	scene_open(s, "E", 5, true);
	stream_ack(s->stream, 3);
	(void)scene_hello(s);
	stream_ack(s->stream, 4);
	scene_settle(s);
	assert_string_equal(scene_written(s), "");
	scene_say(s, "{'type':'welcome','epoch':'E','acked':0}");
	assert_string_equal(scene_written(s), ACK(4));
	events(s, 6, 9);
	stream_ack(s->stream, 6);
	stream_ack(s->stream, 8);
	stream_ack(s->stream, 7);
	scene_settle(s);
	assert_string_equal(scene_written(s), ACK(8));
	stream_ack(s->stream, 8);
	stream_ack(s->stream, 2);
	scene_settle(s);
	assert_string_equal(scene_written(s), "");
}

/* Only an ack that the server does not know of is repeated. */
static void
test_acks_after_a_break(void **state)
{
	struct scene *s = *state;

	scene_open(s, "", -1, true);
	scene_welcome(s, "E", 0);
	(void)scene_written(s);
	events(s, 1, 3);
	stream_ack(s->stream, 3);
	scene_settle(s);
	assert_string_equal(scene_written(s), ACK(3));
	scene_cut(s);
	scene_welcome(s, "E", 2);
	assert_string_equal(scene_written(s), ACK(3));
	scene_cut(s);
	scene_welcome(s, "E", 3);
	assert_string_equal(scene_written(s), "");
}

/* The server was restored while the stream ran: acks begin anew, as the cursor
 * does. */
static void
test_acks_in_a_new_epoch(void **state)
{
	static const char *const answers[] = {
	    "{'type':'welcome','epoch':'F','acked':0}",
	    "{'type':'error','re':1,'problem':{'status':410,"
	    "'code':'cursor_expired','epoch':'F'}}",
	    NULL, /* close code 4410 */
	};
	struct scene *s = *state;
	size_t i;

	for (i = 0; i < COUNT(answers); i++) {
		scene_again(s, "", -1, true);
		scene_welcome(s, "E", 0);
		events(s, 1, 5);
		stream_ack(s->stream, 5);
		scene_settle(s);
		scene_cut(s);
		(void)scene_told(s);
		(void)scene_hello(s);
		if (answers[i] != NULL)
			scene_say(s, "%s", answers[i]);
		else
			scene_end(s, 4410);
		assert_string_equal(scene_told(s), "new epoch; ");
		assert_int_equal(stream_seq(s->stream), 0);
		assert_string_equal(stream_epoch(s->stream), "");
		scene_welcome(s, "F", 0);
		/* The acks of the old epoch say nothing about this one. */
		assert_string_equal(scene_written(s), "");
		events(s, 1, 2);
		stream_ack(s->stream, 1);
		scene_settle(s);
		assert_string_equal(scene_written(s), ACK(1));
		stream_ack(s->stream, 2);
		scene_settle(s);
		assert_string_equal(scene_written(s), ACK(2));
		assert_string_equal(
		    scene_told(s), "welcome; event 1; event 2; ");
	}
}

/* ---- the end ---- */

static void
test_finish(void **state)
{
	struct scene *s = *state;

	scene_open(s, "", -1, true);
	scene_welcome(s, "E", 0);
	(void)scene_told(s);
	(void)scene_written(s);
	assert_int_equal(send_body(s, "last"), 2);
	stream_ack(s->stream, 4);
	stream_finish(s->stream);
	stream_finish(s->stream);
	assert_int_equal(send_body(s, "too late"), 0);
	assert_string_equal(scene_told(s), "");
	scene_settle(s);
	assert_string_equal(scene_written(s), SEND(2, "last") ACK(4));
	assert_int_equal(s->closed_with, 1000);
	assert_string_equal(scene_told(s), "ended well; ");
	assert_int_equal(scene_timer_ms(s), -1);
	stream_finish(s->stream);
	assert_string_equal(scene_told(s), "");
}

static void
test_finish_without_connection(void **state)
{
	struct scene *s = *state;

	scene_open(s, "", -1, true);
	stream_finish(s->stream);
	assert_string_equal(scene_told(s), "ended well; ");
	assert_int_equal(scene_timer_ms(s), -1);
	scene_again(s, "", -1, true);
	scene_timer(s);
	stream_finish(s->stream);
	assert_string_equal(scene_told(s), "ended well; ");
}

/* A connection that accepts no frames delays the end by a second. */
static void
test_finish_blocked(void **state)
{
	struct scene *s = *state;

	scene_open(s, "", -1, true);
	scene_welcome(s, "E", 0);
	(void)scene_told(s);
	s->blocked = true;
	assert_int_equal(send_body(s, "last"), 2);
	stream_finish(s->stream);
	assert_int_equal(scene_timer_ms(s), 1000);
	scene_timer(s);
	assert_string_equal(scene_told(s), "ended well; ");
}

/* Events that come meanwhile do not prolong this second. */
static void
test_finish_blocked_while_events_come(void **state)
{
	struct scene *s = *state;

	scene_open(s, "", -1, true);
	scene_welcome(s, "E", 0);
	s->blocked = true;
	assert_int_equal(send_body(s, "last"), 2);
	stream_finish(s->stream);
	events(s, 1, 1);
	(void)scene_told(s);
	assert_int_equal(scene_timer_ms(s), 1000);
	scene_timer(s);
	assert_string_equal(scene_told(s), "ended well; ");
}

/* The stream is finished while it connects.  The server's answer arrives before
 * the program has left its loop, and is ignored. */
static void
test_finish_before_the_answer(void **state)
{
	struct scene *s = *state;

	scene_open(s, "", -1, true);
	scene_timer(s);
	stream_finish(s->stream);
	assert_string_equal(scene_told(s), "ended well; ");
	scene_accept(s);
	assert_int_equal(stream_state(s->stream), STREAM_ENDED);
	assert_string_equal(scene_told(s), "");
	assert_string_equal(scene_written(s), "");
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, scene_set_up, scene_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_backoff_grows),
	    TEST(test_backoff_after_a_stable_connection),
	    TEST(test_backoff_after_an_unstable_connection),
	    TEST(test_backoff_without_welcome),
	    TEST(test_retry_after),
	    TEST(test_at_once_is_no_failure),
	    TEST(test_address),
	    TEST(test_refused_connections),
	    TEST(test_fails_at_once),
	    TEST(test_patience),
	    TEST(test_close_codes),
	    TEST(test_pieces),
	    TEST(test_endless_frame),
	    TEST(test_queue),
	    TEST(test_queue_goes_with_its_connection),
	    TEST(test_write_fails),
	    TEST(test_acks),
	    TEST(test_acks_after_a_break),
	    TEST(test_acks_in_a_new_epoch),
	    TEST(test_finish),
	    TEST(test_finish_without_connection),
	    TEST(test_finish_blocked),
	    TEST(test_finish_blocked_while_events_come),
	    TEST(test_finish_before_the_answer),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
