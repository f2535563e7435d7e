/* SPDX-License-Identifier: MIT */
/*
 * The parts of server/http that need no server: the timer heap, the classes of
 * first lines, connections of an address, content types, the router.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>

#include <cmocka.h>

#include "base/htab.h"
#include "base/rnd.h"
#include "base/timer_heap.h"
#include "http/conn_limit_internal.h"
#include "http/front_internal.h"
#include "http/head_internal.h"
#include "http/router_internal.h"

#define NODES 500

/* Random insertions and removals, compared with a plain search for the
 * least. */
static void
test_timer_heap(void **state)
{
	static struct timer_node nodes[NODES];
	struct rnd_seeded rnd;
	struct timer_heap heap = {.root = NULL};
	struct timer_node *first;
	int64_t least, last = -1;
	int i, round, left = 0;

	(void)state;
	rnd_seeded_init(&rnd, 1);
	for (round = 0; round < 20000; round++) {
		i = (int)rnd_below(&rnd.rnd, NODES);
		if (nodes[i].queued)
			timer_heap_remove(&heap, &nodes[i]);
		else
			timer_heap_add(&heap, &nodes[i],
			    (int64_t)rnd_below(&rnd.rnd, 1000));
		if (round % 10 != 0)
			continue;
		for (i = 0, least = INT64_MAX; i < NODES; i++)
			if (nodes[i].queued && nodes[i].at_ms < least)
				least = nodes[i].at_ms;
		first = timer_heap_first(&heap);
		if (least == INT64_MAX)
			assert_null(first);
		else
			assert_int_equal(first->at_ms, least);
	}
	for (i = 0; i < NODES; i++)
		left += nodes[i].queued;
	while ((first = timer_heap_first(&heap)) != NULL) {
		assert_true(first->at_ms >= last);
		last = first->at_ms;
		timer_heap_remove(&heap, first);
		timer_heap_remove(
		    &heap, first); /* there is none: does nothing */
		left--;
	}
	assert_int_equal(left, 0);
}

