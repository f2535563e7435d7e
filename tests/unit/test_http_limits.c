/* SPDX-License-Identifier: MIT */
/*
 * Situations that an HTTP server must survive: slow clients, clients that go
 * away, too many connections, no descriptors; and how it waits, drains and
 * stops.
 */
#include "http_fixture.h"

#include <netinet/in.h>

#include <sys/resource.h>
#include <sys/socket.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "http_leap.h"

/* Every connection is checked once in this time. */
#define LOOK_MS (REQUEST_DEADLINE_MS / 8 + 1)

#define LIMIT 40 /* connections */

static struct fixture f;
static struct reply r;

static void
await(enum metric metric, int64_t want)
{

	AWAIT(metrics_get(f.metrics, metric) == want);
}

/* libmicrohttpd can miss the end of a connection; the next check of the
 * connection finds it.  Less than a deadline passes here. */
static void
await_no_connections(void)
{
	int looks, ms;

	for (looks = 0; looks < 6; looks++) {
		for (ms = 0; ms < 50; ms++) {
			if (metrics_get(f.metrics, METRIC_HTTP_CONNECTIONS) ==
			    0)
				return;
			(void)usleep(1000);
		}
		fixture_leap(&f, LOOK_MS);
	}
	await(METRIC_HTTP_CONNECTIONS, 0);
}

/* ---- deadlines ---- */

/* The server must cut each of the ${n} clients when its deadline is over, and
 * not a minute before, although a byte comes from time to time. */
static void
assert_cut(const int *fds, size_t n)
{
	int64_t passed;
	size_t i;

	for (passed = 0; passed < REQUEST_DEADLINE_MS - MINUTE_MS;
	     passed += 10 * MINUTE_MS) {
		for (i = 0; i < n; i++)
			if (client_is_closed(fds[i]))
				fail_msg("%zu: cut after %lld minutes", i,
				    (long long)(passed / MINUTE_MS));
		for (i = 0; i < n; i++)
			client_send(fds[i], "a");
		for (i = 0; i < n; i++)
			client_arrived(fds[i]);
		fixture_turn(&f);
		fixture_leap(&f, passed + 10 * MINUTE_MS < REQUEST_DEADLINE_MS
				     ? 10 * MINUTE_MS
				     : 9 * MINUTE_MS);
	}
	for (i = 0; i < n; i++)
		assert_false(client_is_closed(fds[i]));
	fixture_leap(&f, MINUTE_MS + LOOK_MS);
	for (i = 0; i < n; i++) {
		if (!client_closed(fds[i]))
			fail_msg("%zu: not cut", i);
		client_close(fds[i]);
	}
}

static void
test_trickle(void **state)
{
	static const char *const begins[] = {"G", "GET /hel",
	    "GET /hello HTTP/1.1\r\n", "GET /hello HTTP/1.1\r\n" HOST "X-A: ",
	    "POST /echo HTTP/1.1\r\n" HOST "Content-Type: application/json\r\n"
	    "Content-Length: 1000\r\n\r\n"};
	int64_t cuts = metrics_get(f.metrics, METRIC_HTTP_DEADLINES);
	size_t i, n = sizeof(begins) / sizeof(begins[0]);
	int fds[8], handled = atomic_load(&f.handled);

	(void)state;
	for (i = 0; i < n; i++) {
		fds[i] = client_open(&f);
		client_send(fds[i], begins[i]);
	}
	for (i = 0; i < n; i++)
		client_arrived(fds[i]);
	fds[n++] =
	    client_open(&f); /* its first byte is the one that trickles */
	fixture_turn(&f);
	assert_cut(fds, n);
	await(METRIC_HTTP_DEADLINES, cuts + (int64_t)n);
	assert_int_equal(atomic_load(&f.handled), handled);
}

/* On a kept connection libmicrohttpd does not report the first bytes. */
static void
test_trickle_kept_alive(void **state)
{
	int64_t cuts = metrics_get(f.metrics, METRIC_HTTP_DEADLINES);
	int fd;

	(void)state;
	fd = client_open(&f);
	client_send(fd, GET("/hello"));
	client_read(fd, &r, 0);
	fixture_leap(&f, MINUTE_MS);
	client_send(fd, "GET /hel");
	client_arrived(fd);
	/* The deadline runs from the check that finds them. */
	fixture_leap(&f, LOOK_MS);
	assert_cut(&fd, 1);
	fd = client_open(&f);
	client_send(fd, GET("/hello"));
	client_read(fd, &r, 0);
	client_send(fd, "GET /hello HTTP/1.1\r\n" HOST "X-A: ");
	client_arrived(fd);
	fixture_turn(&f);
	assert_cut(&fd, 1);
	await(METRIC_HTTP_DEADLINES, cuts + 2);
}

