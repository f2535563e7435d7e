/* SPDX-License-Identifier: MIT */
/*
 * Requests and answers through a real server: routes, bodies, refusals,
 * upgrades, answers from other threads, many connections at once.
 */
#include "http_fixture.h"

#include <sys/socket.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/uuid.h"

static struct fixture f;
static struct reply r;

static void
assert_header(const char *name, const char *value)
{
	const char *found = reply_header(&r, name);

	if (found == NULL || strcmp(found, value) != 0)
		fail_msg("%s is %s, not %s in\n%s%s", name,
		    found == NULL ? "absent" : found, value, r.head, r.body);
}

static void
assert_problem(int status, const char *code)
{
	char want[64];

	if (r.status != status)
		fail_msg("%d, not %d:\n%s%s", r.status, status, r.head, r.body);
	assert_header("Content-Type", "application/problem+json");
	(void)snprintf(want, sizeof(want), "\"code\":\"%s\"", code);
	if (strstr(r.body, want) == NULL)
		fail_msg("no %s in %s", want, r.body);
	assert_non_null(strstr(r.body, reply_header(&r, "X-Request-Id")));
}

/* ---- answers ---- */

static void
test_answer_at_once(void **state)
{
	struct uuid id;
	int fd = client_open(&f), i;

	(void)state;
	for (i = 0; i < 3; i++) {
		client_send(fd, GET("/hello"));
		client_read(fd, &r, 0);
		assert_int_equal(r.status, 200);
		assert_string_equal(r.body, "{\"hello\":\"world\"}\n");
		assert_header("Content-Type", "application/json");
		assert_header("Cache-Control", "no-store");
		assert_header("X-Content-Type-Options", "nosniff");
		assert_header("X-Extra", "one");
		assert_true(uuid_parse(
		    reply_header(&r, "X-Request-Id"), UUID_TEXT_LEN, &id));
		assert_int_equal(uuid_version(&id), 7);
		assert_null(reply_header(&r, "Connection"));
	}
	client_close(fd);
	/* The last request is freed after its answer has left. */
	AWAIT(atomic_load(&f.freed) == 3);
}

static void
test_answer_from_another_thread(void **state)
{
	int fd = client_open(&f), i;

	(void)state;
	for (i = 0; i < 300; i++) {
		client_send(fd, GET("/later"));
		client_read(fd, &r, 0);
		assert_int_equal(r.status, 200);
		assert_string_equal(r.body, "later");
		assert_non_null(strstr(reply_header(&r, "X-Thread"), "writer"));
	}
	client_close(fd);
}

static void
test_request_id(void **state)
{

	(void)state;
	assert_int_equal(
	    ask(&f,
		"GET /hello HTTP/1.1\r\n" HOST "X-Request-Id: a.B_c-9\r\n\r\n",
		&r, NULL),
	    200);
	assert_header("X-Request-Id", "a.B_c-9");
	assert_int_equal(
	    ask(&f, "GET /hello HTTP/1.1\r\n" HOST "X-Request-Id: a b\r\n\r\n",
		&r, NULL),
	    200);
	assert_int_equal(
	    strlen(reply_header(&r, "X-Request-Id")), UUID_TEXT_LEN);
	assert_int_equal(
	    ask(&f, "GET /none HTTP/1.1\r\n" HOST "X-Request-Id: mine\r\n\r\n",
		&r, NULL),
	    404);
	assert_problem(404, "not_found");
	assert_header("X-Request-Id", "mine");
}

static void
test_refusals(void **state)
{
	int closed;

	(void)state;
	(void)ask(&f, GET("/private"), &r, &closed);
	assert_problem(401, "unauthenticated");
	assert_header("WWW-Authenticate", "Bearer");
	assert_false(closed);
	(void)ask(&f, GET("/busy"), &r, NULL);
	assert_problem(503, "busy");
	assert_header("Retry-After", "7");
	(void)ask(&f, GET("/error"), &r, NULL);
	assert_problem(500, "internal");
	assert_null(strstr(r.body, "secret"));
	assert_int_equal(ask(&f,
			     "GET /private HTTP/1.1\r\n" HOST
			     "Authorization: Bearer good\r\n\r\n",
			     &r, NULL),
	    200);
	assert_string_equal(r.body, "bob");
	assert_int_equal(ask(&f,
			     "GET /private HTTP/1.1\r\n" HOST
			     "AUTHORIZATION: Bearer slow\r\n\r\n",
			     &r, NULL),
	    200);
	assert_string_equal(r.body, "bob");
}

