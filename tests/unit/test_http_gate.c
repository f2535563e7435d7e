/* SPDX-License-Identifier: MIT */
/*
 * A table of routes with a gate of its own.  The gate decides from the head
 * whether a request is admitted, sees the pieces of a body as they come, and
 * its argument goes to its routes.
 */
#include "http_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"

static struct fixture f;
static struct reply r;

#define GATED "POST /gated HTTP/1.1\r\n" HOST
#define LET "X-Let: in\r\n"

static void
test_let_in(void **state)
{
	int closed;

	(void)state;
	assert_int_equal(
	    ask(&f, GATED LET "Content-Length: 5\r\n\r\nhello", &r, &closed),
	    200);
	assert_string_equal(r.body, "5 h /gated");
	assert_false(closed);
	assert_int_equal(ask(&f,
			     GATED LET "Transfer-Encoding: chunked\r\n\r\n"
				       "3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n",
			     &r, &closed),
	    200);
	assert_string_equal(r.body, "7 a /gated");
}

/* The handler gets the target exactly as it was sent. */
static void
test_target(void **state)
{

	(void)state;
	assert_int_equal(ask(&f,
			     "POST /%67ated?a=%20 HTTP/1.1\r\n" HOST LET
			     "Content-Length: 1\r\n\r\nx",
			     &r, NULL),
	    200);
	assert_string_equal(r.body, "1 x /%67ated?a=%20");
	assert_int_equal(ask(&f, GET("/gated?"), &r, NULL), 200);
	assert_string_equal(r.body, "nothing /gated?");
}

/* A stranger gets the answer before the body is read, and the handler never
 * runs. */
static void
test_stranger(void **state)
{
	const int before = atomic_load(&f.handled);
	int fd = client_open(&f);

	(void)state;
	client_send(fd, GATED "Content-Length: 200000\r\n\r\n");
	client_read(fd, &r, 0);
	assert_int_equal(r.status, 403);
	assert_non_null(strstr(r.body, "0 times"));
	assert_true(client_closed(fd));
	client_close(fd);
	assert_int_equal(ask(&f,
			     GATED "X-Let: no\r\nx-LET: in\r\n"
				   "Content-Length: 200000\r\n\r\n",
			     &r, NULL),
	    403);
	assert_non_null(strstr(r.body, "2 times"));
	assert_int_equal(atomic_load(&f.handled), before);
}

/* Without a body the gate does not see the head: authorize() decides. */
static void
test_no_body(void **state)
{
	int closed;

	(void)state;
	assert_int_equal(ask(&f, GATED "\r\n", &r, &closed), 403);
	assert_false(closed);
	assert_int_equal(ask(&f, GATED LET "\r\n", &r, &closed), 200);
	assert_string_equal(r.body, "nothing /gated");
}

static int
ask_bytes(const char *path, size_t n)
{
	char head[200];
	char *body = test_malloc(n);
	int fd = client_open(&f);

	memset(body, 'b', n);
	(void)snprintf(head, sizeof(head),
	    "POST %s HTTP/1.1\r\n" HOST LET "Content-Length: %zu\r\n\r\n", path,
	    n);
	client_send(fd, head);
	client_send_n(fd, body, n);
	client_read(fd, &r, 0);
	client_close(fd);
	test_free(body);
	return (r.status);
}

static void
test_limit(void **state)
{
	char want[40];

	(void)state;
	assert_int_equal(ask_bytes("/gated", LIMIT_PEER_REQUEST_LEN), 200);
	(void)snprintf(
	    want, sizeof(want), "%d b /gated", LIMIT_PEER_REQUEST_LEN);
	assert_string_equal(r.body, want);
	assert_int_equal(ask_bytes("/gated", LIMIT_PEER_REQUEST_LEN + 1), 413);
	/* The limit is the same on a public route. */
	assert_int_equal(ask_bytes("/open", LIMIT_PEER_REQUEST_LEN), 200);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_let_in),
	    cmocka_unit_test(test_target),
	    cmocka_unit_test(test_stranger),
	    cmocka_unit_test(test_no_body),
	    cmocka_unit_test(test_limit),
	};

	return (FIXTURE_RUN(&f, 1, 100, tests));
}