static void
test_silent(void **state)
{
	int fd = client_open(&f);

	(void)state;
	fixture_turn(&f);
	fixture_leap(&f, REQUEST_DEADLINE_MS - MINUTE_MS);
	assert_false(client_is_closed(fd));
	fixture_leap(&f, MINUTE_MS);
	assert_true(client_closed(fd));
	client_close(fd);
}

/* Returns when the server has freed the request, too. */
static void
ask_hello(int fd)
{
	int freed = atomic_load(&f.freed);

	client_send(fd, GET("/hello"));
	client_read(fd, &r, 0);
	assert_int_equal(r.status, 200);
	AWAIT(atomic_load(&f.freed) == freed + 1);
}

static void
test_idle(void **state)
{
	int fd = client_open(&f);

	(void)state;
	ask_hello(fd);
	/* A check finds that no byte has come since. */
	fixture_leap(&f, LOOK_MS);
	fixture_leap(&f, REQUEST_DEADLINE_MS + LOOK_MS);
	ask_hello(fd);
	fixture_leap(&f, IDLE_DEADLINE_MS - MINUTE_MS);
	assert_false(client_is_closed(fd));
	fixture_leap(&f, MINUTE_MS + LOOK_MS);
	assert_true(client_closed(fd));
	client_close(fd);
}

/* A client that does not read its answer. */
static void
test_unread(void **state)
{
	int64_t cuts = metrics_get(f.metrics, METRIC_HTTP_DEADLINES), passed;
	int fd = client_open(&f), handled = atomic_load(&f.handled);

	(void)state;
	/* More than the buffers of the sockets hold. */
	client_send(fd, GET("/big?mb=16"));
	AWAIT(atomic_load(&f.handled) > handled);
	for (passed = 0; metrics_get(f.metrics, METRIC_HTTP_DEADLINES) == cuts;
	     passed += 10 * MINUTE_MS) {
		assert_true(passed < 2 * IDLE_DEADLINE_MS);
		fixture_leap(&f, 10 * MINUTE_MS);
	}
	assert_true(passed >= IDLE_DEADLINE_MS);
	assert_int_equal(
	    metrics_get(f.metrics, METRIC_HTTP_DEADLINES), cuts + 1);
	client_close(fd);
}

/* ---- waiting ---- */

static void
test_poll(void **state)
{
	int fd = client_open(&f), i;

	(void)state;
	/* The first request puts the connection into the loop for long-polls,
	 * where it is kept alive.  A long-poll may take longer than the request
	 * deadline. */
	for (i = 0; i < 3; i++) {
		client_send(fd, i == 0 ? GET("/poll?wait=7200000")
				       : GET("/poll?wait=7200000&later=1"));
		await(METRIC_LONG_POLLS, 1);
		fixture_leap(&f, 2 * HOUR_MS - MINUTE_MS);
		assert_int_equal(metrics_get(f.metrics, METRIC_LONG_POLLS), 1);
		fixture_leap(&f, MINUTE_MS);
		client_read(fd, &r, 0);
		assert_string_equal(r.body, "woken");
		assert_null(reply_header(&r, "Connection"));
	}
	client_send(fd, GET("/hello"));
	client_read(fd, &r, 0);
	assert_int_equal(r.status, 200);
	client_close(fd);
	/* In another loop the connection ends after a long-poll, so that the
	 * next connection of the client gets into the right one. */
	fd = client_open(&f);
	client_send(fd, GET("/hello"));
	client_read(fd, &r, 0);
	client_send(fd, GET("/poll?wait=30"));
	client_read(fd, &r, 0);
	assert_string_equal(r.body, "woken");
	assert_string_equal(reply_header(&r, "Connection"), "close");
	client_close(fd);
	assert_int_equal(atomic_load(&f.early), 0);
}

