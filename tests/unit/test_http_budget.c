/* SPDX-License-Identifier: MIT */
/*
 * The memory that a client can make the server use: which bodies are read, the
 * bytes of all bodies, and the bytes of all answers that clients do not read.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/limits.h"
#include "http/http_internal.h"
#include "http_fixture.h"

#define MIB (1024 * 1024)
#define LOOPS 1
#define CONNECTIONS 100

static struct fixture f;
static struct reply r;

static int64_t
metric(enum metric id)
{

	return (metrics_get(f.metrics, id));
}

/* Sends the head of a POST that announces ${length} bytes. */
static int
post_head(const char *path, const char *token, size_t length)
{
	char head[256];
	int fd = client_open(&f);

	(void)snprintf(head, sizeof(head),
	    "POST %s HTTP/1.1\r\n" HOST "Content-Type: application/json\r\n"
	    "Content-Length: %zu\r\n%s%s%s\r\n",
	    path, length, token != NULL ? "Authorization: Bearer " : "",
	    token != NULL ? token : "", token != NULL ? "\r\n" : "");
	client_send(fd, head);
	return (fd);
}

static void
send_body(int fd, size_t n)
{
	static char text[64 * 1024];
	size_t k;

	memset(text, 'x', sizeof(text));
	for (; n > 0; n -= k) {
		k = n < sizeof(text) ? n : sizeof(text);
		client_send_n(fd, text, k);
	}
}

/* ---- whether a body is read ---- */

/* Without a text that may be a token, the answer comes after the head. */
static void
test_stranger(void **state)
{
	static const char *const tokens[] = {NULL, "bad"};
	size_t i;
	int fd;

	(void)state;
	for (i = 0; i < 2; i++) {
		fd = post_head("/private/echo", tokens[i], 100000);
		client_read(fd, &r, 0);
		assert_int_equal(r.status, 401);
		client_close(fd);
		fd = post_head("/private/large", tokens[i], MIB);
		client_read(fd, &r, 0);
		assert_int_equal(r.status, 401);
		assert_true(client_closed(fd));
		/* The server reads on, so that the rest of the body does not
		 * reset the connection: a client that sends all before it reads
		 * gets the answer. */
		client_send_errors = 0;
		send_body(fd, MIB);
		assert_int_equal(client_send_errors, 0);
		client_close(fd);
	}
	assert_int_equal(atomic_load(&f.handled), 0);
	assert_int_equal(atomic_load(&f.lookups), 0);
}

static void
test_public_limit(void **state)
{
	int fd = post_head("/public", NULL, LIMIT_PUBLIC_REQUEST_LEN);

	(void)state;
	send_body(fd, LIMIT_PUBLIC_REQUEST_LEN);
	client_read(fd, &r, 0);
	assert_int_equal(r.status, 200);
	assert_int_equal(r.body_len, LIMIT_PUBLIC_REQUEST_LEN);
	client_close(fd);
	fd = post_head("/public", NULL, LIMIT_PUBLIC_REQUEST_LEN + 1);
	client_read(fd, &r, 0);
	assert_int_equal(r.status, 413);
	assert_non_null(strstr(r.body, "longer than 8192 bytes"));
	client_close(fd);
}

/* A body of the size that everybody may send is read before the look-up of its
 * sender.  A larger one is read only after it. */
static void
test_lookup(void **state)
{
	int fd, before;

	(void)state;
	before = atomic_load(&f.lookups);
	fd = post_head("/private/large", "slow", LIMIT_REQUEST_LEN);
	send_body(fd, LIMIT_REQUEST_LEN);
	client_read(fd, &r, 0);
	assert_int_equal(r.status, 200);
	assert_int_equal(atomic_load(&f.lookups), before);
	client_close(fd);

	fd = post_head("/private/large", "slow", MIB);
	send_body(fd, MIB);
	client_read(fd, &r, 0);
	assert_int_equal(r.status, 200);
	assert_string_equal(r.body, "1048576");
	assert_int_equal(atomic_load(&f.lookups), before + 1);
	assert_true(client_is_kept(fd));
	client_close(fd);

	/* A known sender causes no look-up. */
	fd = post_head("/private/large", "good", MIB);
	send_body(fd, MIB);
	client_read(fd, &r, 0);
	assert_int_equal(r.status, 200);
	assert_int_equal(atomic_load(&f.lookups), before + 1);
	assert_true(client_is_kept(fd));
	client_close(fd);
}

/* The length of a chunked body is not known in advance, so there is a
 * look-up. */
static void
test_lookup_of_chunks(void **state)
{
	int before = atomic_load(&f.lookups), fd = client_open(&f);

	(void)state;
	client_send(fd, "POST /private/large HTTP/1.1\r\n" HOST
			"Content-Type: application/json\r\n"
			"Transfer-Encoding: chunked\r\n"
			"Authorization: Bearer slow\r\n\r\n"
			"3\r\nabc\r\n");
	AWAIT(atomic_load(&f.lookups) == before + 1);
	client_send(fd, "4\r\ndefg\r\n0\r\n\r\n");
	client_read(fd, &r, 0);
	assert_int_equal(r.status, 200);
	assert_string_equal(r.body, "7");
	client_close(fd);
}

