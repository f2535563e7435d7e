/* SPDX-License-Identifier: MIT */
/*
 * Answers byte for byte: refusals with each of their reasons, heads, the answer
 * to connections that the front turns away; and the loop that serves each
 * connection.
 */
#include "http_fixture.h"

#include <sys/socket.h>

#include <netinet/in.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/mem.h"

#define LOOPS 3
#define ID "X-Request-Id: r1\r\n"
#define LINE "GET /hello HTTP/1.1\r\n" HOST

static struct fixture f;
static struct reply r;

/* Compares the head without its date. */
static void
assert_head(const char *want)
{
	char *date = strstr(r.head, "Date: "), *end;

	if (date != NULL) {
		end = strstr(date, "\r\n") + 2;
		memmove(date, end, strlen(end) + 1);
	}
	assert_string_equal(r.head, want);
}

/* Compares the whole refusal; ${rest} follows its request id. */
static void
assert_refusal(enum problem problem, const char *detail, const char *instance,
    const char *rest)
{
	char want[1024], code[64], *dash;

	(void)snprintf(code, sizeof(code), "%s", problem_slug(problem));
	while ((dash = strchr(code, '-')) != NULL)
		*dash = '_';
	(void)snprintf(want, sizeof(want),
	    "{\"type\":\"/problems/%s\",\"title\":\"%s\",\"status\":%d,"
	    "\"detail\":\"%s\",\"instance\":\"%s\",\"code\":\"%s\","
	    "\"request_id\":\"r1\"%s}\n",
	    problem_slug(problem), problem_title(problem),
	    problem_status(problem), detail, instance, code, rest);
	assert_int_equal(r.status, problem_status(problem));
	assert_string_equal(r.body, want);
}

static void
test_refusals(void **state)
{

	(void)state;
	(void)ask(&f, "GET /none HTTP/1.1\r\n" HOST ID "\r\n", &r, NULL);
	assert_refusal(PROBLEM_NOT_FOUND, "there is no /none", "/none", "");
	assert_head("HTTP/1.1 404 Not Found\r\n"
		    "Content-Type: application/problem+json\r\n"
		    "X-Request-Id: r1\r\nX-Content-Type-Options: nosniff\r\n"
		    "Cache-Control: no-store\r\nContent-Length: 153\r\n\r\n");
	(void)ask(&f, "GET /busy HTTP/1.1\r\n" HOST ID "\r\n", &r, NULL);
	assert_refusal(
	    PROBLEM_BUSY, "a queue is full", "/busy", ",\"retry_after\":7");
	assert_string_equal(reply_header(&r, "Retry-After"), "7");
	/* The wait is a second at least. */
	(void)ask(&f, "GET /busy?now HTTP/1.1\r\n" HOST ID "\r\n", &r, NULL);
	assert_refusal(
	    PROBLEM_BUSY, "a queue is full", "/busy", ",\"retry_after\":1");
	assert_string_equal(reply_header(&r, "Retry-After"), "1");
	(void)ask(&f, "GET /error HTTP/1.1\r\n" HOST ID "\r\n", &r, NULL);
	assert_refusal(PROBLEM_INTERNAL,
	    "the server failed; its log has the story", "/error", "");
	assert_null(reply_header(&r, "Retry-After"));
	(void)ask(&f, "GET /error?busy HTTP/1.1\r\n" HOST ID "\r\n", &r, NULL);
	assert_refusal(
	    PROBLEM_BUSY, rc_text(RC_BUSY), "/error", ",\"retry_after\":1");
	(void)ask(&f, "GET /private HTTP/1.1\r\n" HOST ID "\r\n", &r, NULL);
	assert_refusal(PROBLEM_UNAUTHENTICATED, "no token", "/private", "");
	(void)ask(&f, "PUT /echo HTTP/1.1\r\n" HOST ID "\r\n", &r, NULL);
	assert_refusal(PROBLEM_METHOD_NOT_ALLOWED,
	    "this path takes POST, DELETE, OPTIONS", "/echo", "");
}

