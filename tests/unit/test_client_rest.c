/* SPDX-License-Identifier: MIT */
/*
 * Requests over libcurl to a server that the test plays: the bytes that are
 * sent, the options of libcurl, the name of each failure, and how long the
 * client repeats a request after 429 and 503.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <curl/curl.h>
#include <dlfcn.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "lib/rest.h"
#include "unit/rest_fixture.h"

/* ---- in the place of the C library's and of libcurl's ---- */

static int64_t slept_ms;

int
nanosleep(const struct timespec *wanted, struct timespec *left)
{

	(void)left;
	slept_ms += wanted->tv_sec * 1000 + wanted->tv_nsec / 1000000;
	return (0);
}

/* The text that was wiped last. */
static char wiped[32];

void __wrap_explicit_bzero(void *p, size_t n);
void __wrap___explicit_bzero_chk(void *p, size_t n, size_t size);

void
__wrap_explicit_bzero(void *p, size_t n)
{

	(void)snprintf(wiped, sizeof(wiped), "%.*s", (int)n, (const char *)p);
	memset(p, 0, n);
}

void
__wrap___explicit_bzero_chk(void *p, size_t n, size_t size)
{

	assert_true(n <= size);
	__wrap_explicit_bzero(p, n);
}

/* The options of libcurl that matter here, one line each. */
static char options[1024];

static void
note(const char *fmt, ...)
{
	size_t n = strlen(options);
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(options + n, sizeof(options) - n, fmt, ap);
	va_end(ap);
}

#undef curl_easy_setopt
CURLcode
curl_easy_setopt(CURL *curl, CURLoption option, ...)
{
	CURLcode (*real)(CURL *, CURLoption, ...);
	va_list ap;
	void *value;

	/* libcurl's numbers are of type long, which is as wide as a pointer. */
	_Static_assert(sizeof(long) == sizeof(void *), "passed alike");
	va_start(ap, option);
	value = va_arg(ap, void *);
	va_end(ap);
	switch ((int)option) {
	case CURLOPT_PROTOCOLS_STR:
		note("protocols %s\n", (const char *)value);
		break;
	case CURLOPT_NOSIGNAL:
		note("nosignal %ld\n", (long)(intptr_t)value);
		break;
	case CURLOPT_CONNECTTIMEOUT_MS:
		note("connect %ld ms\n", (long)(intptr_t)value);
		break;
	case CURLOPT_TIMEOUT_MS:
		note("timeout %ld ms\n", (long)(intptr_t)value);
		/* The time-out that the test sets may be too short for the
		 * request. */
		value = (void *)(intptr_t)60000;
		break;
	case CURLOPT_LOW_SPEED_LIMIT:
		note("at least %ld a second\n", (long)(intptr_t)value);
		break;
	case CURLOPT_LOW_SPEED_TIME:
		note("for %ld s\n", (long)(intptr_t)value);
		value = (void *)(intptr_t)60;
		break;
	case CURLOPT_NOPROXY:
		note("noproxy %s\n", (const char *)value);
		break;
	case CURLOPT_CAINFO:
		note("authorities %s\n", (const char *)value);
		break;
	default:
		break;
	}
	*(void **)&real = dlsym(RTLD_NEXT, "curl_easy_setopt");
	assert_non_null(real);
	return (real(curl, option, value));
}

/* ---- the test's side ---- */

static int
setup(void **state)
{
	(void)unsetenv("CURL_CA_BUNDLE");
	(void)unsetenv("SSL_CERT_FILE");
	(void)unsetenv("http_proxy");
	slept_ms = 0;
	wiped[0] = '\0';
	options[0] = '\0';
	return (rest_set_up(state));
}

/* Returns whether the last request had ${line}. */
static bool
has_line(struct fixture *f, const char *line)
{
	const char *head = played_head(f->played), *at;

	at = strstr(head, line);
	return (at != NULL && (at == head || at[-1] == '\n') &&
		strncmp(at + strlen(line), "\r\n", 2) == 0);
}