static void
test_classify(void **state)
{
	static const struct {
		const char *text;
		enum front_kind kind;
	} table[] = {
	    {"", FRONT_MORE},
	    {"G", FRONT_MORE},
	    {"GET", FRONT_MORE},
	    {"GE ", FRONT_PLAIN},
	    {"POST", FRONT_PLAIN},
	    {"\x16\x03\x01", FRONT_TLS},
	    {"\x01", FRONT_BAD},
	    {" GET", FRONT_BAD},
	    {"\x80", FRONT_BAD},
	    {"(", FRONT_BAD},
	    {"\r\n", FRONT_PLAIN},
	    {"\nGET", FRONT_PLAIN},
	    {"!", FRONT_PLAIN},
	    {"GET /v1/ws", FRONT_MORE},
	    {"GET /v1/ws ", FRONT_UPGRADE},
	    {"GET /v1/ws?a=b ", FRONT_UPGRADE},
	    {"GET /v1/ws\r\n", FRONT_UPGRADE},
	    {"GET /v1/wsx ", FRONT_PLAIN},
	    {"GET /v1/w ", FRONT_PLAIN},
	    {"GET /v1/inbox?wait=5", FRONT_MORE},
	    {"GET /v1/inbox?wait=5 HTTP/1.1\r\n", FRONT_WAIT},
	    {"GET /v1/inbox?after=1&wait=55&x=1 ", FRONT_WAIT},
	    {"GET /v1/inbox?wait=0 ", FRONT_PLAIN},
	    {"GET /v1/inbox?wait= ", FRONT_PLAIN},
	    {"GET /v1/inbox?await=5 ", FRONT_PLAIN},
	    {"GET /wait=5 ", FRONT_PLAIN},
	    {"GET /x?& ", FRONT_PLAIN},
	    {"GET /v1/inbox HTTP/1.1\r\nHost: x\r\n"
	     "Accept: text/event-stream\r\n\r\n",
		FRONT_WAIT},
	    {"GET /v1/inbox HTTP/1.1\r\nAccept: text/event", FRONT_PLAIN},
	    {"GET /text/event-stream HTTP/1.1\r\n", FRONT_PLAIN},
	    {"GET  /v1/ws ", FRONT_PLAIN},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		if (front_classify(table[i].text, strlen(table[i].text), false,
			"/v1/ws") != table[i].kind)
			fail_msg("\"%s\"", table[i].text);
	assert_int_equal(front_classify("", 1, false, NULL), FRONT_BAD);
	assert_int_equal(
	    front_classify("GET /v1/inbox?wait=5", 20, true, "/v1/ws"),
	    FRONT_PLAIN);
	assert_int_equal(
	    front_classify("GET /v1/ws ", 11, false, NULL), FRONT_PLAIN);
}

/* ---- connections of an address ---- */

static void
from(struct conn *conn, const char *text)
{
	struct sockaddr_in6 *in6 = (void *)&conn->addr;
	struct sockaddr_in *in = (void *)&conn->addr;

	*conn = (struct conn){.fd = -1};
	if (inet_pton(AF_INET, text, &in->sin_addr) == 1) {
		conn->addr.ss_family = AF_INET;
		return;
	}
	assert_int_equal(inet_pton(AF_INET6, text, &in6->sin6_addr), 1);
	conn->addr.ss_family = AF_INET6;
}

static void
test_conn_limit(void **state)
{
	/* The addresses of a group count as one. */
	static const char *const texts[][3] = {
	    {"192.0.2.1", "::ffff:192.0.2.1", "192.0.2.1"},
	    {"192.0.2.2", "192.0.2.2", "::ffff:192.0.2.2"},
	    {"2001:db8::1", "2001:db8::2", "2001:db8:0:0:ffff::"},
	    {"2001:db8:0:1::1", "2001:db8:0:1::2", "2001:db8:0:1::3"},
	    {"::1", "::1", "::2"}};
	const struct http_options options = {
	    .clk = clk_system(), .address_limit = 2};
	struct conn conns[5][3];
	struct conn_limit limit = {0};
	int i, round;

	(void)state;
	assert_int_equal(conn_limit_init(&limit, &options), RC_OK);
	for (round = 0; round < 3; round++) {
		for (i = 0; i < 5; i++) {
			from(&conns[i][0], texts[i][0]);
			from(&conns[i][1], texts[i][1]);
			from(&conns[i][2], texts[i][2]);
			assert_true(conn_limit_enter(&limit, &conns[i][0]));
			assert_true(conn_limit_enter(&limit, &conns[i][1]));
			assert_false(conn_limit_enter(&limit, &conns[i][2]));
		}
		for (i = 0; i < 5; i++) {
			conn_limit_leave(
			    &limit, &conns[i][2]); /* was never counted */
			assert_false(conn_limit_enter(&limit, &conns[i][2]));
			conn_limit_leave(&limit, &conns[i][0]);
			conn_limit_leave(
			    &limit, &conns[i][0]); /* was removed before */
			assert_true(conn_limit_enter(&limit, &conns[i][2]));
			conn_limit_leave(&limit, &conns[i][1]);
			conn_limit_leave(&limit, &conns[i][2]);
		}
		assert_int_equal(htab_count(limit.counts), 0);
	}
	limit.per_address = 0;
	for (i = 0; i < 5; i++)
		assert_true(conn_limit_enter(&limit, &conns[0][0]));
	assert_int_equal(htab_count(limit.counts), 0);
	conn_limit_fini(&limit);
}

static void
test_media(void **state)
{

	(void)state;
	assert_true(validator_media_ok("application/json", false));
	assert_true(
	    validator_media_ok("Application/JSON; charset=UTF-8", false));
	assert_true(
	    validator_media_ok("application/json;charset=\"utf-8\"", false));
	assert_false(
	    validator_media_ok("application/json; charset=latin1", false));
	assert_false(validator_media_ok("application/jsonx", false));
	assert_false(validator_media_ok("text/plain", false));
	assert_false(validator_media_ok(NULL, false));
	assert_false(validator_media_ok("", false));
	assert_true(validator_media_ok(NULL, true));
	assert_true(validator_media_ok("text/plain", true));
	assert_true(validator_media_ok("text/markdown; charset=utf-8", true));
	assert_true(validator_media_ok("application/json", true));
	assert_false(validator_media_ok("text/", true));
	assert_false(validator_media_ok("text/plain; charset=utf-16", true));
	assert_false(
	    validator_media_ok("multipart/form-data; boundary=x", true));
}

static void
test_list(void **state)
{

	(void)state;
	assert_true(validator_list_has("websocket", "websocket"));
	assert_true(validator_list_has("h2c , WebSocket", "websocket"));
	assert_false(validator_list_has("websockets, web socket", "websocket"));
	assert_false(validator_list_has("", "websocket"));
	assert_false(validator_list_has(NULL, "websocket"));
}

static void
test_etags(void **state)
{
	static const struct {
		const char *list; /* of If-None-Match */
		bool has;         /* "ab" */
	} rows[] = {{NULL, false}, {"", false}, {"\"ab\"", true}, {"*", true},
	    {"W/\"ab\"", true}, {" \t\"ab\" \t", true}, {"\"x\",\"ab\"", true},
	    {"\"x\", W/\"y\" , W/\"ab\"", true}, {"\"x\",*", true},
	    {"ab", false}, {"\"abc\"", false}, {"\"a\"", false},
	    {"\"x\",\"y\"", false}, {",,", false}, {"W/", false},
	    {"w/\"ab\"", false}, {"\"ab\",\"x\"", true}, {"\"AB\"", false}};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (http_etag_listed(rows[i].list, "\"ab\"") != rows[i].has)
			fail_msg("%s", rows[i].list);
}

static void
handler(struct http_request *req, void *arg)
{

	(void)req;
	(void)arg;
}

static const struct pattern *
find(const struct router *router, char *path)
{
	struct segment s[SEGMENTS_MAX];
	int n = 0;
	char *at, *save = NULL;

	for (at = strtok_r(path, "/", &save); at != NULL;
	     at = strtok_r(NULL, "/", &save)) {
		s[n].text = at;
		s[n++].len = strlen(at);
	}
	return (router_find(router, s, n));
}

static void
test_router(void **state)
{
	static int module;
	static const struct http_route routes[] = {
	    {"GET", "/a/{x}", handler, 0}, {"GET", "/", handler, 0},
	    {"GET", "/a/b", handler, 0}, {"POST", "/a/{x}", handler, 0},
	    {"GET", "/{x}/b/c", handler, 0}, {"GET", "/a/b/{y}", handler, 0},
	    {"GET", "/a", handler, 0}, {"GET", "/1/2/3/4/5/6/7/8", handler, 0},
	    {NULL, NULL, NULL, 0}};
	static const struct {
		const char *path;
		int route; /* -1: none */
	} table[] = {{"/", 1}, {"/a", 6}, {"/a/b", 2}, {"/a/c", 0},
	    {"/z/b/c", 4}, {"/a/b/d", 5}, {"/b", -1}, {"/z/c/c", -1},
	    {"/a/b/c/d", -1}, {"/1/2/3/4/5/6/7/8", 7}, {"/1/2/3/4/5/6/7/9", -1},
	    {"/1/2/3/4/5/6/7", -1}};
	struct router *router;
	const struct pattern *p;
	struct err err = ERR_INIT;
	char path[32];
	size_t i;

	(void)state;
	assert_int_equal(
	    router_new((const struct http_routes[]){{routes, &module, NULL},
			   {NULL, NULL, NULL}},
		&router, &err),
	    RC_OK);
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s", table[i].path);
		p = find(router, path);
		if (table[i].route < 0
			? p != NULL
			: p == NULL ||
			      p->route[METHOD_GET] != &routes[table[i].route])
			fail_msg("%s", table[i].path);
	}
	(void)snprintf(path, sizeof(path), "/a/c");
	p = find(router, path);
	assert_ptr_equal(p->route[METHOD_POST], &routes[3]);
	assert_ptr_equal(p->route[METHOD_HEAD], &routes[0]);
	assert_ptr_equal(p->module[METHOD_HEAD], &module);
	assert_ptr_equal(p->module[METHOD_POST], &module);
	assert_null(p->route[METHOD_PUT]);
	assert_string_equal(p->allow, "GET, HEAD, POST, OPTIONS");
	router_free(router);
	router_free(NULL);
}