/* Each reason to refuse a head or a body, in the words of the answer. */
static const struct {
	const char *text;
	int status;
	const char *detail;
} reasons[] = {
    {LINE "Content-Type: a/b\r\nContent-Type: a/b\r\n\r\n", 400,
	"there is more than one Content-Type"},
    {LINE "Authorization: a\r\nAuthorization: a\r\n\r\n", 400,
	"there is more than one Authorization"},
    {LINE "Expect: 100-continue\r\nExpect: 100-continue\r\n\r\n", 400,
	"there is more than one Expect"},
    {LINE "X(A: 1\r\n\r\n", 400,
	"a header's name is empty or has a character that names do "
	"not have"},
    {LINE "X-A: a\x7f\r\n\r\n", 400,
	"a header's value has a control character"},
    {LINE "X-A: 1\nX-B: 2\r\n\r\n", 400,
	"a header is folded, has a NUL, or its line does not end with "
	"CR LF"},
    {"GET  /hello HTTP/1.1\r\n" HOST "\r\n", 400,
	"the request line has superfluous spaces or a NUL"},
    {"GET /hello HTTP/1.9\r\n" HOST "\r\n", 400,
	"the version must be HTTP/1.1 or HTTP/1.0"},
    {LINE HOST "\r\n", 400, "there must be exactly one Host"},
    {"GET /hello HTTP/1.1\r\n\r\n", 400, "there must be exactly one Host"},
    {"GET /hello HTTP/1.0\r\n" HOST HOST "\r\n", 400,
	"there must be exactly one Host"},
    {"GET /hello HTTP/1.1\r\nHost: a/b\r\n\r\n", 400, "Host is malformed"},
    {POST "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", 400,
	"there is more than one Content-Length"},
    {POST "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n", 400,
	"Content-Length and Transfer-Encoding exclude each other"},
    {POST "Transfer-Encoding: gzip\r\n\r\n", 400,
	"Transfer-Encoding can only be \\\"chunked\\\", once, in "
	"HTTP/1.1"},
    {POST "Content-Length: x\r\n\r\n", 400,
	"Content-Length is not a number, or too large a one"},
    {POST "Content-Length: 0000000000000000002\r\n\r\n{}", 400,
	"Content-Length has too many leading zeros"},
    {"BREW /hello HTTP/1.1\r\n" HOST "\r\n", 400, "the method is unknown"},
    {LINE "Content-Length: 2\r\n\r\n{}", 400, "this method takes no body"},
    {"HEAD /hello HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\n{}", 400, NULL},
    {"OPTIONS /hello HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\n{}", 400,
	"this method takes no body"},
    {POST "Content-Length: 2\r\nExpect: 200-ok\r\n\r\n{}", 417,
	"Expect can only be \\\"100-continue\\\""},
    {LINE "Expect: 100-continue\r\n\r\n", 417, "there is no body to wait for"},
    {"GET hello HTTP/1.1\r\n" HOST "\r\n", 400,
	"the request target must be a path"},
    {"GET /hello#x HTTP/1.1\r\n" HOST "\r\n", 400,
	"the request target has a character that must be "
	"percent-encoded"},
    {"GET /%zz HTTP/1.1\r\n" HOST "\r\n", 400,
	"the path has a broken escape, a dot segment, an encoded slash "
	"or control character, or is not UTF-8"},
    {"GET /query?a=%zz HTTP/1.1\r\n" HOST "\r\n", 400,
	"the query has a broken escape, is not UTF-8, or has more than "
	"32 parameters"},
    {"DELETE /echo HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\n{}", 400,
	"this route takes no body"},
    {"POST /echo HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\n{}", 415,
	"the Content-Type must be application/json"},
    {"POST /text HTTP/1.1\r\n" HOST "Content-Type: image/png\r\n"
     "Content-Length: 2\r\n\r\n{}",
	415, "the Content-Type must be text or JSON in UTF-8"},
    {POST "Content-Length: 131073\r\n\r\n", 413,
	"the request is longer than 131072 bytes, the most that this route "
	"accepts"},
    {"POST /text HTTP/1.1\r\n" HOST "Content-Type: text/plain\r\n"
     "Content-Length: 131073\r\n\r\n",
	413,
	"the request is longer than 131072 bytes, the most that this route "
	"accepts; the text of a message has at most 16384"},
    {"POST /large HTTP/1.1\r\n" HOST "Content-Type: application/json\r\n"
     "Content-Length: 1048577\r\n\r\n",
	413,
	"the request is longer than 1048576 bytes, the most that this route "
	"accepts; the text of a message has at most 16384"},
};