/* The token is unknown: the answer comes after the first piece of the body. */
static void
test_lookup_in_vain(void **state)
{
	int fd = post_head("/private/large", "none", MIB);
	int before = atomic_load(&f.handled);

	(void)state;
	send_body(fd, 1000);
	client_read(fd, &r, 0);
	assert_int_equal(r.status, 401);
	assert_non_null(strstr(r.body, "nobody's token"));
	client_close(fd);
	/* The client can send the whole body before it reads the answer. */
	fd = post_head("/private/large", "none", MIB);
	send_body(fd, MIB);
	client_read(fd, &r, 0);
	assert_int_equal(r.status, 401);
	client_close(fd);
	AWAIT(http_connections(f.http) == 0);
	assert_int_equal(atomic_load(&f.handled), before);
	/* The readers' queue is full. */
	f.lookup_rc = RC_BUSY;
	fd = post_head("/private/large", "slow", MIB);
	send_body(fd, 1000);
	client_read(fd, &r, 0);
	assert_int_equal(r.status, 503);
	client_close(fd);
	f.lookup_rc = RC_OK;
}

/* The time of a look-up does not count against the client's deadline.  The
 * client then has the rest of the deadline, and no more. */
static void
test_lookup_is_slow(void **state)
{
	int fd, i;

	(void)state;
	for (i = 0; i < 2; i++) {
		fd = post_head("/private/large", "held", MIB);
		send_body(fd, 1000);
		AWAIT(atomic_load(&f.held) != NULL);
		fixture_leap(&f, 2 * REQUEST_DEADLINE_MS);
		http_sender_found(atomic_exchange(&f.held, NULL), NULL);
		fixture_turn(&f);
		/* Deadlines are checked eight times in the length of each. */
		fixture_leap(&f, i == 0 ? REQUEST_DEADLINE_MS / 4
					: REQUEST_DEADLINE_MS + MINUTE_MS);
		if (i == 0) {
			send_body(fd, MIB - 1000);
			client_read(fd, &r, 0);
			assert_int_equal(r.status, 200);
			assert_string_equal(r.body, "1048576");
		}
		assert_true(i == 0 ? client_is_kept(fd) : client_closed(fd));
		client_close(fd);
	}
}

/* The server stops during a look-up: the request is refused, although its body
 * has arrived. */
static void
test_lookup_at_the_stop(void **state)
{
	int fd = post_head("/private/large", "held", MIB);

	(void)state;
	send_body(fd, MIB);
	AWAIT(atomic_load(&f.held) != NULL);
	fixture_stop(&f);
	client_read(fd, &r, 0);
	assert_int_equal(r.status, 503);
	assert_non_null(strstr(r.body, "\"code\":\"draining\""));
	client_close(fd);
	atomic_store(&f.held, NULL);
	fixture_start(&f, LOOPS, CONNECTIONS);
}

/* ---- the bytes of all bodies ---- */

/* Returns the status of a body of ${n} bytes in two chunks, the first one of
 * ${first} bytes. */
static int
post_chunks(size_t first, size_t n)
{
	int fd = client_open(&f);
	char text[32];

	client_send(fd,
	    "POST /echo HTTP/1.1\r\n" HOST "Content-Type: application/json\r\n"
	    "Transfer-Encoding: chunked\r\n\r\n");
	(void)snprintf(text, sizeof(text), "%zx\r\n", first);
	client_send(fd, text);
	send_body(fd, first);
	(void)snprintf(text, sizeof(text), "\r\n%zx\r\n", n - first);
	client_send(fd, text);
	send_body(fd, n - first);
	client_send(fd, "\r\n0\r\n\r\n");
	client_read(fd, &r, 0);
	client_close(fd);
	return (r.status);
}

/* One address may use a quarter of the budget.  Small bodies do not count,
 * whether their length is announced or not. */
