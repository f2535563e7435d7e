/* SPDX-License-Identifier: MIT */
/*
 * Reading from clients: pings and silence, limits on frames and on queued
 * answers, deadlines of handshakes.
 */
#include <ctype.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit/push_fixture.h"

#define PING "{\"type\":\"ping\"}"
#define WS_PING 0x89
#define WS_PONG 0x8a

/* The number of frames that the client got; all must be ${word}. */
static int
count(struct lws *c, const char *word)
{
	const char *p = c->frames;
	int n = 0;

	for (; *p != '\0'; p += strlen(word), n++) {
		if (*p == ' ')
			p++;
		assert_memory_equal(p, word, strlen(word));
	}
	assert_frames(c, c->frames);
	return (n);
}

/* ---- pings and silence ---- */

static void
test_ping_when_quiet(void **state)
{
	struct lws *a;

	(void)state;
	a = client_open("u1d1", "");
	a->mute = true;
	pass(times.push_ping_ms - 1);
	assert_frames(a, "");
	pass(1);
	assert_frames(a, "PING");
	/* One ping, until the client sends anything. */
	pass(times.push_silence_ms - times.push_ping_ms - 1);
	assert_frames(a, "");
	say_frame(a, WS_PONG, "");
	pass(times.push_ping_ms - 1);
	assert_frames(a, "");
	pass(1);
	assert_frames(a, "PING");
	/* Any frame counts as an answer. */
	say(a, PING);
	assert_frames(a, "pong");
	pass(times.push_ping_ms - 1);
	assert_frames(a, "");
}

static void
test_silence(void **state)
{
	struct lws *a, *b;

	(void)state;
	a = client_open("u1d1", "");
	b = client_open("u1d2", "");
	a->mute = true;
	pass(times.push_silence_ms - 1);
	assert_frames(a, "PING");
	pass(1);
	assert_frames(a, "CLOSE:4408");
	pass(times.push_silence_ms);
	assert_frames(a, "END");
	assert_frames(b, "");
}

/* A ping that is due while the socket is full is written when the socket is
 * writable again. */
static void
test_ping_waits_for_the_socket(void **state)
{
	struct lws *a;

	(void)state;
	a = client_open("u1d1", "");
	a->mute = true;
	a->full = true;
	pass(times.push_ping_ms);
	a->full = false;
	turn();
	pass(1);
	assert_frames(a, "PING");
	pass(times.push_silence_ms - times.push_ping_ms - 2);
	assert_frames(a, "");
	pass(1);
	assert_frames(a, "CLOSE:4408");
}

/* The server does not read a client that leaves its answers unread.  Silence
 * counts from the moment when the server reads again. */
static void
test_silence_after_a_pause(void **state)
{
	struct lws *a;

	(void)state;
	a = client_open("u1d1", "");
	a->mute = true;
	a->full = true;
	say(a, PING);
	assert_true(session_of(a)->rx.paused);
	pass(times.push_silence_ms + 5000);
	a->full = false;
	turn();
	assert_frames(a, "pong");
	pass(times.push_ping_ms - 1);
	assert_frames(a, "");
	pass(1);
	assert_frames(a, "PING");
	pass(times.push_silence_ms - times.push_ping_ms);
	assert_frames(a, "CLOSE:4408");
}

/* A pong has the payload of its ping.  While the socket is full, only the last
 * pong waits. */
static void
test_pongs(void **state)
{
	struct lws *a;

	(void)state;
	a = client_open("u1d1", "");
	say_frame(a, WS_PING, "one");
	say_frame(a, WS_PING, "");
	assert_frames(a, "PONG:one PONG:");
	a->full = true;
	say_frame(a, WS_PING, "two");
	say_frame(a, WS_PING, "three");
	assert_frames(a, "");
	a->full = false;
	turn();
	assert_frames(a, "PONG:three");
	a->full = true;
	arrive(1);
	a->full = false;
	turn();
	jobs_run();
	assert_frames(a, "event=1");
}

/* ---- limits ---- */

