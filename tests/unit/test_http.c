/* SPDX-License-Identifier: MIT */
/*
 * Requests and answers through a real server: routes, heads, bodies, refusals,
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

#define HOST "Host: localhost\r\n"
#define GET(path) "GET " path " HTTP/1.1\r\n" HOST "\r\n"

static struct fixture f;
static struct reply r;

static int
setup(void **state)
{

	(void)state;
	fixture_start(&f, 1000);
	return (0);
}

static int
teardown(void **state)
{

	(void)state;
	fixture_stop(&f);
	return (0);
}

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
		assert_string_equal(r.body, "{\"hello\":\"world\"}");
		assert_header("Content-Type", "application/json");
		assert_header("Cache-Control", "no-store");
		assert_header("X-Content-Type-Options", "nosniff");
		assert_header("X-Extra", "one");
		assert_true(uuid_parse(
		    reply_header(&r, "X-Request-Id"), UUID_TEXT_LEN, &id));
		assert_int_equal(uuid_version(&id), 7);
		assert_null(reply_header(&r, "Connection"));
	}
	(void)close(fd);
	assert_int_equal(atomic_load(&f.freed), 3);
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
	(void)close(fd);
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
	assert_header("Content-Length", "17");
	assert_false(closed); /* nor is there a body */
	assert_int_equal(ask(&f, GET("/items/special"), &r, NULL), 200);
	assert_string_equal(r.body, "{\"hello\":\"world\"}");
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

/* ---- heads that could be read differently ---- */

#define LINE "GET /hello HTTP/1.1\r\n" HOST
#define POST "POST /echo HTTP/1.1\r\n" HOST "Content-Type: application/json\r\n"

/* Each is refused with 400 (or closed without an answer, where libmicrohttpd
 * does that itself: 0), and the connection ends. */