static void
test_reasons(void **state)
{
	char want[256];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++) {
		(void)ask(&f, reasons[i].text, &r, NULL);
		if (reasons[i].detail == NULL) {
			assert_int_equal(r.status, reasons[i].status);
			continue;
		}
		(void)snprintf(want, sizeof(want), "\"detail\":\"%s\",",
		    reasons[i].detail);
		if (r.status != reasons[i].status ||
		    strstr(r.body, want) == NULL)
			fail_msg("%s is answered %s%s", reasons[i].text, r.head,
			    r.body);
	}
}

/* Heads just short of each reason are accepted. */
static void
test_borders(void **state)
{
	static const char *const fine[] = {
	    LINE "Content-Length: 0\r\n\r\n",
	    LINE "X-!#$%&'*+-.^_`|~09azAZ: \t~\x80\xff\r\n\r\n",
	    "GET /hello HTTP/1.0\r\n\r\n",
	    POST "Content-Length: 000000000000000002\r\n\r\n{}",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(fine) / sizeof(fine[0]); i++)
		if (ask(&f, fine[i], &r, NULL) != 200)
			fail_msg(
			    "%s is answered %s%s", fine[i], r.head, r.body);
	/* The first and last characters of an escape, and their neighbours. */
	assert_int_equal(
	    ask(&f, GET("/items/%30%39%4a%4A%5f%5F%61"), &r, NULL), 200);
	assert_non_null(strstr(r.body, "GET /items/09JJ__a"));
	assert_int_equal(ask(&f, GET("/items/%3:"), &r, NULL), 400);
	assert_int_equal(ask(&f, GET("/items/%3/"), &r, NULL), 400);
	assert_int_equal(ask(&f, GET("/items/%4G"), &r, NULL), 400);
	assert_int_equal(ask(&f, GET("/items/%4@"), &r, NULL), 400);
	assert_int_equal(ask(&f, GET("/items/%4g"), &r, NULL), 400);
	assert_int_equal(ask(&f, GET("/items/%4`"), &r, NULL), 400);
	assert_int_equal(ask(&f, GET("/items/a%1f"), &r, NULL), 400);
	assert_int_equal(ask(&f, GET("/items/a%20"), &r, NULL), 200);
	assert_int_equal(ask(&f, GET("/items/a%7e"), &r, NULL), 200);
	assert_int_equal(ask(&f, GET("/items/a%7f"), &r, NULL), 400);
}

/* Requests a target of ${n} bytes. */
static int
ask_target(size_t n)
{
	static char text[16384];
	const char *begin = "GET /query?a=";
	size_t k = strlen("/query?a=");

	(void)snprintf(text, sizeof(text), "%s%0*d HTTP/1.1\r\n" HOST "\r\n",
	    begin, (int)(n - k), 1);
	return (ask(&f, text, &r, NULL));
}

/* Requests a target with ${n} parameters. */
static int
ask_parameters(int n)
{
	struct buf b = BUF_INIT;
	int i, status;

	buf_adds(&b, "GET /query?x=");
	for (i = 1; i < n; i++)
		buf_addf(&b, "&p%d=", i);
	buf_adds(&b, " HTTP/1.1\r\n" HOST "\r\n");
	buf_addc(&b, '\0');
	assert_true(buf_ok(&b));
	status = ask(&f, b.data, &r, NULL);
	buf_fini(&b);
	return (status);
}

static int
ask_headers(int n)
{
	struct buf b = BUF_INIT;
	int i, status;

	buf_adds(&b, LINE);
	for (i = 1; i < n; i++)
		buf_addf(&b, "X-%d:1\r\n", i);
	buf_adds(&b, "\r\n");
	buf_addc(&b, '\0');
	assert_true(buf_ok(&b));
	status = ask(&f, b.data, &r, NULL);
	buf_fini(&b);
	return (status);
}

static int
ask_host(int n)
{
	char text[512];

	(void)snprintf(text, sizeof(text),
	    "GET /hello HTTP/1.1\r\nHost: %0*d\r\n\r\n", n, 1);
	return (ask(&f, text, &r, NULL));
}

static int
ask_id(int n)
{
	char text[512];

	(void)snprintf(text, sizeof(text),
	    "GET /hello HTTP/1.1\r\n" HOST "X-Request-Id: %0*d\r\n\r\n", n, 1);
	assert_int_equal(ask(&f, text, &r, NULL), 200);
	return ((int)strlen(reply_header(&r, "X-Request-Id")));
}

