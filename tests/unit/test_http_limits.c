/* SPDX-License-Identifier: MIT */
/*
 * What a server of HTTP must bear: slow clients, clients that go away, too
 * many connections, no descriptors; and how it waits, drains and stops.
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

#include "base/mem.h"

#define HOST "Host: localhost\r\n"
#define GET(path) "GET " path " HTTP/1.1\r\n" HOST "\r\n"
/* A connection is looked at once in each eighth of the deadline. */
#define LATE_MS (REQUEST_DEADLINE_MS / 8 + 500)

static struct fixture f;
static struct reply r;

static int
setup(void **state)
{

	(void)state;
	fixture_start(&f, 40);
	return (0);
}

static int
teardown(void **state)
{

	(void)state;
	fixture_stop(&f);
	return (0);
}

/* Waits until ${metric} is ${want}, at most so long that only something that
 * never comes fails. */
static void
await(enum metric metric, int64_t want)
{
	int i;

	for (i = 0; i < 20000 && metrics_get(f.metrics, metric) != want; i++)
		(void)usleep(1000);
	assert_int_equal(metrics_get(f.metrics, metric), want);
}

/* ---- deadlines ---- */

/* Sends ${text} one byte every 20 ms until the server closes; says after how
 * many milliseconds. */
static int64_t
trickle(int fd, const char *text)
{
	int64_t begin = now_ms();
	size_t i;

	for (i = 0; now_ms() - begin < 3000; i++) {
		client_send_n(fd, text + i % strlen(text), 1);
		if (client_closed(fd, 20))
			return (now_ms() - begin);
	}
	return (-1);
}

static void
assert_cut(int64_t ms, int64_t least, int64_t most)
{

	if (ms < least || ms > most)
		fail_msg("cut after %lld ms, not %lld to %lld", (long long)ms,
		    (long long)least, (long long)most);
}

static void
test_trickle(void **state)
{
	static const char *const begins[] = {"", "G", "GET /hel",
	    "GET /hello HTTP/1.1\r\n", "GET /hello HTTP/1.1\r\n" HOST "X-A: ",
	    "POST /echo HTTP/1.1\r\n" HOST "Content-Type: application/json\r\n"
	    "Content-Length: 1000\r\n\r\n"};
	int64_t cuts = metrics_get(f.metrics, METRIC_HTTP_DEADLINES);
	size_t i, n = sizeof(begins) / sizeof(begins[0]);
	int fd, handled = atomic_load(&f.handled);

	(void)state;
	for (i = 0; i < n; i++) {
		fd = client_open(&f);
		client_send(fd, begins[i]);
		assert_cut(trickle(fd, "abcdefgh"), REQUEST_DEADLINE_MS - 50,
		    REQUEST_DEADLINE_MS + LATE_MS);
		(void)close(fd);
	}
	await(METRIC_HTTP_DEADLINES, cuts + (int64_t)n);
	assert_int_equal(atomic_load(&f.handled), handled);
}

/* On a kept connection libmicrohttpd tells nothing of the first bytes. */
static void
test_trickle_kept_alive(void **state)
{
	static const char *const begins[] = {
	    "GET /hel", "GET /hello HTTP/1.1\r\n" HOST "X-A: "};
	size_t i;
	int fd;

	(void)state;
	for (i = 0; i < 2; i++) {
		fd = client_open(&f);
		client_send(fd, GET("/hello"));
		client_read(fd, &r, 0);
		(void)usleep(100000);
		client_send(fd, begins[i]);
		assert_cut(trickle(fd, "abcdefgh"), REQUEST_DEADLINE_MS - 50,
		    REQUEST_DEADLINE_MS + LATE_MS);
		(void)close(fd);
	}
}

static void
test_silent(void **state)
{
	int64_t begin = now_ms();
	int fd = client_open(&f);

	(void)state;
	assert_true(client_closed(fd, 2000));
	assert_cut(now_ms() - begin, REQUEST_DEADLINE_MS - 50,
	    REQUEST_DEADLINE_MS + LATE_MS);
	(void)close(fd);
}