static void
test_bodies(void **state)
{
	int fds[3], fd, i;
	int64_t refused = metric(METRIC_HTTP_BODIES_REFUSED);

	(void)state;
	for (i = 0; i < 3; i++) {
		fds[i] = post_head("/large", NULL, MIB);
		send_body(fds[i], i < 2 ? MIB - 1 : 1000);
	}
	/* The share can be used to its last byte. */
	AWAIT(budget_used(f.http->bodies) == 2 * MIB);
	send_body(fds[2], MIB - 1000);
	client_read(fds[2], &r, 0);
	assert_int_equal(r.status, 503);
	assert_non_null(strstr(r.body, "too many large requests"));
	assert_non_null(reply_header(&r, "Retry-After"));
	assert_int_equal(metric(METRIC_HTTP_BODIES_REFUSED), refused + 1);
	fd = post_head("/echo", NULL, LIMIT_BODY_FREE);
	send_body(fd, LIMIT_BODY_FREE);
	client_read(fd, &r, 0);
	assert_int_equal(r.status, 200);
	client_close(fd);
	assert_int_equal(post_chunks(5000, LIMIT_BODY_FREE), 200);
	assert_int_equal(post_chunks(5000, 5001), 200);
	assert_int_equal(post_chunks(1, LIMIT_BODY_FREE), 200);
	assert_int_equal(post_chunks(5000, LIMIT_BODY_FREE + 1), 503);
	/* When a body was read to its end, or cut, its bytes are free again. */
	send_body(fds[0], 1);
	client_read(fds[0], &r, 0);
	assert_int_equal(r.status, 200);
	client_close(fds[0]);
	client_close(fds[1]);
	client_close(fds[2]);
	AWAIT(budget_used(f.http->bodies) == 0);
	fd = post_head("/large", NULL, MIB);
	send_body(fd, MIB);
	client_read(fd, &r, 0);
	assert_int_equal(r.status, 200);
	client_close(fd);
}

/* ---- the bytes of all answers ---- */

static int
ask_and_leave(const char *text)
{
	int fd = client_open(&f);

	client_send(fd, text);
	return (fd);
}

static void
test_answers(void **state)
{
	int slow = ask_and_leave(GET("/big?mb=12")), fd;

	(void)state;
	AWAIT(metric(METRIC_HTTP_ANSWER_BYTES) == 12 * MIB);
	assert_int_equal(ask(&f, GET("/big?mb=5"), &r, NULL), 503);
	assert_non_null(strstr(r.body, "too many large answers"));
	assert_non_null(reply_header(&r, "Retry-After"));
	assert_int_equal(metric(METRIC_HTTP_ANSWERS_REFUSED), 1);
	/* Small answers are always sent, and so is an answer that just fits. */
	assert_int_equal(ask(&f, GET("/hello"), &r, NULL), 200);
	assert_int_equal(ask(&f, GET("/big?mb=1"), &r, NULL), 200);
	assert_int_equal(r.body_len, MIB);
	AWAIT(metric(METRIC_HTTP_ANSWER_BYTES) == 12 * MIB);
	fd = ask_and_leave(GET("/big?mb=4"));
	AWAIT(budget_used(f.http->answers) == 16 * MIB || client_is_closed(fd));
	client_close(slow);
	client_close(fd);
	AWAIT(metric(METRIC_HTTP_ANSWER_BYTES) == 0);
	assert_int_equal(budget_used(f.http->answers), 0);
}

/* If a piece finds no room, the answer is cut, and the client can see that it
 * is not complete. */
static void
test_pieces(void **state)
{
	int slow = ask_and_leave(GET("/big?mb=16")), fd;
	static char text[MIB]; /* more than the whole answer */
	size_t n = 0;
	ssize_t got;

	(void)state;
	AWAIT(metric(METRIC_HTTP_ANSWER_BYTES) == 16 * MIB);
	fd = ask_and_leave(GET("/pieces?n=2&size=100000"));
	while ((got = recv(fd, text + n, sizeof(text) - 1 - n, 0)) > 0)
		n += (size_t)got;
	assert_int_equal(got, 0);
	text[n] = '\0';
	assert_non_null(strstr(text, "first"));
	assert_null(strstr(text, "\r\n0\r\n")); /* the last chunk */
	client_close(fd);
	client_close(slow);
	AWAIT(metric(METRIC_HTTP_ANSWER_BYTES) == 0);
}

/* ---- a client that has left ---- */

static void
test_left(void **state)
{
	int fd = ask_and_leave(GET("/hold"));

	(void)state;
	AWAIT(atomic_load(&f.held) != NULL);
	assert_false(http_client_left(atomic_load(&f.held)));
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	AWAIT(http_client_left(atomic_load(&f.held)));
	/* The client may still read. */
	fixture_release(&f);
	client_read(fd, &r, 0);
	assert_int_equal(r.status, 200);
	client_close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_stranger),
	    cmocka_unit_test(test_public_limit),
	    cmocka_unit_test(test_lookup),
	    cmocka_unit_test(test_lookup_of_chunks),
	    cmocka_unit_test(test_lookup_in_vain),
	    cmocka_unit_test(test_lookup_is_slow),
	    cmocka_unit_test(test_bodies),
	    cmocka_unit_test(test_answers),
	    cmocka_unit_test(test_pieces),
	    cmocka_unit_test(test_left),
	    cmocka_unit_test(test_lookup_at_the_stop),
	};

	/* One address may use a quarter. */
	fixture_body_bytes = 4 * 2 * MIB;
	fixture_answer_bytes = 4 * 16 * MIB;
	return (FIXTURE_RUN(&f, LOOPS, CONNECTIONS, tests));
}
