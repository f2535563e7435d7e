/* SPDX-License-Identifier: MIT */
/*
 * How a client reads the answers of a server that the test plays: headers,
 * statuses, bodies in one piece and in several; which server addresses are
 * valid; and the texts of refusals for operators.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "lib/admin.h"
#include "lib/dump.h"
#include "lib/parse.h"
#include "lib/rest.h"
#include "unit/rest_fixture.h"

/* ---- answers ---- */

#define X31 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
#define X124 X31 X31 X31 X31

static void
test_headers(void **state)
{
	static const struct {
		const char *headers;
		const char *etag;
		bool replayed;
		int64_t date_ms;
	} table[] = {
	    {"", "", false, 0},
	    {"ETag: \"a\"\r\nIdempotency-Replayed: true\r\n"
	     "Date: Sat, 21 Nov 2026 12:00:00 GMT\r\n",
		"\"a\"", true, INT64_C(1795262400000)},
	    {"etag:b\r\nIDEMPOTENCY-REPLAYED:TRUE\r\n", "b", true, 0},
	    {"ETag: \t c \t\r\nIdempotency-Replayed: \ttrue \r\n", "c", true,
		0},
	    {"ETag: d e\r\nIdempotency-Replayed: truex\r\n", "d e", false, 0},
	    {"ETag:\r\nIdempotency-Replayed: tru\r\n", "", false, 0},
	    {"ETag:   \r\nIdempotency-Replayed: false\r\n", "", false, 0},
	    {"ETags: x\r\nIdempotency-Replayed-Not: true\r\n", "", false, 0},
	    {"ETa: x\r\nX-ETag: x\r\n", "", false, 0},
	    {"Xtag: x\r\n", "", false, 0},
	    {"ETag: xxx" X124 "\r\n", "xxx" X124, false, 0},
	    {"ETag: xxxx" X124 "\r\n", "", false, 0},
	    {"Date: some day\r\n", "", false, 0},
	    {"Date: Thu, 01 Jan 1970 00:00:01 GMT\r\n", "", false, 1000},
	    /* 39 bytes fit, 40 do not. */
	    {"Date: Sat,           21 Nov 2026 12:00:00 GMT\r\n", "", false,
		INT64_C(1795262400000)},
	    {"Date: Sat,            21 Nov 2026 12:00:00 GMT\r\n", "", false,
		0},
	};
	struct fixture *f = *state;
	struct rest_reply reply;
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		played_say_more(f->played, 200, table[i].headers, "{}");
		get(f, &reply);
		assert_string_equal(reply.etag, table[i].etag);
		assert_int_equal(reply.replayed, table[i].replayed);
		assert_int_equal(reply.date_ms, table[i].date_ms);
		rest_reply_fini(&reply);
	}
}

static void
test_not_modified(void **state)
{
	struct fixture *f = *state;
	struct rest_reply reply;

	played_say_more(f->played, 304, "ETag: \"a\"\r\n", "");
	get(f, &reply);
	assert_int_equal(reply.status, 304);
	assert_string_equal(reply.etag, "\"a\"");
	assert_null(reply.json);
}

static void
test_statuses(void **state)
{
	static const struct {
		int status;
		const char *body;
		enum rc rc;
		const char *code;
	} table[] = {
	    {200, "{'a': 1}", RC_OK, ""},
	    {299, "[]", RC_OK, ""},
	    {200, "", RC_OK, ""},
	    {300, "{}", RC_PEER, "protocol"},
	    {305, "", RC_PEER, "protocol"},
	    {200, "{", RC_PEER, "protocol"},
	    {200, "x", RC_PEER, "protocol"},
	    {200, "{'a': 1, 'a': 2}", RC_PEER, "protocol"},
	    {403, "{'code': 'forbidden', 'detail': 'no'}", RC_DENIED,
		"forbidden"},
	    {404, "<html>", RC_PEER, "protocol"},
	};
	struct fixture *f = *state;
	const struct rest_request request = {.path = "/x"};
	struct rest_reply reply;
	char what[200];
	size_t i;

	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		played_say(f->played, table[i].status, table[i].body);
		if (table[i].rc == RC_OK) {
			get(f, &reply);
			assert_int_equal(reply.status, table[i].status);
			assert_int_equal(
			    reply.json != NULL, table[i].body[0] != '\0');
			rest_reply_fini(&reply);
			continue;
		}
		assert_fails(f, &request, table[i].rc);
		assert_string_equal(f->fail.code, table[i].code);
		if (table[i].status == 200) {
			(void)snprintf(what, sizeof(what),
			    "%s answers with what cannot be read: not valid "
			    "JSON at line 1, column ",
			    played_url(f->played));
			assert_memory_equal(f->fail.what, what, strlen(what));
		}
	}
}