/* ---- routes ---- */

static void
test_routes(void **state)
{
	int closed;

	(void)state;
	(void)ask(&f, GET("/nothing/here"), &r, &closed);
	assert_problem(404, "not_found");
	assert_false(closed);
	assert_int_equal(ask(&f, GET("/hello/"), &r, NULL), 404);
	assert_int_equal(ask(&f, GET("//hello"), &r, NULL), 404);
	assert_int_equal(ask(&f, GET("/items/"), &r, NULL), 404);
	assert_int_equal(ask(&f, GET("/a/b/c/d/e/f/g/h/i/j"), &r, NULL), 404);
	(void)ask(&f, "PUT /echo HTTP/1.1\r\n" HOST "\r\n", &r, &closed);
	assert_problem(405, "method_not_allowed");
	assert_header("Allow", "POST, DELETE, OPTIONS");
	assert_false(closed);
	assert_int_equal(
	    ask(&f, "OPTIONS /hello HTTP/1.1\r\n" HOST "\r\n", &r, NULL), 204);
	assert_header("Allow", "GET, HEAD, OPTIONS");
	assert_int_equal(
	    ask(&f, "HEAD /hello HTTP/1.1\r\n" HOST "\r\n", &r, &closed), 200);
	assert_header("Content-Length", "18");
	assert_false(closed); /* and there is no body either */
	assert_int_equal(ask(&f, GET("/items/special"), &r, NULL), 200);
	assert_string_equal(r.body, "{\"hello\":\"world\"}\n");
	assert_int_equal(
	    ask(&f, GET("/items/a%20%C3%A4/parts/x+y?z=1"), &r, NULL), 200);
	assert_string_equal(
	    r.body, "GET /items/a \xc3\xa4/parts/x+y a \xc3\xa4 x+y -");
}

static void
test_query(void **state)
{

	(void)state;
	assert_int_equal(ask(&f, GET("/query"), &r, NULL), 200);
	assert_string_equal(r.body, "none");
	assert_int_equal(
	    ask(&f, GET("/query?b=1+2%2B&&a&c=%3D=&b=3"), &r, NULL), 200);
	assert_string_equal(r.body, "[b=1 2+][a=][c===][b=3]a");
	assert_int_equal(ask(&f, GET("/query?stop=1&b=2"), &r, NULL), 200);
	assert_string_equal(r.body, "[stop=1]none");
	assert_int_equal(ask(&f, GET("/query?a=%00"), &r, NULL), 400);
	assert_int_equal(ask(&f, GET("/query?a=%f"), &r, NULL), 400);
	assert_int_equal(ask(&f, GET("/query?a=%FF"), &r, NULL), 400);
}

/* ---- bodies ---- */