static void
test_idle(void **state)
{
	int64_t begin;
	int fd = client_open(&f);

	(void)state;
	client_send(fd, GET("/hello"));
	client_read(fd, &r, 0);
	(void)usleep(REQUEST_DEADLINE_MS * 1500);
	client_send(fd, GET("/later"));
	client_read(fd, &r, 0);
	assert_int_equal(r.status, 200);
	begin = now_ms();
	assert_true(client_closed(fd, 3000));
	assert_cut(now_ms() - begin, IDLE_DEADLINE_MS - 50,
	    IDLE_DEADLINE_MS + LATE_MS);
	(void)close(fd);
}

/* A client that does not read its answer. */
static void
test_unread(void **state)
{
	int64_t cuts = metrics_get(f.metrics, METRIC_HTTP_DEADLINES);
	int fd = client_open(&f), i;

	(void)state;
	for (i = 0; i < 8; i++)
		client_send(fd, GET("/big"));
	for (i = 0;
	     i < 300 && metrics_get(f.metrics, METRIC_HTTP_DEADLINES) == cuts;
	     i++)
		(void)usleep(10000);
	assert_int_equal(
	    metrics_get(f.metrics, METRIC_HTTP_DEADLINES), cuts + 1);
	(void)close(fd);
}

/* ---- waiting ---- */

static void
test_poll(void **state)
{
	int64_t begin = now_ms();
	int fd = client_open(&f), i;

	(void)state;
	/* From the beginning on the loop of those who wait: kept alive.  It
	 * may wait longer than requests may arrive. */
	client_send(fd, GET("/poll?wait=700"));
	client_read(fd, &r, 0);
	assert_string_equal(r.body, "woken");
	assert_cut(now_ms() - begin, 699, 1200);
	assert_null(reply_header(&r, "Connection"));
	for (i = 0; i < 3; i++) {
		begin = now_ms();
		client_send(fd, GET("/poll?wait=60&later=1"));
		client_read(fd, &r, 0);
		assert_string_equal(r.body, "woken");
		assert_cut(now_ms() - begin, 59, 500);
	}
	client_send(fd, GET("/hello"));
	client_read(fd, &r, 0);
	assert_int_equal(r.status, 200);
	(void)close(fd);
	/* Elsewhere the connection ends, so that the next begins right. */
	fd = client_open(&f);
	client_send(fd, GET("/hello"));
	client_read(fd, &r, 0);
	client_send(fd, GET("/poll?wait=30"));
	client_read(fd, &r, 0);
	assert_string_equal(r.body, "woken");
	assert_string_equal(reply_header(&r, "Connection"), "close");
	(void)close(fd);
	assert_int_equal(atomic_load(&f.early), 0);
}

static void
test_many_polls(void **state)
{
	char text[64];
	int fds[30], i;

	(void)state;
	for (i = 0; i < 30; i++) {
		fds[i] = client_open(&f);
		(void)snprintf(text, sizeof(text),
		    "GET /poll?wait=%d HTTP/1.1\r\n" HOST "\r\n",
		    2000 + (i * 37) % 100);
		client_send(fds[i], text);
	}
	await(METRIC_LONG_POLLS, 30);
	for (i = 0; i < 30; i++) {
		client_read(fds[i], &r, 0);
		assert_string_equal(r.body, "woken");
		(void)close(fds[i]);
	}
	assert_int_equal(atomic_load(&f.early), 0);
	await(METRIC_LONG_POLLS, 0);
}

static void
test_client_gone(void **state)
{
	int fd = client_open(&f);
	int64_t begin;

	(void)state;
	client_send(fd, GET("/poll?wait=5000"));
	await(METRIC_LONG_POLLS, 1);
	assert_int_equal(atomic_load(&f.early), 0);
	begin = now_ms();
	(void)close(fd);
	await(METRIC_LONG_POLLS, 0);
	await(METRIC_HTTP_CONNECTIONS, 0);
	/* Not only when its wait is over. */
	assert_true(now_ms() - begin < 4000);
	assert_int_equal(atomic_load(&f.early), 1);
	atomic_store(&f.early, 0);
}