/* ---- requests ---- */

static void
test_get(void **state)
{
	struct fixture *f = *state;
	const struct rest_request request = {.path = "/v1/x?y=1"};
	struct rest_reply reply;

	played_say(f->played, 200, "{'a': 1}");
	assert_int_equal(rest_call(f->rest, &request, &reply, &f->fail), RC_OK);
	assert_string_equal(played_asked(f->played), "GET /v1/x?y=1\n");
	assert_true(has_line(f, "User-Agent: twinbox"));
	assert_true(
	    has_line(f, "Accept: application/json, application/problem+json"));
	assert_true(has_line(f, "Authorization: Bearer tb_secret"));
	assert_null(strstr(played_head(f->played), "Expect"));
	assert_null(strstr(played_head(f->played), "Content-"));
	assert_null(strstr(played_head(f->played), "Idempotency-Key"));
	assert_null(strstr(played_head(f->played), "If-None-Match"));
	assert_int_equal(reply.status, 200);
	assert_int_equal(
	    json_integer_value(json_object_get(reply.json, "a")), 1);
	rest_reply_fini(&reply);
	assert_null(reply.json);
	assert_string_equal(rest_server(f->rest), played_url(f->played));
}

static void
test_post(void **state)
{
	struct fixture *f = *state;
	json_t *body = json_pack("{si ss}", "n", 1, "text", "\xc3\xbc");
	const struct rest_request full = {.method = "POST",
	    .path = "/x",
	    .body = body,
	    .key = "key 1",
	    .if_none_match = "\"e\""};
	const struct rest_request empty = {.method = "POST", .path = "/y"};
	const struct rest_request put = {
	    .method = "PATCH", .path = "/z", .body = body};
	const struct rest_request gone = {.method = "DELETE", .path = "/w"};
	struct rest_reply reply;

	played_say(f->played, 201, "{}");
	assert_int_equal(rest_call(f->rest, &full, &reply, &f->fail), RC_OK);
	assert_string_equal(played_asked(f->played),
	    "POST /x\n{\"n\":1,\"text\":\"\xc3\xbc\"}\n");
	assert_true(has_line(f, "Content-Type: application/json"));
	assert_true(has_line(f, "Idempotency-Key: key 1"));
	assert_true(has_line(f, "If-None-Match: \"e\""));
	assert_int_equal(reply.status, 201);
	rest_reply_fini(&reply);
	played_say(f->played, 200, "{}");
	assert_int_equal(rest_call(f->rest, &empty, &reply, &f->fail), RC_OK);
	assert_string_equal(played_asked(f->played), "POST /y\n");
	assert_true(has_line(f, "Content-Length: 0"));
	rest_reply_fini(&reply);
	played_say(f->played, 200, "{}");
	assert_int_equal(rest_call(f->rest, &put, &reply, &f->fail), RC_OK);
	assert_string_equal(played_asked(f->played),
	    "PATCH /z\n{\"n\":1,\"text\":\"\xc3\xbc\"}\n");
	rest_reply_fini(&reply);
	/* Without a body there is no JSON, and nothing to free. */
	played_say(f->played, 204, "");
	assert_int_equal(rest_call(f->rest, &gone, &reply, &f->fail), RC_OK);
	assert_string_equal(played_asked(f->played), "DELETE /w\n");
	assert_null(strstr(played_head(f->played), "Content-Length"));
	assert_null(reply.json);
	json_decref(body);
}