static void
test_bodies(void **state)
{
	int closed;

	(void)state;
	assert_int_equal(
	    ask(&f, POST "Content-Length: 2\r\n\r\n{}", &r, &closed), 200);
	assert_string_equal(r.body, "{}");
	assert_false(closed);
	assert_int_equal(ask(&f,
			     POST "Transfer-Encoding: Chunked\r\n\r\n"
				  "1\r\n[\r\n3;x=y\r\n1,2\r\n1\r\n]\r\n0\r\n"
				  "X-Trailer: 1\r\n\r\n",
			     &r, NULL),
	    200);
	assert_string_equal(r.body, "[1,2]");
	assert_int_equal(ask(&f, POST "\r\n", &r, NULL), 200);
	assert_string_equal(r.body, "");
	assert_int_equal(
	    ask(&f,
		"POST /echo HTTP/1.1\r\n" HOST "Content-Length: 2\r\n"
		"Content-Type: application/json;charset=UTF-8\r\n\r\n{}",
		&r, NULL),
	    200);
	(void)ask(&f,
	    "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\n{}", &r,
	    &closed);
	assert_problem(415, "unsupported_media");
	assert_true(closed);
	(void)ask(&f,
	    "POST /echo HTTP/1.1\r\n" HOST "Content-Length: 2\r\n"
	    "Content-Type: text/plain\r\n\r\n{}",
	    &r, NULL);
	assert_problem(415, "unsupported_media");
	assert_int_equal(
	    ask(&f,
		"POST /text HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\nhi",
		&r, NULL),
	    200);
	assert_int_equal(
	    ask(&f,
		"POST /text HTTP/1.1\r\n" HOST "Content-Length: 2\r\n"
		"Content-Type: application/x-www-form-urlencoded\r\n\r\nhi",
		&r, NULL),
	    200);
	assert_string_equal(r.body, "hi");
	assert_int_equal(
	    ask(&f,
		"POST /text HTTP/1.1\r\n" HOST "Content-Length: 2\r\n"
		"Content-Type: image/png\r\n\r\nhi",
		&r, NULL),
	    415);
	(void)ask(&f,
	    "DELETE /echo HTTP/1.1\r\n" HOST "Content-Length: 2\r\n"
	    "Content-Type: application/json\r\n\r\n{}",
	    &r, NULL);
	assert_problem(400, "bad_request");
}

/* Sends a POST with ${n} bytes, with Content-Length or in chunks. */
static int
post_n(const char *path, size_t n, bool chunked, int *ret_closed)
{
	char head[256], chunk[4097 + 16];
	size_t left, k;
	int fd = client_open(&f);

	(void)snprintf(head, sizeof(head),
	    "POST %s HTTP/1.1\r\n" HOST "Content-Type: application/json\r\n",
	    path);
	client_send(fd, head);
	if (chunked)
		client_send(fd, "Transfer-Encoding: chunked\r\n\r\n");
	else {
		(void)snprintf(
		    head, sizeof(head), "Content-Length: %zu\r\n\r\n", n);
		client_send(fd, head);
	}
	for (left = n; left > 0; left -= k) {
		k = (left < 4096) ? left : 4096;
		memset(chunk, 'x', sizeof(chunk));
		if (chunked) {
			(void)snprintf(head, sizeof(head), "%zx\r\n", k);
			client_send(fd, head);
			memcpy(chunk + k, "\r\n", 2);
			client_send_n(fd, chunk, k + 2);
		} else {
			client_send_n(fd, chunk, k);
		}
	}
	if (chunked)
		client_send(fd, "0\r\n\r\n");
	client_read(fd, &r, 0);
	*ret_closed = !client_is_kept(fd);
	client_close(fd);
	return (r.status);
}

static void
test_body_limits(void **state)
{
	int closed, chunked;

	(void)state;
	for (chunked = 0; chunked <= 1; chunked++) {
		assert_int_equal(
		    post_n("/echo", 131072, chunked, &closed), 200);
		assert_int_equal(r.body_len, 131072);
		assert_false(closed);
		(void)post_n("/echo", 131073, chunked, &closed);
		assert_problem(413, "body_too_large");
		assert_true(closed);
		/* The client can send the whole body before it reads the
		 * answer. */
		client_send_errors = 0;
		(void)post_n("/echo", 1000000, chunked, &closed);
		assert_problem(413, "body_too_large");
		assert_int_equal(client_send_errors, 0);
		assert_int_equal(
		    post_n("/large", 1048576, chunked, &closed), 200);
		assert_string_equal(r.body, "1048576");
		(void)post_n("/large", 1048577, chunked, &closed);
		assert_problem(413, "body_too_large");
	}
	/* The announced length is enough for the refusal: no body was sent. */
	(void)ask(&f, POST "Content-Length: 99999999999\r\n\r\n", &r, &closed);
	assert_problem(413, "body_too_large");
	assert_true(closed);
}

static void
test_expect(void **state)
{
	int fd = client_open(&f);

	(void)state;
	client_send(
	    fd, POST "Content-Length: 2\r\nExpect: 100-continue\r\n\r\n");
	client_read(fd, &r, 0);
	assert_int_equal(r.status, 100);
	client_send(fd, "{}");
	client_read(fd, &r, 0);
	assert_int_equal(r.status, 200);
	client_send(
	    fd, POST "Content-Length: 200000\r\nExpect: 100-continue\r\n\r\n");
	client_read(fd, &r, 0);
	assert_problem(413, "body_too_large");
	assert_true(client_closed(fd));
	client_close(fd);
}