static void
test_many_polls(void **state)
{
	char text[80];
	int fds[30], i, left = 0;

	(void)state;
	for (i = 0; i < 30; i++) {
		fds[i] = client_open(&f);
		(void)snprintf(text, sizeof(text),
		    "GET /poll?wait=%d HTTP/1.1\r\n" HOST "\r\n",
		    (1 + (i * 37) % 100) * 10 * MINUTE_MS);
		client_send(fds[i], text);
		left += (i * 37) % 100 >= 50;
	}
	await(METRIC_LONG_POLLS, 30);
	fixture_leap(&f, 505 * MINUTE_MS);
	assert_int_equal(metrics_get(f.metrics, METRIC_LONG_POLLS), left);
	fixture_leap(&f, 500 * MINUTE_MS);
	for (i = 0; i < 30; i++) {
		client_read(fds[i], &r, 0);
		assert_string_equal(r.body, "woken");
		client_close(fds[i]);
	}
	assert_int_equal(atomic_load(&f.early), 0);
	await(METRIC_LONG_POLLS, 0);
}

/* The server notices at once that the client has gone, not when the wait is
 * over. */
static void
test_client_gone(void **state)
{
	int fd = client_open(&f);

	(void)state;
	client_send(fd, GET("/poll?wait=3600000"));
	await(METRIC_LONG_POLLS, 1);
	assert_int_equal(atomic_load(&f.early), 0);
	client_close(fd);
	await(METRIC_LONG_POLLS, 0);
	await_no_connections();
	assert_int_equal(atomic_load(&f.early), 1);
	atomic_store(&f.early, 0);
}

/* A client that has closed its writing side still gets its answer. */
static void
test_half_closed(void **state)
{
	static const char *const asks[] = {GET("/hello"), GET("/later"),
	    GET("/hold"), GET("/poll?wait=3600000")};
	static const char *const bodies[] = {
	    "{\"hello\":\"world\"}\n", "later", "released", "woken"};
	int fd, many[30];
	size_t i;

	(void)state;
	for (i = 0; i < 4; i++) {
		fd = client_open(&f);
		client_send(fd, asks[i]);
		assert_int_equal(shutdown(fd, SHUT_WR), 0);
		fixture_turn(&f); /* the server has seen that end */
		if (i == 2)
			fixture_release(&f);
		client_read(fd, &r, 0);
		if (r.status != 200 || strcmp(r.body, bodies[i]) != 0)
			fail_msg("%s: %d %s", asks[i], r.status, r.body);
		assert_non_null(reply_header(&r, "X-Request-Id"));
		fixture_leap(&f, LOOK_MS);
		assert_true(client_closed(fd));
		client_close(fd);
	}
	/* If several are answered at once, libmicrohttpd gives them up. */
	for (i = 0; i < 30; i++) {
		many[i] = client_open(&f);
		client_send(many[i], GET("/later"));
		assert_int_equal(shutdown(many[i], SHUT_WR), 0);
	}
	for (i = 0; i < 30; i++) {
		client_read(many[i], &r, 0);
		assert_int_equal(r.status, 200);
		assert_string_equal(r.body, "later");
		assert_string_equal(reply_header(&r, "Content-Type"),
		    "text/plain; "
		    "charset=utf-8");
		assert_non_null(reply_header(&r, "X-Thread"));
		assert_string_equal(
		    reply_header(&r, "Cache-Control"), "no-store");
		client_close(many[i]);
	}
	await_no_connections();
	atomic_store(&f.early, 0);
}

