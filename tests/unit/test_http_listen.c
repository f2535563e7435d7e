/* SPDX-License-Identifier: MIT */
/*
 * The listening socket of an HTTP server: valid addresses, how one server
 * passes the socket to the next, and a server that cannot be made.
 */
#include "http_fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define LIMIT 10

static struct fixture f;
static struct reply r;

static void
test_new_refuses(void **state)
{
	static const struct http_route none[] = {{NULL, NULL, NULL, 0}};
	static const struct http_route twice[] = {{"GET", "/a/{b}", NULL, 0},
	    {"GET", "/a/{b}", NULL, 0}, {NULL, NULL, NULL, 0}};
	static const char *const listens[] = {"127.0.0.1", ":80",
	    "nowhere:", "127.0.0.1:99999", "300.0.0.1:80", "[::1:80"};
	struct http_options o = {.loops = 1,
	    .routes = (const struct http_routes[]){{twice, NULL, NULL},
		{NULL, NULL, NULL}},
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
	o.routes = (const struct http_routes[]){
	    {none, NULL, NULL}, {NULL, NULL, NULL}};
	for (i = 0; i < sizeof(listens) / sizeof(listens[0]); i++) {
		o.listen = listens[i];
		assert_int_not_equal(http_new(&o, &http, &err), RC_OK);
		assert_string_not_equal(err.text, "");
	}
	(void)snprintf(taken, sizeof(taken), "127.0.0.1:%d", f.port);
	o.listen = taken;
	/* It is not RC_IO, after which a service manager does not restart. */
	assert_int_equal(http_new(&o, &http, &err), RC_BUSY);
	assert_null(http);
	o.listen = "[::1]:0";
	assert_int_equal(http_new(&o, &http, &err), RC_OK);
	assert_true(http_port(http) > 0);
	http_stop(http); /* never started */
	http_stop(NULL);
}

/* One server stops and another listens on its port: a client that connects
 * between them waits, and no other program can take the port. */
static void
test_listener_is_kept(void **state)
{
	struct http_options o = {.listen = "127.0.0.1:0",
	    .loops = 1,
	    .routes = (const struct http_routes[]){{fixture_routes, NULL, NULL},
		{NULL, NULL, NULL}},
	    .route_arg = &f,
	    .request_deadline_ms = HOUR_MS,
	    .idle_deadline_ms = HOUR_MS,
	    .connection_limit = 10,
	    .clk = clk_system()};
	struct fixture there = {.port = 0};
	struct err err = ERR_INIT;
	struct http *http, *none;
	char address[32];
	int fd, listener;

	(void)state;
	assert_int_equal(http_new(&o, &http, &err), RC_OK);
	assert_int_equal(http_start(http, &err), RC_OK);
	there.port = http_port(http);
	(void)snprintf(address, sizeof(address), "127.0.0.1:%d", there.port);
	listener = http_keep_listener(http);
	assert_true(listener > 0);
	http_stop(http);

	o.listen = address;
	assert_int_equal(http_new(&o, &none, &err), RC_BUSY);
	fd = client_open(&there);
	client_send(fd, GET("/peer"));
	o.listener = listener;
	assert_int_equal(http_new(&o, &http, &err), RC_OK);
	assert_int_equal(http_port(http), there.port);
	assert_int_equal(http_start(http, &err), RC_OK);
	client_read(fd, &r, 0);
	assert_int_equal(r.status, 200);
	client_close(fd);

	/* A server that cannot be made also takes over the socket, and closes
	 * it. */
	o.listener = listener = http_keep_listener(http);
	http_stop(http);
	mem_fail_at(1);
	assert_int_equal(http_new(&o, &none, &err), RC_NO_MEMORY);
	mem_fail_at(0);
	assert_int_equal(fcntl(listener, F_GETFD), -1);
}

/* Each allocation of http_new() fails once. */
static void
test_new_without_memory(void **state)
{
	static const struct http_route one[] = {
	    {"GET", "/a/{b}", NULL, 0}, {NULL, NULL, NULL, 0}};
	struct http_options o = {.listen = "127.0.0.1:0",
	    .loops = 2,
	    .routes = (const struct http_routes[]){{one, NULL, NULL},
		{NULL, NULL, NULL}},
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
	    cmocka_unit_test(test_new_refuses),
	    cmocka_unit_test(test_listener_is_kept),
	    cmocka_unit_test(test_new_without_memory),
	};

	return (FIXTURE_RUN(&f, 1, LIMIT, tests));
}