/* ---- upgrades ---- */

static void
test_upgrade(void **state)
{
	static const char text[] =
	    "GET /v1/ws?x=1 HTTP/1.1\r\n" HOST "Upgrade: websocket\r\n\r\n";
	char got[16];
	size_t i;
	int fd = client_open(&f);

	(void)state;
	client_send(fd, text);
	assert_int_equal(recv(fd, got, sizeof(got), MSG_WAITALL), 7);
	assert_memory_equal(got, "GET /v1", 7);
	client_close(fd);
	assert_int_equal(atomic_load(&f.upgrades), 1);
	/* The path decides, even if it arrives byte by byte. */
	fd = client_open(&f);
	for (i = 0; i < strlen("GET /v1/ws "); i++) {
		client_send_n(fd, text + (i == 10 ? 14 + 9 - 13 : i), 1);
		fixture_turn(&f);
		if (i < 10)
			assert_int_equal(atomic_load(&f.upgrades), 1);
	}
	client_send(fd, " ");
	assert_true(recv(fd, got, sizeof(got), 0) > 0);
	assert_int_equal(atomic_load(&f.upgrades), 2);
	client_close(fd);
	assert_int_equal(ask(&f, GET("/v1/wsx"), &r, NULL), 404);
	assert_int_equal(
	    ask(&f, "POST /v1/ws HTTP/1.1\r\n" HOST "\r\n", &r, NULL), 404);
	assert_int_equal(atomic_load(&f.upgrades), 2);
}

static void
test_upgrade_kept_alive(void **state)
{
	static const char *const asks[] = {GET("/v1/ws"),
	    "GET /v1/ws HTTP/1.1\r\n" HOST
	    "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
	    "GET /hello HTTP/1.1\r\n" HOST
	    "Connection: Upgrade\r\nUpgrade: WebSocket\r\n\r\n"};
	size_t i;
	int fd, upgrades = atomic_load(&f.upgrades);
	int64_t strays = metrics_get(f.metrics, METRIC_HTTP_STRAY);

	(void)state;
	for (i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
		fd = client_open(&f);
		client_send(fd, GET("/hello"));
		client_read(fd, &r, 0);
		assert_int_equal(r.status, 200);
		client_send(fd, asks[i]);
		client_read(fd, &r, 0);
		assert_int_equal(r.status, 0);
		client_close(fd);
	}
	assert_int_equal(atomic_load(&f.upgrades), upgrades);
	AWAIT(metrics_get(f.metrics, METRIC_HTTP_STRAY) == strays + 3);
}

/* ---- many at once ---- */

static void
test_pipelining(void **state)
{
	struct buf b = BUF_INIT;
	int fd = client_open(&f), i;

	(void)state;
	for (i = 0; i < 100; i++)
		buf_adds(&b, i % 3 == 0   ? GET("/later")
			     : i % 3 == 1 ? GET("/hello")
					  : POST "Content-Length: 2\r\n\r\n{}");
	client_send_n(fd, b.data, b.len);
	for (i = 0; i < 100; i++) {
		client_read(fd, &r, 0);
		assert_int_equal(r.status, 200);
		assert_string_equal(r.body, i % 3 == 0 ? "later"
					    : i % 3 == 1
						? "{\"hello\":\"world\"}\n"
						: "{}");
	}
	buf_fini(&b);
	client_close(fd);
}

/* libmicrohttpd's own loop would wait although exactly 128 connections are
 * ready. */
static void
test_no_stall(void **state)
{
	static const int counts[] = {64, 127, 128, 129, 256};
	int fds[256], i, n, round;
	size_t k;

	(void)state;
	for (k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
		n = counts[k];
		for (i = 0; i < n; i++)
			fds[i] = client_open(&f);
		for (round = 0; round < 4; round++) {
			for (i = 0; i < n; i++)
				client_send(fds[i], GET("/later"));
			for (i = 0; i < n; i++) {
				client_read(fds[i], &r, 0);
				assert_int_equal(r.status, 200);
			}
		}
		for (i = 0; i < n; i++)
			client_close(fds[i]);
	}
}