static void
test_router_refuses(void **state)
{
	static const struct http_route bad[][2] = {
	    {{"GET", "a", handler, 0}, {NULL, NULL, NULL, 0}},
	    {{"BREW", "/a", handler, 0}, {NULL, NULL, NULL, 0}},
	    {{"GET", "/{}", handler, 0}, {NULL, NULL, NULL, 0}},
	    {{"GET", "/{a", handler, 0}, {NULL, NULL, NULL, 0}},
	    {{"GET", "/1/2/3/4/5/6/7/8/9", handler, 0}, {NULL, NULL, NULL, 0}},
	    {{"GET", "/{1}/{2}/{3}/{4}/{5}", handler, 0},
		{NULL, NULL, NULL, 0}}};
	struct router *router;
	struct err err = ERR_INIT;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(
		    router_new(
			(const struct http_routes[]){
			    {bad[i], NULL, NULL}, {NULL, NULL, NULL}},
			&router, &err),
		    RC_INVALID);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_timer_heap),
	    cmocka_unit_test(test_classify),
	    cmocka_unit_test(test_conn_limit),
	    cmocka_unit_test(test_media),
	    cmocka_unit_test(test_list),
	    cmocka_unit_test(test_etags),
	    cmocka_unit_test(test_router),
	    cmocka_unit_test(test_router_refuses),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