/* A client that has gone before its answer comes. */
static void
test_gone_before_answer(void **state)
{
	const struct linger reset = {.l_onoff = 1, .l_linger = 0};
	int fd, i;

	(void)state;
	for (i = 0; i < 2; i++) {
		fd = client_open(&f);
		client_send(fd, GET("/hold"));
		AWAIT(atomic_load(&f.held) != NULL);
		if (i == 1)
			(void)setsockopt(
			    fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		client_close(fd);
		fixture_turn(&f); /* the server has seen that end */
		fixture_release(&f);
		await_no_connections();
	}
	assert_int_equal(http_pending(f.http), 0);
}

/* ---- limits ---- */

static void
test_connection_limit(void **state)
{
	int fds[LIMIT], i;

	(void)state;
	await_no_connections();
	for (i = 0; i < LIMIT; i++) {
		fds[i] = client_open(&f);
		client_send(fds[i], GET("/hello"));
		client_read(fds[i], &r, 0);
		assert_int_equal(r.status, 200);
	}
	assert_int_equal(ask(&f, "", &r, NULL), 503);
	assert_string_equal(reply_header(&r, "Retry-After"), "1");
	assert_non_null(strstr(r.body, "\"code\":\"busy\""));
	client_send(fds[7], GET("/hello"));
	client_read(fds[7], &r, 0);
	assert_int_equal(r.status, 200);
	for (i = 0; i < LIMIT; i++)
		client_close(fds[i]);
	await_no_connections();
	assert_int_equal(ask(&f, GET("/hello"), &r, NULL), 200);
}

/* The server has no descriptor left: clients are closed and do not hang, and no
 * thread spins. */
static void
test_no_descriptors(void **state)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct rlimit old, low;
	int fds[60], i, top = 0;

	(void)state;
	await_no_connections();
	in.sin_port = htons((uint16_t)f.port);
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (i = 0; i < 60; i++) {
		fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		assert_true(fds[i] >= 0);
		top = (fds[i] > top) ? fds[i] : top;
	}
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	low = old;
	low.rlim_cur = (rlim_t)top + 1;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	for (i = 0; i < 60; i++)
		assert_int_equal(
		    connect(fds[i], (struct sockaddr *)&in, sizeof(in)), 0);
	for (i = 0; i < 60; i++)
		assert_true(client_closed(fds[i]));
	assert_true(leap_is_quiet());
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	for (i = 0; i < 60; i++)
		client_close(fds[i]);
	/* The server accepts again after the pause. */
	fixture_leap(&f, f.timing.http_accept_pause_ms);
}

/* A server whose clients all wait does not run. */
static void
test_quiet(void **state)
{
	int fds[4], i;

	(void)state;
	for (i = 0; i < 3; i++)
		fds[i] = client_open(&f);
	client_send(fds[0], "GET /hel");
	client_send(fds[1], GET("/hold"));
	client_send(fds[2], GET("/poll?wait=3600000"));
	AWAIT(atomic_load(&f.held) != NULL);
	await(METRIC_LONG_POLLS, 1);
	assert_true(leap_is_quiet());
	fixture_release(&f);
	for (i = 0; i < 3; i++)
		client_close(fds[i]);
	await_no_connections();
	atomic_store(&f.early, 0);
}

/* ---- draining and stopping; each has a server of its own ---- */

/* Returns whether the port is closed.  The front's thread closes the listening
 * socket soon after it was woken. */
static bool
nobody_listens(void)
{
	int fd = -1, i;

	for (i = 0; i < 20000 && (fd = client_open(&f)) >= 0; i++) {
		client_close(fd);
		(void)usleep(1000);
	}
	return (fd < 0);
}

static void
test_drain(void **state)
{
	int hold, poll, kept, waits, late, partial, upload;
	int64_t start;

	(void)state;
	hold = client_open(&f);
	poll = client_open(&f);
	kept = client_open(&f);
	waits = client_open(&f);
	late = client_open(&f);
	partial = client_open(&f);
	upload = client_open(&f);
	client_send(kept, GET("/hello"));
	client_read(kept, &r, 0);
	client_send(waits, GET("/hello"));
	client_read(waits, &r, 0);
	client_send(late, GET("/hello"));
	client_read(late, &r, 0);
	client_send(hold, GET("/hold"));
	client_send(poll, GET("/poll?wait=60000"));
	client_send(partial, "GET /hello HTTP/1.1\r\n");
	client_send(upload,
	    "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 2\r\n"
	    "Content-Type: application/json\r\n\r\n{");
	await(METRIC_LONG_POLLS, 1);
	AWAIT(http_pending(f.http) == 3);
	http_drain(f.http);
	http_drain(f.http);
	/* Long-polls are woken and get their answer. */
	client_read(poll, &r, 0);
	assert_string_equal(r.body, "woken");
	assert_string_equal(reply_header(&r, "Connection"), "close");
	/* A long-poll that begins now waits for the requested time, whatever
	 * else happens meanwhile. */
	await(METRIC_LONG_POLLS, 0);
	start = clk_mono_ms(clk_system());
	client_send(waits, GET("/poll?wait=300"));
	await(METRIC_LONG_POLLS, 1);
	/* A request that has begun goes on. */
	client_send(upload, "}");
	client_read(upload, &r, 0);
	assert_string_equal(r.body, "{}");
	assert_string_equal(reply_header(&r, "Connection"), "close");
	/* A request that begins now on a kept connection is its last one. */
	client_send(kept, GET("/hello"));
	client_read(kept, &r, 0);
	assert_int_equal(r.status, 200);
	assert_string_equal(reply_header(&r, "Connection"), "close");
	assert_true(client_closed(kept));
	client_send(partial, HOST "\r\n");
	client_read(partial, &r, 0);
	assert_int_equal(r.status, 200);
	client_read(waits, &r, 0);
	assert_true(clk_mono_ms(clk_system()) - start >= 300);
	assert_true(nobody_listens());
	/* http_refuse() ends the time in which requests may still begin. */
	assert_true(http_connections(f.http) > 0);
	http_refuse(f.http);
	client_send(late, GET("/hello"));
	client_read(late, &r, 0);
	assert_int_equal(r.status, 503);
	assert_non_null(strstr(r.body, "\"code\":\"draining\""));
	assert_non_null(reply_header(&r, "Retry-After"));
	assert_true(client_closed(late));
	/* An answer arrives a moment before its request is freed. */
	AWAIT(http_pending(f.http) == 1);
	fixture_release(&f);
	client_read(hold, &r, 0);
	assert_string_equal(r.body, "released");
	assert_string_equal(reply_header(&r, "Connection"), "close");
	AWAIT(http_pending(f.http) == 0);
	client_close(hold);
	client_close(poll);
	client_close(kept);
	client_close(waits);
	client_close(late);
	client_close(partial);
	client_close(upload);
}