static void
test_token(void **state)
{
	struct fixture *f = *state;
	struct rest_reply reply;

	rest_token_set(f->rest, "tb_other");
	assert_string_equal(wiped, "tb_secret");
	played_say(f->played, 200, "{}");
	get(f, &reply);
	assert_true(has_line(f, "Authorization: Bearer tb_other"));
	rest_reply_fini(&reply);
	/* The token is removed without memory, too. */
	mem_fail_at(1);
	rest_token_set(f->rest, "");
	mem_fail_at(0);
	assert_string_equal(wiped, "tb_other");
	played_say(f->played, 200, "{}");
	get(f, &reply);
	assert_null(strstr(played_head(f->played), "Authorization"));
	rest_reply_fini(&reply);
	/* Without memory the old token stays. */
	rest_token_set(f->rest, "tb_old");
	mem_fail_at(1);
	rest_token_set(f->rest, "tb_new");
	mem_fail_at(0);
	played_say(f->played, 200, "{}");
	get(f, &reply);
	assert_true(has_line(f, "Authorization: Bearer tb_old"));
	rest_reply_fini(&reply);
}

/* ---- the options of libcurl ---- */

static bool
take_all(void *arg, const char *p, size_t n)
{

	buf_add(arg, p, n);
	return (true);
}

static void
test_options(void **state)
{
	struct fixture *f = *state;
	struct buf taken = BUF_INIT;
	struct rest_request request = {.path = "/x"};
	struct rest_reply reply;

	played_say(f->played, 200, "{}");
	get(f, &reply);
	rest_reply_fini(&reply);
	assert_string_equal(options,
	    "protocols http,https\nnosignal 1\nconnect 5000 ms\n"
	    "timeout 20000 ms\nnoproxy *\n");
	options[0] = '\0';
	request.timeout_ms = 1;
	assert_int_equal(setenv("SSL_CERT_FILE", "/own.pem", 1), 0);
	assert_int_equal(setenv("CURL_CA_BUNDLE", "", 1), 0);
	played_say(f->played, 200, "{}");
	assert_int_equal(rest_call(f->rest, &request, &reply, &f->fail), RC_OK);
	rest_reply_fini(&reply);
	assert_string_equal(options,
	    "protocols http,https\nnosignal 1\nconnect 5000 ms\n"
	    "timeout 1 ms\nnoproxy *\nauthorities /own.pem\n");
	/* A request with a sink goes on as long as pieces of the body come. */
	options[0] = '\0';
	request.timeout_ms = 1001;
	request.sink = take_all;
	request.sink_arg = &taken;
	assert_int_equal(setenv("CURL_CA_BUNDLE", "/curl.pem", 1), 0);
	played_say(f->played, 200, "{}");
	assert_int_equal(rest_call(f->rest, &request, &reply, &f->fail), RC_OK);
	assert_string_equal(options,
	    "protocols http,https\nnosignal 1\nconnect 5000 ms\n"
	    "at least 1 a second\nfor 2 s\nnoproxy *\n"
	    "authorities /curl.pem\n");
	buf_fini(&taken);
}

/* A server on this machine is contacted directly, another one through the proxy
 * of the environment. */
static void
test_proxy(void **state)
{
	struct fixture *f = *state;
	const struct rest_request request = {.path = "/x"};
	struct rest_reply reply;
	struct rest *far;

	assert_int_equal(setenv("http_proxy", played_url(f->played), 1), 0);
	assert_int_equal(
	    rest_new("http://far.test", "", &far, &f->fail), RC_OK);
	played_say(f->played, 200, "{}");
	assert_int_equal(rest_call(far, &request, &reply, &f->fail), RC_OK);
	assert_string_equal(played_asked(f->played), "GET http://far.test/x\n");
	rest_reply_fini(&reply);
	rest_free(far);
	played_say(f->played, 200, "{}");
	get(f, &reply);
	assert_string_equal(played_asked(f->played), "GET /x\n");
	rest_reply_fini(&reply);
}