/* Answers of a broken or hostile server exhaust neither the stack nor memory,
 * and the failure names the place in the text. */
static void
test_hostile(void **state)
{
	static const struct {
		const char *text, *what;
	} table[] = {
	    {"{\"a\": 1, \"a\": 2}", "X: not valid JSON at line 1, column "},
	    {"{\n\"a\": \"\\u0000\"}",
		"X: a text holds a NUL character (\\u0000), which is not "
		"supported: line 2, column 13"},
	    {"[99999999999999999999]",
		"X: not valid JSON at line 1, column 21: "},
	    {"[1e999]", "X: not valid JSON at line 1, column 6: "},
	    {"1", "X: neither an object nor an array"},
	    {"\"a\"", "X: neither an object nor an array"},
	    {" ", "X: JSON is expected, but there is nothing"},
	};
	struct fail fail;
	json_t *json;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		assert_int_equal(parse_json("X", table[i].text,
				     strlen(table[i].text), &json, &fail),
		    RC_PEER);
		assert_null(json);
		assert_memory_equal(
		    fail.what, table[i].what, strlen(table[i].what));
		assert_int_equal(fail.exit, EX_PROTOCOL);
	}
	/* The parser stops at the given length, and refuses a NUL byte before
	 * it. */
	assert_int_equal(parse_json("X", "[1]]", 3, &json, &fail), RC_OK);
	json_decref(json);
	assert_int_equal(parse_json("X", "[1\0]", 4, &json, &fail), RC_PEER);
	assert_string_equal(
	    fail.what, "X: not valid JSON at line 1, column 3: a NUL byte");
}

static void
test_deep(void **state)
{
	struct fixture *f = *state;
	const struct rest_request request = {.path = "/x"};
	static char deep[100001];
	char what[200];

	memset(deep, '[', sizeof(deep) - 1);
	played_say(f->played, 200, deep);
	assert_fails(f, &request, RC_PEER);
	(void)snprintf(what, sizeof(what),
	    "%s answers with what cannot be read: the JSON is nested deeper "
	    "than 32 levels at line 1, column 33",
	    played_url(f->played));
	assert_string_equal(f->fail.what, what);
	/* If the body of a refusal cannot be read, the status decides. */
	played_say(f->played, 403, deep);
	assert_fails(f, &request, RC_DENIED);
	assert_string_equal(f->fail.code, "forbidden");
}

/* The number of values of the longest page, and one more than is allowed. */
static void
test_many_values(void **state)
{
	static char text[2 * PARSE_VALUES_MOST + 2];
	struct fail fail;
	json_t *json;
	size_t n;

	(void)state;
	for (n = 0; n < sizeof(text); n++)
		text[n] = n % 2 == 0 ? ',' : '1';
	text[0] = '[';
	text[400000] = ']';
	assert_int_equal(parse_json("X", text, 400001, &json, &fail), RC_OK);
	assert_int_equal(json_array_size(json), 200000);
	json_decref(json);
	text[400000] = ',';
	text[sizeof(text) - 2] = ']';
	assert_int_equal(
	    parse_json("X", text, sizeof(text) - 1, &json, &fail), RC_PEER);
	assert_non_null(strstr(fail.what, "more than 1000000 values"));
}

/* Each allocation fails once: no write goes beyond a block, and each failure is
 * reported. */
static void
test_no_memory(void **state)
{
	static const char text[] =
	    "{\"a\": \"some text that is longer than a buffer\", \"b\": [1]}";
	struct fail fail;
	json_t *json;
	enum rc rc;
	int64_t k;

	(void)state;
	for (k = 1;; k++) {
		mem_fail_at(k);
		rc = parse_json("X", text, strlen(text), &json, &fail);
		if (mem_fail_pending())
			break;
		assert_int_equal(rc, RC_NO_MEMORY);
		assert_string_equal(fail.what, "out of memory");
		assert_null(json);
	}
	mem_fail_at(0);
	assert_int_equal(rc, RC_OK);
	json_decref(json);
	assert_true(k > 5);
}

