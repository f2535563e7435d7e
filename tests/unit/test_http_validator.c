/* SPDX-License-Identifier: MIT */
/*
 * Heads that another program could read differently are refused, and no others.
 * Each case of the table runs on a fresh connection and on a kept one.
 */
#include "http_fixture.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static struct fixture f;
static struct reply r;

#define LINE "GET /hello HTTP/1.1\r\n" HOST

/* Each is refused with 400, or closed without an answer where libmicrohttpd
 * does so itself (0), and the connection ends. */
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
		closed = client_closed(fd);
		if (r.status != ambiguous[i].status || !closed)
			fail_msg("%s: %d%s\n%s%s", ambiguous[i].name, r.status,
			    closed ? "" : ", not closed", r.head, r.body);
		client_close(fd);
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
		if (r.status != ambiguous[i].status || !client_closed(fd))
			fail_msg("%s: %d", ambiguous[i].name, r.status);
		client_close(fd);
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
	assert_int_equal(ask(&f, text, &r, NULL), 431);
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_ambiguous),
	    cmocka_unit_test(test_ambiguous_later),
	    cmocka_unit_test(test_many_headers),
	    cmocka_unit_test(test_harmless),
	};

	return (FIXTURE_RUN(&f, 2, 1000, tests));
}