static const struct {
	const char *name;
	const char *text;
	size_t len; /* 0: strlen() */
	int status;
} ambiguous[] = {
#define T(name, text, status)                                                  \
	{                                                                      \
		name, text, sizeof(text) - 1, status                           \
	}
    T("CL and TE",
	POST "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n"
	     "2\r\n{}\r\n0\r\n\r\n",
	400),
    T("TE and CL",
	POST "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\n"
	     "0\r\n\r\nGET /hello HTTP/1.1\r\n" HOST "\r\n",
	400),
    T("two lengths", POST "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
	400),
    T("two differing lengths",
	POST "Content-Length: 2\r\nContent-Length: 40\r\n\r\n{}", 400),
    T("two hosts", LINE "Host: other\r\n\r\n", 400),
    T("no host", "GET /hello HTTP/1.1\r\n\r\n", 400),
    T("host with a path", "GET /hello HTTP/1.1\r\nHost: a/b\r\n\r\n", 400),
    T("TE identity", POST "Transfer-Encoding: identity\r\n\r\n{}", 400),
    T("TE xchunked", POST "Transfer-Encoding: xchunked\r\n\r\n{}", 400),
    T("TE gzip, chunked", POST "Transfer-Encoding: gzip, chunked\r\n\r\n{}",
	400),
    T("two TE",
	POST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n"
	     "0\r\n\r\n",
	400),
    T("TE in 1.0",
	"POST /echo HTTP/1.0\r\n" HOST "Content-Type: application/json\r\n"
	"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	400),
    T("space before colon", LINE "X-A : 1\r\n\r\n", 400),
    T("TE with a space before colon",
	POST "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 400),
    T("space in name", LINE "X A: 1\r\n\r\n", 400),
    T("empty name", LINE ": 1\r\n\r\n", 400),
    T("folded line", LINE "X-A: 1\r\n X-B: 2\r\n\r\n", 400),
    T("folded word", LINE "X-A: 1\r\n\tb\r\nX-C: 1\r\n\r\n", 400),
    T("folded length", POST "Content-Length: 2\r\n 0\r\n\r\n{}", 400),
    T("bare CR in value", LINE "X-A: a\rb\r\n\r\n", 400),
    T("NUL in value", LINE "X-A: a\0b\r\nX-B: 1\r\n\r\n", 400),
    T("NUL in the last value", LINE "X-A: a\0b\r\n\r\n", 400),
    T("NUL in name", LINE "X-\0A: a\r\nX-B: 1\r\n\r\n", 400),
    T("NUL in target", "GET /hello\0x HTTP/1.1\r\n" HOST "\r\n", 400),
    T("control character", LINE "X-A: a\001b\r\n\r\n", 400),
    T("bare LF", "GET /hello HTTP/1.1\nHost: localhost\n\n", 400),
    T("one bare LF", LINE "X-A: 1\nX-B: 2\r\n\r\n", 400),
    T("two Authorization",
	LINE "Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n", 400),
    T("two Content-Type", POST "Content-Type: text/plain\r\n\r\n", 400),
    T("HTTP/1.9", "GET /hello HTTP/1.9\r\n" HOST "\r\n", 400),
    T("HTTP/2.0", "GET /hello HTTP/2.0\r\n" HOST "\r\n", 505),
    T("HTTP/0.9", "GET /hello\r\n\r\n", 400),
    T("absolute form", "GET http://localhost/hello HTTP/1.1\r\n" HOST "\r\n",
	400),
    T("asterisk", "OPTIONS * HTTP/1.1\r\n" HOST "\r\n", 400),
    T("unknown method", "FOO /hello HTTP/1.1\r\n" HOST "\r\n", 400),
    T("odd method", "FOO<> /hello HTTP/1.1\r\n" HOST "\r\n", 400),
    T("lower-case method", "get /hello HTTP/1.1\r\n" HOST "\r\n", 400),
    T("CONNECT", "CONNECT /hello HTTP/1.1\r\n" HOST "\r\n", 400),
    T("GET with a body", LINE "Content-Length: 2\r\n\r\n{}", 400),
    T("GET with chunks", LINE "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	400),
    T("two spaces", "GET  /hello HTTP/1.1\r\n" HOST "\r\n", 400),
    T("space at the end", "GET /hello HTTP/1.1 \r\n" HOST "\r\n", 400),
    T("length +2", POST "Content-Length: +2\r\n\r\n{}", 400),
    T("length -1", POST "Content-Length: -1\r\n\r\n{}", 400),
    T("length 0x2", POST "Content-Length: 0x2\r\n\r\n{}", 400),
    T("length 2, 2", POST "Content-Length: 2, 2\r\n\r\n{}", 400),
    T("empty length", POST "Content-Length:\r\n\r\n{}", 400),
    T("huge length", POST "Content-Length: 18446744073709551619\r\n\r\n{}",
	400),
    T("bad chunk size",
	POST "Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", 400),
    T("dot dot", "GET /items/../hello HTTP/1.1\r\n" HOST "\r\n", 400),
    T("encoded dot dot", "GET /items/%2e%2E/hello HTTP/1.1\r\n" HOST "\r\n",
	400),
    T("dot", "GET /./hello HTTP/1.1\r\n" HOST "\r\n", 400),
    T("encoded slash", "GET /items/%2e%2e%2fhello HTTP/1.1\r\n" HOST "\r\n",
	400),
    T("backslash", "GET /items/a%5cb HTTP/1.1\r\n" HOST "\r\n", 400),
    T("encoded NUL", "GET /items/a%00 HTTP/1.1\r\n" HOST "\r\n", 400),
    T("overlong UTF-8", "GET /items/%c0%ae HTTP/1.1\r\n" HOST "\r\n", 400),
    T("broken escape", "GET /items/%2 HTTP/1.1\r\n" HOST "\r\n", 400),
    T("fragment", "GET /hello#x HTTP/1.1\r\n" HOST "\r\n", 400),
    T("DEL in target", "GET /items/\x7f HTTP/1.1\r\n" HOST "\r\n", 400),
#undef T
};

static void
test_ambiguous(void **state)
{
	size_t i;
	int fd, handled = atomic_load(&f.handled), closed;

	(void)state;
	for (i = 0; i < sizeof(ambiguous) / sizeof(ambiguous[0]); i++) {
		fd = client_open(&f);
		client_send_n(fd, ambiguous[i].text, ambiguous[i].len);
		client_read(fd, &r, 0);
		closed = client_closed(fd, 1000);
		if (r.status != ambiguous[i].status || !closed)
			fail_msg("%s: %d%s\n%s%s", ambiguous[i].name, r.status,
			    closed ? "" : ", not closed", r.head, r.body);
		(void)close(fd);
	}
	assert_int_equal(atomic_load(&f.handled), handled);
	print_message("%zu ambiguous requests refused\n", i);
}

/* The same on a connection that is in use already. */
static void
test_ambiguous_later(void **state)
{
	size_t i;
	int fd;

	(void)state;
	for (i = 0; i < sizeof(ambiguous) / sizeof(ambiguous[0]); i++) {
		fd = client_open(&f);
		client_send(fd, GET("/hello"));
		client_read(fd, &r, 0);
		assert_int_equal(r.status, 200);
		client_send_n(fd, ambiguous[i].text, ambiguous[i].len);
		client_read(fd, &r, 0);
		if (r.status != ambiguous[i].status || !client_closed(fd, 1000))
			fail_msg("%s: %d", ambiguous[i].name, r.status);
		(void)close(fd);
	}
}

static void
test_many_headers(void **state)
{
	static char text[64 * 1024];
	size_t n, i;

	(void)state;
	n = (size_t)snprintf(text, sizeof(text), "%s", LINE);
	for (i = 0; i < 90; i++)
		n += (size_t)snprintf(
		    text + n, sizeof(text) - n, "X-%zu: value\r\n", i);
	(void)snprintf(text + n, sizeof(text) - n, "\r\n");
	assert_int_equal(ask(&f, text, &r, NULL), 200);
	for (i = 0; i < 20; i++)
		n += (size_t)snprintf(
		    text + n, sizeof(text) - n, "Y-%zu: value\r\n", i);
	(void)snprintf(text + n, sizeof(text) - n, "\r\n");
	assert_int_equal(ask(&f, text, &r, NULL), 400);
	n = (size_t)snprintf(
	    text, sizeof(text), LINE "X-A: %040000d\r\n\r\n", 1);
	assert_int_equal(ask(&f, text, &r, NULL), 431);
	n = (size_t)snprintf(text, sizeof(text), "GET /query?a=%08000d ", 1);
	(void)snprintf(text + n, sizeof(text) - n, "HTTP/1.1\r\n" HOST "\r\n");
	assert_int_equal(ask(&f, text, &r, NULL), 200);
	n = (size_t)snprintf(text, sizeof(text), "GET /query?a=%09000d ", 1);
	(void)snprintf(text + n, sizeof(text) - n, "HTTP/1.1\r\n" HOST "\r\n");
	assert_int_equal(ask(&f, text, &r, NULL), 400);
}

static void
test_harmless(void **state)
{
	int closed;

	(void)state;
	assert_int_equal(ask(&f,
			     "GET /hello HTTP/1.1\r\nhost:localhost:80\r\n"
			     "X-Empty:\r\nX-Tab: \ta\tb \r\n"
			     "X-Latin: \xe4\r\nContent-Length: 0\r\n\r\n",
			     &r, &closed),
	    200);
	assert_false(closed);
	assert_int_equal(
	    ask(&f, "GET /hello HTTP/1.0\r\n\r\n", &r, &closed), 200);
	assert_true(closed);
	assert_int_equal(ask(&f,
			     "GET /hello HTTP/1.1\r\nHost: [::1]:80\r\n"
			     "Connection: Upgrade, HTTP2-Settings\r\n"
			     "Upgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n",
			     &r, NULL),
	    200);
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

/* Sends a POST with ${n} bytes, by length or in chunks. */
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
	*ret_closed = client_closed(fd, 100);
	(void)close(fd);
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
		/* All of it is sent before the answer is read. */
		(void)post_n("/echo", 1000000, chunked, &closed);
		assert_problem(413, "body_too_large");
		assert_int_equal(
		    post_n("/large", 1048576, chunked, &closed), 200);
		assert_string_equal(r.body, "1048576");
		(void)post_n("/large", 1048577, chunked, &closed);
		assert_problem(413, "body_too_large");
	}
	/* By its length alone, with nothing of it sent. */
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
	assert_true(client_closed(fd, 1000));
	(void)close(fd);
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
	(void)close(fd);
	assert_int_equal(atomic_load(&f.upgrades), 1);
	/* The path decides, however it is cut into segments. */
	fd = client_open(&f);
	for (i = 0; i < strlen("GET /v1/ws "); i++) {
		client_send_n(fd, text + (i == 10 ? 14 + 9 - 13 : i), 1);
		(void)usleep(2000);
		if (i < 10)
			assert_int_equal(atomic_load(&f.upgrades), 1);
	}
	client_send(fd, " ");
	assert_true(recv(fd, got, sizeof(got), 0) > 0);
	assert_int_equal(atomic_load(&f.upgrades), 2);
	(void)close(fd);
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

	(void)state;
	for (i = 0; i < sizeof(asks) / sizeof(asks[0]); i++) {
		fd = client_open(&f);
		client_send(fd, GET("/hello"));
		client_read(fd, &r, 0);
		assert_int_equal(r.status, 200);
		client_send(fd, asks[i]);
		client_read(fd, &r, 0);
		assert_int_equal(r.status, 0);
		(void)close(fd);
	}
	assert_int_equal(atomic_load(&f.upgrades), upgrades);
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
						? "{\"hello\":\"world\"}"
						: "{}");
	}
	buf_fini(&b);
	(void)close(fd);
}