static void
test_authorities(void **state)
{

	(void)state;
	assert_null(rest_authorities());
	assert_int_equal(setenv("CURL_CA_BUNDLE", "", 1), 0);
	assert_int_equal(setenv("SSL_CERT_FILE", "", 1), 0);
	assert_null(rest_authorities());
	assert_int_equal(setenv("SSL_CERT_FILE", "/b", 1), 0);
	assert_string_equal(rest_authorities(), "/b");
	assert_int_equal(setenv("CURL_CA_BUNDLE", "/a", 1), 0);
	assert_string_equal(rest_authorities(), "/a");
	assert_int_equal(unsetenv("SSL_CERT_FILE"), 0);
	assert_string_equal(rest_authorities(), "/a");
}

/* ---- waiting ---- */

static void
test_patience(void **state)
{
	static const struct {
		int64_t patience_ms;
		int status;
		const char *headers;
		int times; /* the number of requests; all of them fail */
		int64_t slept_ms;
		int retry_after_s;
	} table[] = {
	    {0, 503, "", 1, 0, 0},
	    {999, 503, "", 1, 0, 0},
	    {1000, 503, "", 2, 1000, 0},
	    {2999, 429, "", 3, 2000, 0},
	    {3000, 429, "Retry-After: 0\r\n", 4, 3000, 0},
	    {1999, 503, "Retry-After: 2\r\n", 1, 0, 2},
	    {2000, 503, "Retry-After: 2\r\n", 2, 2000, 2},
	    {12000, 503, "retry-after:  12x \r\n", 2, 12000, 12},
	    {0, 503, "Retry-After: 1234567\r\n", 1, 0, 123456},
	    {0, 503, "Retry-After: 09\r\n", 1, 0, 9},
	    {0, 503, "Retry-After: 1:0\r\n", 1, 0, 1},
	    {0, 503, "Retry-After: 1/0\r\n", 1, 0, 1},
	    {0, 503, "Retry-After: soon\r\n", 1, 0, 0},
	    {0, 503, "Retry-After:\r\n", 1, 0, 0},
	    {9000, 500, "Retry-After: 1\r\n", 1, 0, 1},
	    {9000, 507, "", 1, 0, 0},
	};
	struct fixture *f = *state;
	struct rest_request request = {.path = "/x"};
	struct rest_reply reply;
	size_t i;
	int n;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		slept_ms = 0;
		request.patience_ms = table[i].patience_ms;
		for (n = 0; n < table[i].times; n++)
			played_say_more(
			    f->played, table[i].status, table[i].headers, "");
		memset(&f->fail, 0, sizeof(f->fail));
		assert_int_not_equal(
		    rest_call(f->rest, &request, &reply, &f->fail), RC_OK);
		assert_int_equal(f->fail.status, table[i].status);
		assert_int_equal(f->fail.retry_after_s, table[i].retry_after_s);
		assert_int_equal(slept_ms, table[i].slept_ms);
		assert_int_equal(strlen(played_asked(f->played)),
		    strlen("GET /x\n") * (size_t)table[i].times);
	}
	/* Once the server accepts the request, the call succeeds. */
	request.patience_ms = 1000;
	played_say(f->played, 503, "");
	played_say(f->played, 200, "{}");
	assert_int_equal(rest_call(f->rest, &request, &reply, &f->fail), RC_OK);
	rest_reply_fini(&reply);
	/* A broken connection after a 503 is reported as such. */
	played_say(f->played, 503, "");
	played_say_raw(f->played, "");
	assert_fails(f, &request, RC_PEER);
	assert_string_equal(f->fail.code, "unreachable");
	assert_string_equal(
	    played_asked(f->played), "GET /x\nGET /x\nGET /x\nGET /x\n");
}

static void
test_sleep(void **state)
{

	(void)state;
	rest_sleep(-1);
	rest_sleep(0);
	assert_int_equal(slept_ms, 0);
	rest_sleep(1);
	assert_int_equal(slept_ms, 1);
	rest_sleep(12345);
	assert_int_equal(slept_ms, 12346);
}

/* ---- failures ---- */