/* The largest accepted number, and one more. */
static void
test_limits(void **state)
{

	(void)state;
	assert_int_equal(ask_target(8192), 200);
	assert_int_equal(ask_target(8193), 400);
	assert_non_null(
	    strstr(r.body, "the request target is longer than 8192 bytes"));
	assert_int_equal(ask_parameters(32), 200);
	assert_int_equal(ask_parameters(33), 400);
	assert_int_equal(ask_headers(100), 200);
	assert_int_equal(ask_headers(101), 431);
	assert_non_null(strstr(r.body, "there are too many headers"));
	assert_int_equal(ask_host(300), 200);
	assert_int_equal(ask_host(301), 400);
	assert_int_equal(ask_id(64), 64);
	assert_int_equal(ask_id(65), 36);
	assert_int_equal(
	    ask(&f, "GET /hello HTTP/1.1\r\n" HOST "X-Request-Id:\r\n\r\n", &r,
		NULL),
	    200);
	assert_int_equal(strlen(reply_header(&r, "X-Request-Id")), 36);
	assert_int_equal(ask(&f, GET("/1/2/3/4/5/6/7/8"), &r, NULL), 404);
	assert_non_null(strstr(r.body, "there is no /1/2/3/4/5/6/7/8\""));
	assert_int_equal(ask(&f, GET("/1/2/3/4/5/6/7/8/9"), &r, NULL), 404);
	assert_non_null(strstr(r.body, "there is no /1/2/3/4/5/6/7/8/9\""));
}

/* Requests are counted when they begin; a stop depends on this count. */
static void
test_begun(void **state)
{
	uint64_t begun = http_begun(f.http);

	(void)state;
	assert_int_equal(ask(&f, GET("/hello"), &r, NULL), 200);
	assert_int_equal(http_begun(f.http), begun + 1);
	assert_int_equal(ask(&f, GET("/none"), &r, NULL), 404);
	assert_int_equal(http_begun(f.http), begun + 2);
}

/* ---- the front ---- */

/* The front answers ${text}, which begins no request, with ${detail}. */
static void
assert_turned_away(const char *text, const char *detail)
{
	int64_t away = metrics_get(f.metrics, METRIC_HTTP_TURNED_AWAY);
	char want[512], id[64];

	assert_int_equal(ask(&f, text, &r, NULL), 400);
	(void)snprintf(id, sizeof(id), "%s", reply_header(&r, "X-Request-Id"));
	(void)snprintf(want, sizeof(want),
	    "{\"type\":\"/problems/bad-request\",\"title\":\"%s\","
	    "\"status\":400,\"detail\":\"%s\",\"code\":\"bad_request\","
	    "\"request_id\":\"%s\"}\n",
	    problem_title(PROBLEM_BAD_REQUEST), detail, id);
	assert_string_equal(r.body, want);
	(void)snprintf(want, sizeof(want),
	    "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n"
	    "Content-Type: application/problem+json\r\nX-Request-Id: %s\r\n"
	    "X-Content-Type-Options: nosniff\r\nCache-Control: no-store\r\n"
	    "Content-Length: %zu\r\n\r\n",
	    id, r.body_len);
	assert_string_equal(r.head, want);
	AWAIT(metrics_get(f.metrics, METRIC_HTTP_TURNED_AWAY) == away + 1);
}

static void
test_turned_away(void **state)
{

	(void)state;
	assert_turned_away("\x16\x03\x01", "this port speaks HTTP/1.1 without "
					   "TLS; TLS is the proxy's");
	assert_turned_away(
	    "\x01", "this is not the beginning of a request of HTTP/1.1");
}

/* ---- loops ---- */

static int
loop_of(int fd)
{
	const char *digit;

	client_send(fd, GET("/peer"));
	client_read(fd, &r, 0);
	assert_int_equal(r.status, 200);
	assert_int_equal(strncmp(r.body, "127.0.0.1 ", 10), 0);
	digit = r.body + strcspn(r.body + 10, "0123456789") + 10;
	return ((int)strtoll(digit, NULL, 10));
}