/* The client has closed its writing side, and gets its answer. */
static void
test_half_closed(void **state)
{
	static const char *const asks[] = {
	    GET("/hello"), GET("/later"), GET("/hold"), GET("/poll?wait=2000")};
	static const char *const bodies[] = {
	    "{\"hello\":\"world\"}", "later", "released", "woken"};
	int fd, many[30];
	size_t i;

	(void)state;
	for (i = 0; i < 4; i++) {
		fd = client_open(&f);
		client_send(fd, asks[i]);
		assert_int_equal(shutdown(fd, SHUT_WR), 0);
		(void)usleep(50000);
		if (i == 2)
			fixture_release(&f);
		client_read(fd, &r, 0);
		if (r.status != 200 || strcmp(r.body, bodies[i]) != 0)
			fail_msg("%s: %d %s", asks[i], r.status, r.body);
		assert_non_null(reply_header(&r, "X-Request-Id"));
		assert_true(client_closed(fd, 1000));
		(void)close(fd);
	}
	/* When several are answered at once libmicrohttpd gives them up. */
	for (i = 0; i < 30; i++) {
		many[i] = client_open(&f);
		client_send(many[i], GET("/later"));
		assert_int_equal(shutdown(many[i], SHUT_WR), 0);
	}
	for (i = 0; i < 30; i++) {
		client_read(many[i], &r, 0);
		assert_int_equal(r.status, 200);
		assert_string_equal(r.body, "later");
		(void)close(many[i]);
	}
	await(METRIC_HTTP_CONNECTIONS, 0);
	atomic_store(&f.early, 0);
}