static void
test_broken(void **state)
{
	static const char *const raws[] = {
	    "", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"};
	struct fixture *f = *state;
	struct rest_request request = {.path = "/x"};
	char what[100];
	size_t i;

	(void)snprintf(
	    what, sizeof(what), "no answer from %s: ", played_url(f->played));
	for (i = 0; i < 2; i++) {
		/* A GET changes nothing, so its failure is never
		 * "uncertain". */
		request.method = NULL;
		played_say_raw(f->played, raws[i]);
		assert_fails(f, &request, RC_PEER);
		assert_string_equal(f->fail.code, "unreachable");
		assert_memory_equal(f->fail.what, what, strlen(what));
		assert_true(strlen(f->fail.what) > strlen(what));
		request.method = "POST";
		played_say_raw(f->played, raws[i]);
		assert_fails(f, &request, RC_UNCERTAIN);
		assert_string_equal(f->fail.code, "uncertain");
	}
	played_say_raw(f->played, "hello\r\n");
	assert_fails(f, &request, RC_PEER);
	assert_string_equal(f->fail.code, "protocol");
	assert_non_null(strstr(f->fail.what, " does not speak HTTP"));
}

static void
test_nobody_listens(void **state)
{
	const struct rest_request request = {.method = "POST", .path = "/x"};
	struct played *gone = played_start();
	struct fixture *f = *state;
	struct rest_reply reply;
	struct rest *rest;
	char what[100];

	assert_int_equal(
	    rest_new(played_url(gone), "", &rest, &f->fail), RC_OK);
	(void)snprintf(what, sizeof(what),
	    "cannot reach %s: Connection refused", played_url(gone));
	played_stop(gone);
	assert_int_equal(rest_call(rest, &request, &reply, &f->fail), RC_PEER);
	assert_string_equal(f->fail.code, "unreachable");
	assert_string_equal(f->fail.what, what);
	rest_free(rest);
}

static void
test_no_certificate(void **state)
{
	const struct rest_request request = {.path = "/x"};
	struct fixture *f = *state;
	struct rest_reply reply;
	struct rest *rest;
	char url[64];

	(void)snprintf(
	    url, sizeof(url), "https%s", strchr(played_url(f->played), ':'));
	assert_int_equal(rest_new(url, "", &rest, &f->fail), RC_OK);
	assert_int_equal(setenv("CURL_CA_BUNDLE", "/nowhere/ca.pem", 1), 0);
	assert_int_equal(
	    rest_call(rest, &request, &reply, &f->fail), RC_DENIED);
	assert_string_equal(f->fail.code, "untrusted");
	assert_non_null(strstr(f->fail.what, "no secure connection to https"));
	rest_free(rest);
}

static void
test_no_path(void **state)
{
	const struct rest_request request = {.method = "POST"};
	struct fixture *f = *state;

	assert_fails(f, &request, RC_NO_MEMORY);
	assert_string_equal(played_asked(f->played), "");
}

/* Whichever allocation fails, no request is sent. */
static void
test_no_memory(void **state)
{
	struct fixture *f = *state;
	json_t *body = json_object();
	const struct rest_request request = {
	    .method = "POST", .path = "/x", .body = body, .key = "k"};
	struct rest_reply reply;
	struct rest *rest;
	enum rc rc;
	int k;

	for (k = 1;; k++) {
		assert_true(k < 50);
		played_say(f->played, 200, "{}");
		mem_fail_at(k);
		rc = rest_call(f->rest, &request, &reply, &f->fail);
		if (mem_fail_pending())
			break;
		mem_fail_at(0);
		if (strcmp(played_asked(f->played), "") == 0) {
			assert_int_equal(rc, RC_NO_MEMORY);
			/* Take the answer that is left. */
			get(f, &reply);
			(void)played_asked(f->played);
		} else /* There was no memory for the answer. */
			assert_int_not_equal(rc, RC_OK);
		if (rc != RC_OK || reply.json != NULL)
			rest_reply_fini(&reply);
	}
	mem_fail_at(0);
	assert_int_equal(rc, RC_OK);
	rest_reply_fini(&reply);
	assert_true(k > 5);
	json_decref(body);
	for (k = 1;; k++) {
		assert_true(k < 50);
		mem_fail_at(k);
		rc = rest_new("http://x", "t", &rest, &f->fail);
		if (mem_fail_pending())
			break;
		assert_int_equal(rc, RC_NO_MEMORY);
	}
	mem_fail_at(0);
	assert_int_equal(rc, RC_OK);
	assert_int_equal(k, 4);
	rest_free(rest);
	rest_free(NULL);
}

/* ---- a function that runs beside a request ---- */

struct beside {
	int pipe[2];
	int calls;
	int until; /* the call that gives up; 0: none does */
	struct played *played;
};

/* Takes a byte from the pipe; the server answers only after that. */
static bool
serve_beside(void *arg)
{
	struct beside *beside = arg;
	char c;

	if (++beside->calls == 1)
		assert_int_equal(read(beside->pipe[0], &c, 1), 1);
	return (beside->calls != beside->until);
}

static void
test_idle(void **state)
{
	struct fixture *f = *state;
	struct beside beside = {.until = 0, .played = f->played};
	struct rest_idle idle = {.nfds = 1, .fn = serve_beside, .arg = &beside};
	const struct rest_request request = {
	    .method = "POST", .path = "/x", .idle = &idle};
	struct rest_reply reply;
	int i;

	assert_int_equal(pipe(beside.pipe), 0);
	idle.fds[0] = beside.pipe[0];
	for (i = 0; i < 2; i++) {
		beside.calls = 0;
		assert_int_equal(write(beside.pipe[1], "x", 1), 1);
		played_say(f->played, 200, "{'a': 1}");
		assert_int_equal(
		    rest_call(f->rest, &request, &reply, &f->fail), RC_OK);
		assert_true(beside.calls > 0);
		assert_non_null(json_object_get(reply.json, "a"));
		rest_reply_fini(&reply);
	}
	played_say(f->played, 403, "{'code': 'forbidden'}");
	assert_fails(f, &request, RC_DENIED);
	/* The function gives up while the request is under way: its result is
	 * unknown. */
	beside.calls = 0;
	beside.until = 1;
	assert_int_equal(write(beside.pipe[1], "x", 1), 1);
	assert_fails(f, &request, RC_UNCERTAIN);
	assert_int_equal(beside.calls, 1);
	(void)close(beside.pipe[0]);
	(void)close(beside.pipe[1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, rest_tear_down)

/* Of two entity tags the last one counts, and no part of the first is left. */
static void
test_entity_tag(void **state)
{
	struct fixture *f = *state;
	struct rest_request request = {.path = "/x"};
	struct rest_reply reply;

	played_say_more(
	    f->played, 200, "ETag: \"longer\"\r\nETag: \"b\"\r\n", "{}");
	assert_int_equal(rest_call(f->rest, &request, &reply, &f->fail), RC_OK);
	assert_string_equal(reply.etag, "\"b\"");
	rest_reply_fini(&reply);
	played_say(f->played, 200, "{}");
	assert_int_equal(rest_call(f->rest, &request, &reply, &f->fail), RC_OK);
	assert_string_equal(reply.etag, "");
	rest_reply_fini(&reply);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_get),
	    TEST(test_post),
	    TEST(test_token),
	    TEST(test_options),
	    TEST(test_proxy),
	    TEST(test_authorities),
	    TEST(test_patience),
	    TEST(test_sleep),
	    TEST(test_broken),
	    TEST(test_nobody_listens),
	    TEST(test_no_certificate),
	    TEST(test_no_path),
	    TEST(test_no_memory),
	    TEST(test_idle),
	    TEST(test_entity_tag),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