/* A new connection goes to the loop with the fewest connections. */
static void
test_fewest(void **state)
{
	int fds[4 * LOOPS], loops[4 * LOOPS], counts[LOOPS + 1] = {0}, i, fd;

	(void)state;
	AWAIT(metrics_get(f.metrics, METRIC_HTTP_CONNECTIONS) == 0);
	for (i = 0; i < 4 * LOOPS; i++) {
		fds[i] = client_open(&f);
		loops[i] = loop_of(fds[i]);
		assert_in_range(loops[i], 0, LOOPS - 1);
		counts[loops[i]]++;
	}
	for (i = 0; i < LOOPS; i++)
		assert_int_equal(counts[i], 4);
	/* All connections of loop 1 close, and as many new ones take their
	 * place. */
	for (i = 0; i < 4 * LOOPS; i++)
		if (loops[i] == 1)
			client_close(fds[i]);
	AWAIT(metrics_get(f.metrics, METRIC_HTTP_CONNECTIONS) == 4 * LOOPS - 4);
	for (i = 0; i < 4; i++) {
		fd = client_open(&f);
		assert_int_equal(loop_of(fd), 1);
	}
	client_close_left();
}

/* ---- without memory ---- */

/* The memory for a long target fails: the answer is 503, or there is none, but
 * no part of the target counts as the whole. */
static void
test_no_memory_for_target(void **state)
{
	char text[6000];
	int64_t k;
	int fd, fine = 0, refused = 0;

	(void)state;
	(void)snprintf(text, sizeof(text),
	    "GET /query?a=%05000d HTTP/1.1\r\n" HOST "\r\n", 1);
	for (k = 1; k < 60 && fine < 10; k++) {
		fd = client_open(&f);
		mem_fail_at(k);
		client_send(fd, text);
		client_read(fd, &r, 0);
		mem_fail_at(0);
		client_close(fd);
		if (r.status == 200) {
			fine++;
			continue;
		}
		fine = 0;
		refused++;
		assert_true(r.status == 0 || r.status == 503);
	}
	assert_int_equal(fine, 10);
	assert_true(refused > 1);
}

/* ---- addresses ---- */

/* A server on ::1 alone, with two connections for each address. */
static void
test_address_limit(void **state)
{
	struct http_options o = {.listen = "[::1]:0",
	    .loops = 1,
	    .routes = (const struct http_routes[]){{fixture_routes, NULL, NULL},
		{NULL, NULL, NULL}},
	    .route_arg = &f,
	    .request_deadline_ms = HOUR_MS,
	    .idle_deadline_ms = HOUR_MS,
	    .connection_limit = 100,
	    .address_limit = 2,
	    .clk = clk_system(),
	    .metrics = f.metrics};
	struct sockaddr_in6 in = {
	    .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int64_t away = metrics_get(f.metrics, METRIC_HTTP_TURNED_AWAY);
	struct http *http;
	struct err err = ERR_INIT;
	int fds[3], i;

	(void)state;
	assert_int_equal(http_new(&o, &http, &err), RC_OK);
	assert_int_equal(http_start(http, &err), RC_OK);
	in.sin6_port = htons((uint16_t)http_port(http));
	for (i = 0; i < 3; i++) {
		fds[i] = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
		assert_int_equal(
		    connect(fds[i], (struct sockaddr *)&in, sizeof(in)), 0);
		if (i < 2)
			client_send(fds[i], GET("/peer"));
		client_read(fds[i], &r, 0);
		if (i < 2)
			assert_int_equal(strncmp(r.body, "::1 ", 4), 0);
	}
	assert_int_equal(r.status, 429);
	assert_string_equal(reply_header(&r, "Retry-After"), "1");
	assert_non_null(strstr(
	    r.body, "\"detail\":\"too many connections from this address\""));
	AWAIT(metrics_get(f.metrics, METRIC_HTTP_TURNED_AWAY) == away + 1);
	for (i = 0; i < 3; i++)
		(void)close(fds[i]);
	/* There is room again when these have closed. */
	AWAIT(http_connections(http) == 0);
	http_stop(http);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_refusals),
	    cmocka_unit_test(test_reasons),
	    cmocka_unit_test(test_borders),
	    cmocka_unit_test(test_limits),
	    cmocka_unit_test(test_begun),
	    cmocka_unit_test(test_turned_away),
	    cmocka_unit_test(test_fewest),
	    cmocka_unit_test(test_no_memory_for_target),
	    cmocka_unit_test(test_address_limit),
	};

	return (FIXTURE_RUN(&f, LOOPS, 1000, tests));
}