/* A client that is gone when its answer comes. */
static void
test_gone_before_answer(void **state)
{
	const struct linger reset = {.l_onoff = 1, .l_linger = 0};
	int fd, i;

	(void)state;
	for (i = 0; i < 2; i++) {
		fd = client_open(&f);
		client_send(fd, GET("/hold"));
		while (atomic_load(&f.held) == NULL)
			(void)usleep(1000);
		if (i == 1)
			(void)setsockopt(
			    fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		(void)close(fd);
		(void)usleep(20000);
		fixture_release(&f);
		await(METRIC_HTTP_CONNECTIONS, 0);
	}
	assert_int_equal(http_pending(f.http), 0);
}

/* ---- limits ---- */

static void
test_connection_limit(void **state)
{
	int fds[40], i;

	(void)state;
	await(METRIC_HTTP_CONNECTIONS, 0);
	for (i = 0; i < 40; i++) {
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
	for (i = 0; i < 40; i++)
		(void)close(fds[i]);
	await(METRIC_HTTP_CONNECTIONS, 0);
	assert_int_equal(ask(&f, GET("/hello"), &r, NULL), 200);
}

static int64_t
cpu_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ((int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000);
}

/* No descriptor is left: clients are closed, not left hanging; nothing
 * spins. */
static void
test_no_descriptors(void **state)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct rlimit old, low;
	int fds[60], i, top = 0;
	int64_t begin;

	(void)state;
	await(METRIC_HTTP_CONNECTIONS, 0);
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
	begin = cpu_ms();
	for (i = 0; i < 60; i++)
		assert_int_equal(
		    connect(fds[i], (struct sockaddr *)&in, sizeof(in)), 0);
	for (i = 0; i < 60; i++)
		assert_true(client_closed(fds[i], 2000));
	(void)usleep(300000);
	begin = cpu_ms() - begin;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	for (i = 0; i < 60; i++)
		(void)close(fds[i]);
	if (begin > 150)
		fail_msg("%lld ms of processor time", (long long)begin);
	assert_int_equal(ask(&f, GET("/hello"), &r, NULL), 200);
}

/* A waiting server does nothing. */
static void
test_quiet(void **state)
{
	int64_t begin;
	int fds[4], i;

	(void)state;
	for (i = 0; i < 3; i++)
		fds[i] = client_open(&f);
	client_send(fds[0], "GET /hel");
	client_send(fds[1], GET("/hold"));
	client_send(fds[2], GET("/poll?wait=300"));
	while (atomic_load(&f.held) == NULL)
		(void)usleep(1000);
	begin = cpu_ms();
	(void)usleep(250000);
	assert_true(cpu_ms() - begin < 20);
	fixture_release(&f);
	for (i = 0; i < 3; i++)
		(void)close(fds[i]);
	await(METRIC_HTTP_CONNECTIONS, 0);
	atomic_store(&f.early, 0);
}

/* ---- draining and stopping; each has a server of its own ---- */

/* The front's thread closes its socket when it is woken: soon, and for good. */
static bool
nobody_listens(void)
{
	int fd = -1, i;

	for (i = 0; i < 3000 && (fd = client_open(&f)) >= 0; i++) {
		(void)close(fd);
		(void)usleep(1000);
	}
	return (fd < 0);
}

static void
test_drain(void **state)
{
	int hold, poll, kept, late, partial, upload, i;

	(void)state;
	hold = client_open(&f);
	poll = client_open(&f);
	kept = client_open(&f);
	late = client_open(&f);
	partial = client_open(&f);
	upload = client_open(&f);
	client_send(kept, GET("/hello"));
	client_read(kept, &r, 0);
	client_send(late, GET("/hello"));
	client_read(late, &r, 0);
	client_send(hold, GET("/hold"));
	client_send(poll, GET("/poll?wait=60000"));
	client_send(partial, "GET /hello HTTP/1.1\r\n");
	client_send(upload,
	    "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 2\r\n"
	    "Content-Type: application/json\r\n\r\n{");
	await(METRIC_LONG_POLLS, 1);
	for (i = 0; i < 1000 && http_pending(f.http) != 3; i++)
		(void)usleep(1000);
	assert_int_equal(http_pending(f.http), 3);
	http_drain(f.http);
	http_drain(f.http);
	/* Those who wait are woken, with their answer. */
	client_read(poll, &r, 0);
	assert_string_equal(r.body, "woken");
	assert_string_equal(reply_header(&r, "Connection"), "close");
	/* What has begun goes on. */
	client_send(upload, "}");
	client_read(upload, &r, 0);
	assert_string_equal(r.body, "{}");
	assert_string_equal(reply_header(&r, "Connection"), "close");
	/* What begins now on a kept connection is its last. */
	client_send(kept, GET("/hello"));
	client_read(kept, &r, 0);
	assert_int_equal(r.status, 200);
	assert_string_equal(reply_header(&r, "Connection"), "close");
	assert_true(client_closed(kept, 1000));
	client_send(partial, HOST "\r\n");
	client_read(partial, &r, 0);
	assert_int_equal(r.status, 200);
	assert_true(nobody_listens());
	/* Until nothing begins any more. */
	assert_true(http_connections(f.http) > 0);
	http_refuse(f.http);
	client_send(late, GET("/hello"));
	client_read(late, &r, 0);
	assert_int_equal(r.status, 503);
	assert_non_null(strstr(r.body, "\"code\":\"draining\""));
	assert_non_null(reply_header(&r, "Retry-After"));
	assert_true(client_closed(late, 1000));
	/* An answer is there a moment before its request is gone. */
	for (i = 0; i < 1000 && http_pending(f.http) != 1; i++)
		(void)usleep(1000);
	assert_int_equal(http_pending(f.http), 1);
	fixture_release(&f);
	client_read(hold, &r, 0);
	assert_string_equal(r.body, "released");
	assert_string_equal(reply_header(&r, "Connection"), "close");
	for (i = 0; i < 1000 && http_pending(f.http) != 0; i++)
		(void)usleep(1000);
	assert_int_equal(http_pending(f.http), 0);
	(void)close(hold);
	(void)close(poll);
	(void)close(kept);
	(void)close(late);
	(void)close(partial);
	(void)close(upload);
}

static void
test_stop(void **state)
{
	int hold, poll, idle, silent, i;
	int64_t begin;

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
	for (i = 0; i < 1000 && http_pending(f.http) != 2; i++)
		(void)usleep(1000);
	begin = now_ms();
	fixture_stop(&f);
	assert_true(now_ms() - begin < 900);
	client_read(hold, &r, 0);
	assert_int_equal(r.status, 503);
	assert_non_null(strstr(r.body, "\"code\":\"draining\""));
	client_read(poll, &r, 0);
	assert_string_equal(r.body, "woken");
	assert_true(client_closed(idle, 0));
	assert_true(client_closed(silent, 0));
	(void)close(hold);
	(void)close(poll);
	(void)close(idle);
	(void)close(silent);
	assert_int_equal(setup(NULL), 0);
}

static void
test_new_refuses(void **state)
{
	static const struct http_route none[] = {{NULL, NULL, NULL, 0}};
	static const struct http_route twice[] = {{"GET", "/a/{b}", NULL, 0},
	    {"GET", "/a/{b}", NULL, 0}, {NULL, NULL, NULL, 0}};
	static const char *const listens[] = {"127.0.0.1", ":80",
	    "nowhere:", "127.0.0.1:99999", "300.0.0.1:80", "[::1:80"};
	struct http_options o = {.loops = 1,
	    .routes = twice,
	    .request_deadline_ms = 1,
	    .idle_deadline_ms = 1,
	    .clk = clk_system()};
	struct http *http = NULL;
	struct err err = ERR_INIT;
	char taken[32];
	size_t i;

	(void)state;
	o.listen = "127.0.0.1:0";
	assert_int_equal(http_new(&o, &http, &err), RC_EXISTS);
	o.routes = none;
	for (i = 0; i < sizeof(listens) / sizeof(listens[0]); i++) {
		o.listen = listens[i];
		assert_int_not_equal(http_new(&o, &http, &err), RC_OK);
		assert_string_not_equal(err.text, "");
	}
	(void)snprintf(taken, sizeof(taken), "127.0.0.1:%d", f.port);
	o.listen = taken;
	/* Not RC_IO, after which a service manager must not try again. */
	assert_int_equal(http_new(&o, &http, &err), RC_BUSY);
	assert_null(http);
	o.listen = "[::1]:0";
	assert_int_equal(http_new(&o, &http, &err), RC_OK);
	assert_true(http_port(http) > 0);
	http_stop(http); /* never started */
	http_stop(NULL);
}

/* Each allocation of making a server fails once. */
static void
test_new_without_memory(void **state)
{
	static const struct http_route one[] = {
	    {"GET", "/a/{b}", NULL, 0}, {NULL, NULL, NULL, 0}};
	struct http_options o = {.listen = "127.0.0.1:0",
	    .loops = 2,
	    .routes = one,
	    .request_deadline_ms = 1,
	    .idle_deadline_ms = 1,
	    .clk = clk_system()};
	struct http *http = NULL;
	struct err err = ERR_INIT;
	enum rc rc = RC_NO_MEMORY;
	int64_t k;

	(void)state;
	for (k = 1; k < 100 && rc != RC_OK; k++) {
		mem_fail_at(k);
		rc = http_new(&o, &http, &err);
		mem_fail_at(0);
		assert_true(rc == RC_OK || rc == RC_NO_MEMORY);
	}
	assert_int_equal(rc, RC_OK);
	assert_true(k > 4);
	http_stop(http);
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
	    cmocka_unit_test(test_new_refuses),
	    cmocka_unit_test(test_new_without_memory),
	    cmocka_unit_test(test_stop),
	    cmocka_unit_test(test_drain),
	};

	return (cmocka_run_group_tests(tests, setup, teardown));
}