/* libmicrohttpd's own loop waits although exactly 128 connections are ready. */
static void
test_no_stall(void **state)
{
	static const int counts[] = {64, 127, 128, 129, 256};
	int64_t begin;
	int fds[256], i, n, round;
	size_t k;

	(void)state;
	for (k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {
		n = counts[k];
		begin = now_ms();
		for (i = 0; i < n; i++)
			fds[i] = client_open(&f);
		for (round = 0; round < 10; round++) {
			for (i = 0; i < n; i++)
				client_send(fds[i], GET("/later"));
			for (i = 0; i < n; i++) {
				client_read(fds[i], &r, 0);
				assert_int_equal(r.status, 200);
			}
		}
		for (i = 0; i < n; i++)
			(void)close(fds[i]);
		print_message("%d connections, 10 rounds: %lld ms\n", n,
		    (long long)(now_ms() - begin));
	}
}

static void
test_large_answer(void **state)
{
	int fd = client_open(&f), i, small = 4096;
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
	(void)close(fd);
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
			(void)close(fd);
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
	    cmocka_unit_test(test_ambiguous),
	    cmocka_unit_test(test_ambiguous_later),
	    cmocka_unit_test(test_many_headers),
	    cmocka_unit_test(test_harmless),
	    cmocka_unit_test(test_bodies),
	    cmocka_unit_test(test_body_limits),
	    cmocka_unit_test(test_expect),
	    cmocka_unit_test(test_upgrade),
	    cmocka_unit_test(test_upgrade_kept_alive),
	    cmocka_unit_test(test_pipelining),
	    cmocka_unit_test(test_no_stall),
	    cmocka_unit_test(test_large_answer),
	    cmocka_unit_test(test_no_memory),
	};

	return (cmocka_run_group_tests(tests, setup, teardown));
}