/* A text is complete, whichever allocation fails, or there is none. */
static void
test_dump(void **state)
{
	static const char whole[] =
	    "{\"a member\":\"some text that is longer than a buffer\","
	    "\"b\":[1,{\"c\":true}]}";
	struct fail fail;
	json_t *json;
	char *text;
	size_t n = 0;
	int64_t k;

	(void)state;
	assert_int_equal(
	    parse_json("X", whole, strlen(whole), &json, &fail), RC_OK);
	for (k = 1;; k++) {
		mem_fail_at(k);
		text = dump_json(json, JSON_COMPACT, &n);
		if (mem_fail_pending())
			break;
		assert_null(text);
	}
	mem_fail_at(0);
	assert_true(k > 5);
	assert_string_equal(text, whole);
	assert_int_equal(n, strlen(whole));
	mem_free(text);
	json_decref(json);
	assert_null(dump_json(NULL, 0, NULL));
}

static void
test_objects(void **state)
{
	static const char *const none[] = {"[]", ""};
	struct fixture *f = *state;
	char what[200];
	json_t *json;
	size_t i;

	played_say(f->played, 200, "{'a': 1}");
	assert_int_equal(rest_get(f->rest, "/o", &json, &f->fail), RC_OK);
	assert_string_equal(played_asked(f->played), "GET /o\n");
	json_decref(json);
	(void)snprintf(what, sizeof(what),
	    "%s answers with something that is not a JSON object",
	    played_url(f->played));
	for (i = 0; i < 2; i++) {
		played_say(f->played, 200, none[i]);
		assert_int_equal(
		    rest_get(f->rest, "/o", &json, &f->fail), RC_PEER);
		assert_string_equal(f->fail.what, what);
	}
	played_say(f->played, 403, "{'code': 'forbidden'}");
	assert_int_equal(rest_get(f->rest, "/o", &json, &f->fail), RC_DENIED);
}

/* ---- a body in pieces ---- */

static bool
take_all(void *arg, const char *p, size_t n)
{

	buf_add(arg, p, n);
	return (true);
}

static bool
take_none(void *arg, const char *p, size_t n)
{

	(void)p;
	*(size_t *)arg += n;
	return (false);
}

static void
test_sink(void **state)
{
	struct fixture *f = *state;
	struct buf taken = BUF_INIT;
	size_t n = 0;
	struct rest_request request = {
	    .path = "/x", .sink = take_all, .sink_arg = &taken};
	struct rest_reply reply;

	played_say(f->played, 200, "no JSON");
	assert_int_equal(rest_call(f->rest, &request, &reply, &f->fail), RC_OK);
	assert_null(reply.json);
	assert_int_equal(taken.len, 7);
	assert_memory_equal(taken.data, "no JSON", 7);
	/* The body of a refusal does not go to the sink. */
	buf_reset(&taken);
	played_say(f->played, 300, "{'detail': 'elsewhere'}");
	assert_fails(f, &request, RC_PEER);
	assert_string_equal(f->fail.what, "elsewhere");
	played_say(f->played, 409, "{'detail': 'not now'}");
	assert_fails(f, &request, RC_PEER);
	assert_string_equal(f->fail.what, "not now");
	assert_int_equal(taken.len, 0);
	request.sink = take_none;
	request.sink_arg = &n;
	played_say(f->played, 200, "no JSON");
	assert_fails(f, &request, RC_PEER);
	assert_int_equal(n, 7);
	buf_fini(&taken);
}

/* ---- addresses ---- */

static void
test_servers(void **state)
{
	static const char *const bad[] = {"http://m\xc3\xbcller.test",
	    "http://a b", "http://a\x7f", "http://u@h", "http://h?q",
	    "http://h/path", "ftp://h", "httpx://h", "http://h/?q",
	    "http://h#f", "http://h/#f", "http://[fe80::1%25eth0]:8"};
	struct fixture *f = *state;
	char server[32];
	char *path;
	size_t i;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(
		    rest_server_parse(bad[i], server, sizeof(server), &f->fail),
		    RC_INVALID);
		assert_string_equal(
		    f->fail.cure, "write it as http://HOST:PORT");
	}
	assert_int_equal(
	    rest_server_parse("x\033y", server, sizeof(server), &f->fail),
	    RC_INVALID);
	assert_string_equal(f->fail.what, "\"x\\x1by\" is not a valid server");
	/* 12 bytes and the final NUL. */
	assert_int_equal(
	    rest_server_parse("http://a.b:1", server, 13, &f->fail), RC_OK);
	assert_string_equal(server, "http://a.b:1");
	assert_int_equal(
	    rest_server_parse("http://a.b:1", server, 12, &f->fail),
	    RC_INVALID);
	assert_int_equal(
	    rest_server_parse("https://a~/", server, 32, &f->fail), RC_OK);
	assert_string_equal(server, "https://a~");
	assert_false(rest_server_local("localhost"));
	assert_false(rest_server_local("http://localhosts"));
	assert_false(rest_server_local("http://localhos:1"));
	assert_false(rest_server_local("http://localhosx"));
	assert_true(rest_server_local("https://localhost:1"));
	assert_true(rest_server_local("http://127.1:1"));
	assert_false(rest_server_local("http://128.0.0.1"));
	assert_false(rest_server_local("http://127.0.0.1.test:1"));
	path = rest_path("/a/", "@AZ[`az{/09:", "/b");
	assert_string_equal(path, "/a/%40AZ%5B%60az%7B%2F09%3A/b");
	mem_free(path);
}