/* Control frames have a burst and a rate. */
static void
test_control_frames(void **state)
{
	struct lws *a, *b, *c;
	int i;

	(void)state;
	a = client_open("u1d1", "");
	b = client_open("u1d2", "");
	c = client_open("u1d3", "");
	a->mute = b->mute = true;
	for (i = 0; i < CONTROL_BURST; i++) {
		say_frame(a, WS_PING, "x");
		say_frame(b, i % 2 == 0 ? WS_PING : WS_PONG, "x");
	}
	assert_int_equal(count(a, "PONG:x"), CONTROL_BURST);
	assert_int_equal(count(b, "PONG:x"), CONTROL_BURST / 2);
	say_frame(b, WS_PONG, "x");
	assert_frames(b, "CLOSE:4429");
	pass(1000);
	for (i = 0; i < CONTROL_RATE; i++)
		say_frame(a, WS_PING, "x");
	assert_int_equal(count(a, "PONG:x"), CONTROL_RATE);
	/* Credit does not grow beyond the burst. */
	pass(20000);
	for (i = 0; i < CONTROL_BURST; i++)
		say_frame(a, WS_PING, "x");
	assert_int_equal(count(a, "PONG:x"), CONTROL_BURST);
	say_frame(a, WS_PING, "x");
	assert_frames(a, "CLOSE:4429");
	assert_frames(c, "");
}

/* A client over its pace is not closed; the server stops reading it for some
 * time. */
static void
test_pace(void **state)
{
	struct lws *a, *b;

	(void)state;
	scene->push->options.rate_limit = 1;
	a = client_open("u1d1", "");
	b = client_open("u1d2", "");
	a->mute = true;
	say_often(a, PING, 3 * PACE_FACTOR);
	assert_int_equal(count(a, "pong"), 3 * PACE_FACTOR);
	say(a, PING);
	say(b, PING);
	assert_frames(a, "");
	assert_frames(b, "pong");
	pass(1000);
	assert_frames(a, "");
	pass(2000);
	assert_frames(a, "pong");
	/* Credit does not grow while the client is idle. */
	pass(20000);
	say_often(a, PING, 3 * PACE_FACTOR);
	assert_int_equal(count(a, "pong"), 3 * PACE_FACTOR);
	say(a, PING);
	pass(1000);
	assert_frames(a, "");
	pass(2000);
	assert_frames(a, "pong");
}

/* The pace counts bytes as well as frames. */
static void
test_pace_of_bytes(void **state)
{
	char text[4096];
	struct lws *a;
	int i;

	(void)state;
	scene->push->options.rate_limit = 1;
	a = client_open("u1d1", "");
	a->mute = true;
	pass(1000);
	(void)snprintf(text, sizeof(text), "{\"type\":\"ping\"%*s}", 4000, "");
	for (i = 0; i < PACE_FACTOR / 4; i++)
		say(a, text);
	assert_int_equal(count(a, "pong"), PACE_FACTOR / 4);
	say(a, PING);
	assert_frames(a, "");
	pass(1000);
	assert_frames(a, "pong");
}

/* The server stops reading a client that leaves its answers unread, and does
 * not close it as silent. */
static void
test_answers_wait(void **state)
{
	struct lws *a;

	(void)state;
	a = client_open("u1d1", "");
	a->mute = true;
	a->full = true;
	say(a, "{\"type\":\"ping\",\"id\":1}");
	say(a, "{\"type\":\"ping\",\"id\":2}");
	assert_int_equal(session_of(a)->tx.nframes, 1);
	pass(times.push_stuck_ms - 1000);
	assert_true(session_is_open(session_of(a)));
	a->full = false;
	turn();
	assert_frames(a, "pong=1 pong=2");
}

/* An event does not overtake queued answers. */
static void
test_answers_go_first(void **state)
{
	struct lws *a;

	(void)state;
	a = client_open("u1d1", "");
	scene->push->batch_bytes = 1; /* each frame is a write */
	a->full = true;
	say_often(a, PING, 3);
	/* The socket has room, and the effects arrive before the writable
	 * callback. */
	a->takes = 1;
	a->full = false;
	arrive(1);
	jobs_run();
	assert_frames(a, "pong");
	a->takes = 2;
	a->full = false;
	turn();
	jobs_run();
	assert_frames(a, "pong pong");
	a->full = false;
	turn();
	jobs_run();
	assert_frames(a, "event=1");
}

static void
reply(struct session *s, size_t n)
{
	struct buf *b = push_frame_begin(s->push);

	buf_adds(b, "{\"type\":\"pong\",\"pad\":\"");
	while (n-- > 0)
		buf_addc(b, 'x');
	buf_adds(b, "\"}");
	session_reply(s);
}

/* The queue of answers is limited in frames and in bytes. */
static void
test_answers_have_limits(void **state)
{
	struct lws *a;
	int i;

	(void)state;
	a = client_open("u1d1", "");
	a->full = true;
	for (i = 0; i < OUT_FRAMES; i++)
		reply(session_of(a), 0);
	assert_true(session_is_open(session_of(a)));
	reply(session_of(a), 0);
	assert_int_equal(session_of(a)->close.code, 1013);
	a = client_open("u1d2", "");
	a->full = true;
	for (i = 0; i < 4; i++)
		reply(session_of(a), OUT_BYTES / 4 - 64);
	assert_true(session_is_open(session_of(a)));
	reply(session_of(a), 300);
	assert_int_equal(session_of(a)->close.code, 1013);
	/* The queued answers are written once, before the close frame. */
	a->full = false;
	turn();
	assert_frames(a, "pong pong pong pong CLOSE:1013");
}