/* Descriptors from a number on are not for connections. */
static void
test_descriptors_of_ours(void **state)
{
	int fds[LIMIT], free_fd, i;

	(void)state;
	fixture_stop(&f);
	free_fd = dup(STDIN_FILENO);
	assert_true(free_fd >= 0);
	(void)close(free_fd);
	/* The server itself needs some of them. */
	fixture_descriptors = (size_t)free_fd + LIMIT;
	fixture_start(&f, 1, LIMIT);
	for (i = 0; i < LIMIT; i++) {
		fds[i] = client_open(&f);
		client_send(fds[i], GET("/hello"));
		client_read(fds[i], &r, 0);
		if (r.status != 200)
			break;
	}
	assert_in_range(i, 1, LIMIT / 2);
	assert_int_equal(r.status, 503);
	for (; i >= 0; i--)
		client_close(fds[i]);
	await_no_connections();
	assert_int_equal(ask(&f, GET("/hello"), &r, NULL), 200);
	fixture_stop(&f);
	fixture_descriptors = 0;
	fixture_start(&f, 1, LIMIT);
}

static void
test_stop(void **state)
{
	int hold, poll, idle, silent;

	(void)state;
	hold = client_open(&f);
	poll = client_open(&f);
	idle = client_open(&f);
	silent = client_open(&f);
	client_send(idle, GET("/hello"));
	client_read(idle, &r, 0);
	client_send(hold, GET("/hold"));
	client_send(poll, GET("/poll?wait=60000"));
	await(METRIC_LONG_POLLS, 1);
	AWAIT(http_pending(f.http) == 2);
	/* The stop does not wait for any of them. */
	f.timing.http_stop_ms = HOUR_MS;
	(void)alarm(20);
	fixture_stop(&f);
	(void)alarm(0);
	client_read(hold, &r, 0);
	assert_int_equal(r.status, 503);
	assert_non_null(strstr(r.body, "\"code\":\"draining\""));
	client_read(poll, &r, 0);
	assert_string_equal(r.body, "woken");
	assert_true(client_closed(idle));
	assert_true(client_closed(silent));
	client_close(hold);
	client_close(poll);
	client_close(idle);
	client_close(silent);
	fixture_start(&f, 1, LIMIT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_trickle),
	    cmocka_unit_test(test_trickle_kept_alive),
	    cmocka_unit_test(test_silent),
	    cmocka_unit_test(test_idle),
	    cmocka_unit_test(test_unread),
	    cmocka_unit_test(test_poll),
	    cmocka_unit_test(test_many_polls),
	    cmocka_unit_test(test_client_gone),
	    cmocka_unit_test(test_half_closed),
	    cmocka_unit_test(test_gone_before_answer),
	    cmocka_unit_test(test_connection_limit),
	    cmocka_unit_test(test_no_descriptors),
	    cmocka_unit_test(test_quiet),
	    cmocka_unit_test(test_descriptors_of_ours),
	    cmocka_unit_test(test_stop),
	    cmocka_unit_test(test_drain),
	};

	return (FIXTURE_RUN(&f, 1, LIMIT, tests));
}