/* ---- admin requests ---- */

/* The failures that operators see for refusals. */
static void
test_admin_call(void **state)
{
	struct fixture *f = *state;
	struct rest_request request = {.method = NULL};
	struct buf taken = BUF_INIT;
	struct rest_reply reply;
	char what[200];

	played_say(f->played, 200, "{'a': 1}");
	assert_int_equal(admin_call(f->rest, &request,
			     admin_path("stats", NULL), &reply, &f->fail),
	    RC_OK);
	assert_null(request.path);
	assert_non_null(json_object_get(reply.json, "a"));
	rest_reply_fini(&reply);
	assert_string_equal(played_asked(f->played), "GET /v1/admin/stats\n");
	played_say(f->played, 200, "[1]");
	assert_int_equal(admin_call(f->rest, &request,
			     admin_path("stats", NULL), &reply, &f->fail),
	    RC_PEER);
	(void)snprintf(what, sizeof(what),
	    "%s answers with something that is not a JSON object",
	    played_url(f->played));
	assert_string_equal(f->fail.what, what);
	played_say(f->played, 403, "{'code': 'forbidden', 'detail': 'no'}");
	assert_int_equal(admin_call(f->rest, &request,
			     admin_path("stats", NULL), &reply, &f->fail),
	    RC_DENIED);
	assert_string_equal(f->fail.what, "no");
	assert_string_equal(f->fail.cure,
	    "log in as an administrator (the operator makes one: twinboxd "
	    "user promote NAME)");
	played_say(f->played, 404, "{'code': 'not_found', 'detail': 'no'}");
	assert_int_equal(admin_call(f->rest, &request,
			     admin_path("stats", NULL), &reply, &f->fail),
	    RC_PEER);
	assert_string_equal(
	    f->fail.what, "this server does not support admin commands");
	assert_string_equal(f->fail.cure, "use a newer server");
	assert_int_equal(f->fail.status, 404);
	played_say(f->played, 404, "{'code': 'not_found', 'detail': 'no'}");
	assert_int_equal(admin_call(f->rest, &request,
			     admin_path_of("lanes", "7", ""), &reply, &f->fail),
	    RC_NOT_FOUND);
	assert_string_equal(f->fail.what, "no");
	played_say(f->played, 409, "{'code': 'conflict', 'detail': 'no'}");
	assert_int_equal(admin_call(f->rest, &request,
			     admin_path("stats", NULL), &reply, &f->fail),
	    RC_EXISTS);
	assert_string_equal(f->fail.cure, "choose another name or id");
	assert_int_equal(admin_call(f->rest, &request, NULL, &reply, &f->fail),
	    RC_NO_MEMORY);
	/* A body that goes to a sink need not be an object. */
	request.sink = take_all;
	request.sink_arg = &taken;
	played_say(f->played, 200, "[1]");
	assert_int_equal(admin_call(f->rest, &request,
			     admin_path("stats", NULL), &reply, &f->fail),
	    RC_OK);
	assert_int_equal(taken.len, 3);
	buf_fini(&taken);
}

static void
test_admin_paths(void **state)
{
	struct admin_filter filter = ADMIN_FILTER_INIT;
	char *path;

	(void)state;
	filter.state = "s";
	filter.reason = "r";
	filter.destination = "d";
	filter.sender = "u";
	filter.stuck_ms = 0;
	filter.near_failure = 0;
	filter.resolved = "any";
	filter.before = "b";
	filter.after = "a";
	filter.limit = 0;
	path = admin_path("x", &filter);
	assert_string_equal(path,
	    "/v1/admin/x?state=s&reason=r&destination=d&sender=u&stuck=0s"
	    "&near_failure=0&resolved=any&before=b&after=a&limit=0");
	mem_free(path);
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, rest_set_up, rest_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_headers),
	    TEST(test_not_modified),
	    TEST(test_statuses),
	    TEST(test_hostile),
	    TEST(test_deep),
	    TEST(test_many_values),
	    TEST(test_no_memory),
	    TEST(test_dump),
	    TEST(test_objects),
	    TEST(test_sink),
	    TEST(test_servers),
	    TEST(test_admin_call),
	    TEST(test_admin_paths),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