/* ---- handshakes ---- */

static int
arrive_silent(const char *text)
{
	const struct push_peer peer = {.address = "192.0.2.1"};
	ssize_t n = (ssize_t)strlen(text);
	int fds[2];

	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	assert_int_equal(send(fds[1], text, (size_t)n, MSG_NOSIGNAL), n);
	push_adopt(scene->push, fds[0], &peer);
	turn();
	return (fds[1]);
}

static void
assert_open(int fd)
{
	char c;

	assert_int_equal(recv(fd, &c, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
}

/* The end of the stream, or a reset because unread bytes were discarded. */
static void
assert_closed(int fd)
{
	char c;

	if (recv(fd, &c, 1, MSG_DONTWAIT) != 0)
		assert_int_equal(errno, ECONNRESET);
	(void)close(fd);
}

static void
test_arrival_deadline(void **state)
{
	int silent, half, late;

	(void)state;
	silent = arrive_silent("");
	half = arrive_silent("GET /v1/ws HTTP/1.1\r\n");
	pass(times.push_arrival_ms - 1);
	assert_open(silent);
	assert_open(half);
	late = arrive_silent("");
	pass(1);
	assert_closed(silent);
	assert_closed(half);
	assert_open(late);
	assert_int_equal(metrics_get(scene->metrics, METRIC_HTTP_DEADLINES), 2);
	(void)close(late);
	turn();
}

static const char head[] = "GET /v1/ws HTTP/1.1\r\nHost: localhost\r\n"
			   "Connection: Upgrade\r\nUpgrade: websocket\r\n"
			   "Sec-WebSocket-Version: 13\r\n"
			   "Sec-WebSocket-Protocol: twinbox.v1\r\n"
			   "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
			   "\r\n";

/* Returns the answer that the client got, with # for each hexadecimal digit of
 * an id. */
static const char *
answer_to(int fd)
{
	static char answer[2048];
	char *at;
	ssize_t n;

	n = recv(fd, answer, sizeof(answer) - 1, MSG_DONTWAIT);
	assert_true(n >= 0);
	answer[n] = '\0';
	for (at = answer; (at = strstr(at, "018bcfe5")) != NULL;)
		while (isxdigit((unsigned char)*at) || *at == '-')
			*at++ = '#';
	return (answer);
}

#define ID "####################################"
#define REFUSAL(status, retry, length, body)                                   \
	"HTTP/1.1 " status "\r\nContent-Type: application/problem+json\r\n"    \
	"Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"       \
	"Sec-WebSocket-Version: 13\r\n" retry "X-Request-Id: " ID "\r\n"       \
	"Connection: close\r\nContent-Length: " length "\r\n\r\n" body "\n"

/* At the limit of sessions a handshake gets 503 with a Retry-After. */
static void
test_session_limit(void **state)
{
	struct lws *a;
	int fd;

	(void)state;
	scene->push->options.session_limit = 1;
	a = client_open("u1d1", "");
	fd = arrive_silent(head);
	assert_ptr_equal(library_newest(), a);
	assert_string_equal(answer_to(fd),
	    REFUSAL("503 The server is busy", "Retry-After: 1\r\n", "225",
		"{\"type\":\"/problems/busy\",\"title\":\"The server is "
		"busy\",\"status\":503,\"detail\":\"as many WebSockets are "
		"open as there may be\",\"instance\":\"/v1/ws\",\"code\":"
		"\"busy\",\"request_id\":\"" ID "\",\"retry_after\":1}"));
	(void)close(fd);
	turn();
	hang_up(a);
	(void)client_open("u1d1", "");
}

/* A handshake may come in parts. */
static void
test_handshake_in_parts(void **state)
{
	ssize_t rest;
	char first[65];
	int fd;

	(void)state;
	memcpy(first, head, sizeof(first) - 1);
	first[sizeof(first) - 1] = '\0';
	fd = arrive_silent(first);
	assert_null(library_newest());
	rest = (ssize_t)(strlen(head) - strlen(first));
	assert_int_equal(
	    send(fd, head + strlen(first), (size_t)rest, MSG_NOSIGNAL), rest);
	turn();
	assert_non_null(library_newest());
	assert_int_equal(scene->push->narrivals, 0);
	(void)close(fd);
	turn();
}

/* A server that is stopping accepts no session. */
static void
test_handshake_while_draining(void **state)
{
	int fd;

	(void)state;
	push_drain(scene->push);
	turn();
	(void)uv_timer_stop(&scene->push->timer);
	fd = arrive_silent(head);
	assert_string_equal(answer_to(fd),
	    REFUSAL("503 The server is stopping", "Retry-After: 1\r\n", "216",
		"{\"type\":\"/problems/draining\",\"title\":\"The server is "
		"stopping\",\"status\":503,\"detail\":\"the server is "
		"stopping\",\"instance\":\"/v1/ws\",\"code\":\"draining\","
		"\"request_id\":\"" ID "\",\"retry_after\":1}"));
	(void)close(fd);
	turn();
}

/* A handshake with an error gets its answer.  The server goes on reading for a
 * moment, so that a client that is still sending gets the answer before the
 * connection is reset. */
static void
test_bad_handshake(void **state)
{
	char junk[1024];
	int bad, silent, talks, i;

	(void)state;
	bad = arrive_silent("GET /v1/ws HTTP/1.1\r\nHost: localhost\r\n\r\n");
	assert_string_equal(answer_to(bad),
	    REFUSAL("400 Bad request", "", "214",
		"{\"type\":\"/problems/bad-request\",\"title\":\"Bad "
		"request\",\"status\":400,\"detail\":\"only a "
		"WebSocket upgrade is answered here\",\"instance\":"
		"\"/v1/ws\",\"code\":\"bad_request\",\"request_id\":\"" ID
		"\"}"));
	(void)close(bad);
	turn();
	silent = arrive_silent("POST /v1/ws HTTP/1.1\r\n\r\n");
	talks = arrive_silent("POST /v1/ws HTTP/1.1\r\n\r\n");
	assert_non_null(
	    strstr(answer_to(silent), "\"a WebSocket upgrade is a GET\""));
	assert_int_equal(scene->push->narrivals, 2);
	memset(junk, 'x', sizeof(junk));
	for (i = 0; scene->push->narrivals == 2; i++) {
		assert_true(i < 2000);
		assert_true(send(talks, junk, sizeof(junk), MSG_NOSIGNAL) > 0);
		turn();
	}
	pass(times.push_linger_ms - 1);
	assert_int_equal(scene->push->narrivals, 1);
	pass(1);
	assert_int_equal(scene->push->narrivals, 0);
	assert_int_equal(metrics_get(scene->metrics, METRIC_HTTP_DEADLINES), 0);
	assert_int_equal(metrics_get(scene->metrics, METRIC_WS_REFUSED), 3);
	(void)close(silent);
	(void)close(talks);
}

/* A client that closes before it has sent a byte does not count as refused. */
static void
test_closes_before_handshake(void **state)
{

	(void)state;
	(void)close(arrive_silent(""));
	turn();
	assert_int_equal(scene->push->narrivals, 0);
	assert_int_equal(metrics_get(scene->metrics, METRIC_WS_REFUSED), 0);
}

/* If there are too many unfinished handshakes, the oldest one is cut. */
static void
test_most_arrivals(void **state)
{
	static int fds[ARRIVALS_MAX + 1];
	int i;

	(void)state;
	for (i = 0; i < ARRIVALS_MAX; i++)
		fds[i] = arrive_silent("");
	assert_open(fds[0]);
	fds[ARRIVALS_MAX] = arrive_silent("");
	assert_closed(fds[0]);
	for (i = 1; i <= ARRIVALS_MAX; i++) {
		assert_open(fds[i]);
		(void)close(fds[i]);
	}
	/* One turn accepts only some of them. */
	for (i = 0; i < 8; i++)
		turn();
	assert_int_equal(scene->push->narrivals, 0);
}

/* libuv ends the program if its table cannot grow later, so it has its size
 * from the start. */
static void
test_table_of_descriptors(void **state)
{

	(void)state;
	assert_true(scene->push->loop.nwatchers >= 500);
}

#define T(test)                                                                \
	cmocka_unit_test_setup_teardown(test, scene_set_up, scene_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    T(test_ping_when_quiet),
	    T(test_silence),
	    T(test_ping_waits_for_the_socket),
	    T(test_silence_after_a_pause),
	    T(test_pongs),
	    T(test_control_frames),
	    T(test_pace),
	    T(test_pace_of_bytes),
	    T(test_answers_wait),
	    T(test_answers_go_first),
	    T(test_answers_have_limits),
	    T(test_arrival_deadline),
	    T(test_session_limit),
	    T(test_table_of_descriptors),
	    T(test_handshake_in_parts),
	    T(test_handshake_while_draining),
	    T(test_bad_handshake),
	    T(test_closes_before_handshake),
	    T(test_most_arrivals),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