static void
test_large_answer(void **state)
{
	int fd = client_open(&f), i, small = 65536;
	char want[17];

	(void)state;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	client_send(fd, GET("/big"));
	client_send(fd, GET("/hello"));
	client_read(fd, &r, 0);
	assert_int_equal(r.body_len, 1024 * 1024);
	for (i = 0; i < 1024 * 1024 / 16; i++) {
		(void)snprintf(want, sizeof(want), "%015d\n", i);
		assert_memory_equal(r.body + (ptrdiff_t)16 * i, want, 16);
	}
	client_read(fd, &r, 0);
	assert_int_equal(r.status, 200);
	client_close(fd);
}

/* ---- without memory ---- */

static void
test_no_memory(void **state)
{
	static const char *const asks[] = {GET("/hello"), GET("/later"),
	    GET("/items/a/parts/b?c=d"), GET("/private"),
	    POST "Content-Length: 2\r\n\r\n{}", GET("/none")};
	int64_t k;
	size_t i;
	int fd, fine, refused = 0;

	(void)state;
	for (i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
		for (k = 1, fine = 0; k < 60 && fine < 10; k++) {
			fd = client_open(&f);
			mem_fail_at(k);
			client_send(fd, asks[i]);
			client_read(fd, &r, 0);
			mem_fail_at(0);
			client_close(fd);
			if (r.status == 0 || r.status == 503)
				refused++;
			assert_int_not_equal(r.status, -1);
			assert_int_not_equal(r.status, 500);
			fine =
			    (r.status == 0 || r.status == 503) ? 0 : fine + 1;
		}
		assert_int_equal(fine, 10);
	}
	assert_true(refused > 0);
	print_message("%d failed allocations survived\n", refused);
	assert_int_equal(ask(&f, GET("/later"), &r, NULL), 200);
}

/* The same without memory: a request that libmicrohttpd has given up gets a
 * complete refusal, or no answer. */
static void
test_half_closed_without_memory(void **state)
{
	int i, many[8], refused = 0;
	int64_t k;

	(void)state;
	for (k = 1; k < 200; k++) {
		for (i = 0; i < 8; i++)
			many[i] = client_open(&f);
		mem_fail_at(k);
		for (i = 0; i < 8; i++) {
			client_send(many[i], GET("/later"));
			/* This may fail, as the server may have closed
			 * already. */
			(void)shutdown(many[i], SHUT_WR);
		}
		for (i = 0; i < 8; i++) {
			client_read(many[i], &r, 0);
			client_close(many[i]);
			if (r.status == 0 || r.status == 200)
				continue;
			assert_int_equal(r.status, 503);
			assert_non_null(reply_header(&r, "Content-Type"));
			assert_string_equal(reply_header(&r, "Content-Type"),
			    "application/problem+json");
			assert_string_equal(
			    reply_header(&r, "Retry-After"), "1");
			assert_non_null(strstr(r.body, "\"code\":\"busy\""));
			refused++;
		}
		mem_fail_at(0);
	}
	assert_true(refused > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_answer_at_once),
	    cmocka_unit_test(test_answer_from_another_thread),
	    cmocka_unit_test(test_request_id),
	    cmocka_unit_test(test_refusals),
	    cmocka_unit_test(test_routes),
	    cmocka_unit_test(test_query),
	    cmocka_unit_test(test_bodies),
	    cmocka_unit_test(test_body_limits),
	    cmocka_unit_test(test_expect),
	    cmocka_unit_test(test_upgrade),
	    cmocka_unit_test(test_upgrade_kept_alive),
	    cmocka_unit_test(test_pipelining),
	    cmocka_unit_test(test_no_stall),
	    cmocka_unit_test(test_large_answer),
	    cmocka_unit_test(test_no_memory),
	    cmocka_unit_test(test_half_closed_without_memory),
	};

	return (FIXTURE_RUN(&f, 2, 1000, tests));
}
