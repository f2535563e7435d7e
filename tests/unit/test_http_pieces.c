/* SPDX-License-Identifier: MIT */
/*
 * Answers in pieces: complete and in order, produced no faster than the client
 * reads, cut in a way that no client takes a part for the whole, and never an
 * obstacle to a stop.
 */
#include "http_fixture.h"

#include <sys/socket.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sleeps.h"

static struct fixture f;

/* Reads until the end of a chunked answer, or of the connection.  The caller
 * frees the text. */
static char *
read_all(int fd, size_t *ret_n)
{
	size_t n = 0, cap = 65536;
	char *text = malloc(cap);
	ssize_t got;

	assert_non_null(text);
	for (;;) {
		if (n + 65536 > cap) {
			text = realloc(text, cap *= 2);
			assert_non_null(text);
		}
		got = recv(fd, text + n, 65535, 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		n += (size_t)got;
		if (n > 5 && memcmp(text + n - 5, "0\r\n\r\n", 5) == 0)
			break;
	}
	text[n] = '\0';
	*ret_n = n;
	return (text);
}

/* Joins the chunks of ${text} in place.  Returns false if there is no last
 * chunk. */
static bool
dechunk(char *text, size_t n, size_t *ret_n)
{
	char *from = strstr(text, "\r\n\r\n"), *to = text, *end = text + n;
	unsigned long long size;

	assert_non_null(from);
	from += 4;
	for (;;) {
		if (from >= end)
			return (false);
		size = strtoull(from, &from, 16);
		assert_memory_equal(from, "\r\n", 2);
		from += 2;
		if (size == 0)
			break;
		if (from + size + 2 > end)
			return (false);
		memmove(to, from, size);
		to += size;
		from += size + 2;
	}
	*ret_n = (size_t)(to - text);
	return (true);
}

static void
check(const char *request, size_t pieces, size_t size)
{
	int fd = client_open(&f);
	size_t i, k, n;
	char *text, *p;

	client_send(fd, request);
	text = read_all(fd, &n);
	assert_memory_equal(text, "HTTP/1.1 200", 12);
	assert_non_null(strstr(text, "Transfer-Encoding: chunked"));
	assert_true(dechunk(text, n, &n));
	assert_int_equal(n, 5 + pieces * size);
	assert_memory_equal(text, "first", 5);
	p = text + 5;
	for (i = pieces; i > 0; i--)
		for (k = 0; k < size; k++)
			assert_int_equal(*p++, 'a' + (int)((i - 1) % 26));
	free(text);
	/* The connection is kept. */
	client_send(fd, request);
	text = read_all(fd, &n);
	assert_true(dechunk(text, n, &n));
	assert_int_equal(n, 5 + pieces * size);
	free(text);
	client_close(fd);
}

static void
test_whole(void **state)
{

	(void)state;
	check(GET("/pieces?n=1&size=1"), 1, 1);
	check(GET("/pieces?n=30&size=1000"), 30, 1000);
	check(GET("/pieces?n=30&size=1000&at_once=1"), 30, 1000);
	check(GET("/pieces?n=3&size=700000"), 3, 700000);
	check(GET("/pieces?n=5&size=0"), 5, 0);
}

/* A client that does not support chunks reads until the end of the
 * connection. */
static void
test_old_client(void **state)
{
	int fd = client_open(&f);
	char *text;
	size_t n;

	(void)state;
	client_send(fd, "GET /pieces?n=2&size=3 HTTP/1.0\r\n" HOST "\r\n");
	text = read_all(fd, &n);
	assert_non_null(strstr(text, "\r\n\r\nfirstbbbaaa"));
	free(text);
	client_close(fd);
}

/* The answer to HEAD has no byte after its head. */
static void
test_head(void **state)
{
	int fd = client_open(&f), asked = atomic_load(&f.pieces);
	char *text;
	size_t n;

	(void)state;
	client_send(fd, "HEAD /pieces?n=2&size=3 HTTP/1.1\r\n" HOST "\r\n");
	text = read_all(fd, &n);
	assert_memory_equal(text, "HTTP/1.1 200", 12);
	assert_memory_equal(text + n - 4, "\r\n\r\n", 4);
	assert_ptr_equal(strstr(text, "\r\n\r\n"), text + n - 4);
	assert_int_equal(atomic_load(&f.pieces), asked);
	free(text);
	client_close(fd);
}

/* The last chunk is missing, so that no client takes the answer for
 * complete. */
static void
test_cut(void **state)
{
	int fd = client_open(&f);
	char *text;
	size_t n;

	(void)state;
	client_send(fd, GET("/pieces?n=3&size=10&cut=1"));
	text = read_all(fd, &n);
	assert_non_null(strstr(text, "cccccccccc"));
	assert_false(dechunk(text, n, &n));
	free(text);
	client_close(fd);
}

/* 400 pieces of 256 KiB, and a client that does not read.  When all threads
 * wait, the server has requested no more pieces than the sockets hold. */
static void
test_slow_reader(void **state)
{
	int fd = client_open(&f), asked = atomic_load(&f.pieces);
	char *text;
	size_t n;

	(void)state;
	client_send(fd, GET("/pieces?n=400&size=262144"));
	AWAIT(atomic_load(&f.pieces) > asked);
	AWAIT(others_sleep());
	assert_true(atomic_load(&f.pieces) - asked < 100);
	text = read_all(fd, &n);
	assert_true(dechunk(text, n, &n));
	assert_int_equal(n, 5 + 400 * 262144);
	free(text);
	client_close(fd);
}

static void
test_client_goes(void **state)
{
	int fd = client_open(&f), freed = atomic_load(&f.freed);

	(void)state;
	client_send(fd, GET("/pieces?n=400&size=262144"));
	client_close(fd);
	AWAIT(atomic_load(&f.freed) == freed + 1);
}

/* ---- between two pieces ---- */

/* Reads until ${text} has arrived. */
static void
read_until(int fd, const char *text)
{
	char got[4096];
	size_t n = 0;
	ssize_t k;

	do {
		k = recv(fd, got + n, sizeof(got) - 1 - n, 0);
		if (k <= 0)
			fail_msg("\"%s\" does not come", text);
		n += (size_t)k;
		got[n] = '\0';
	} while (strstr(got, text) == NULL);
}

static void
await_waiting(int64_t n)
{

	AWAIT(metrics_get(f.metrics, METRIC_LONG_POLLS) == n);
}

/* The next piece is sent at its time, and not before. */
static void
test_timer(void **state)
{
	int fd = client_open(&f), asked = atomic_load(&f.pieces);
	char *text;
	size_t n;

	(void)state;
	client_send(fd, GET("/pieces?n=3&size=4&wait=3600000"));
	read_until(fd, "first\r\n");
	await_waiting(1);
	fixture_leap(&f, HOUR_MS - MINUTE_MS);
	await_waiting(1);
	assert_int_equal(atomic_load(&f.pieces), asked + 1);
	fixture_leap(&f, MINUTE_MS);
	read_until(fd, "cccc\r\n");
	await_waiting(1);
	fixture_leap(&f, HOUR_MS);
	read_until(fd, "bbbb\r\n");
	await_waiting(1);
	fixture_leap(&f, HOUR_MS);
	text = read_all(fd, &n);
	assert_non_null(strstr(text, "aaaa\r\n0\r\n\r\n"));
	free(text);
	await_waiting(0);
	assert_int_equal(atomic_load(&f.early), 0);
	assert_true(client_is_kept(fd));
	client_close(fd);
}

/* The server notices at once that the client has gone, not at the next
 * piece. */
static void
test_gone_between(void **state)
{
	int fd = client_open(&f), freed = atomic_load(&f.freed);

	(void)state;
	client_send(fd, GET("/pieces?n=3&size=4&wait=3600000"));
	read_until(fd, "first\r\n");
	await_waiting(1);
	client_close(fd);
	AWAIT(atomic_load(&f.freed) == freed + 1);
	await_waiting(0);
	assert_int_equal(atomic_load(&f.early), 1);
}

/* Draining wakes answers that wait for their next piece, once.  A stop cuts
 * those that still wait. */
static void
test_stop_between(void **state)
{
	int fd[4], i, asked = atomic_load(&f.pieces);
	char *text;
	size_t n;

	(void)state;
	for (i = 0; i < 4; i++) {
		fd[i] = client_open(&f);
		client_send(fd[i], GET("/pieces?n=9&size=4&wait=3600000"));
		read_until(fd[i], "first\r\n");
	}
	await_waiting(4);
	http_drain(f.http);
	for (i = 0; i < 4; i++)
		read_until(fd[i], "iiii\r\n");
	AWAIT(atomic_load(&f.pieces) == asked + 8);
	await_waiting(4);
	(void)alarm(20);
	fixture_stop(&f);
	(void)alarm(0);
	for (i = 0; i < 4; i++) {
		text = read_all(fd[i], &n);
		assert_int_equal(n, 0);
		free(text);
		client_close(fd[i]);
	}
	fixture_start(&f, 2, 1000);
}

/* Data that a client does not read stays with its producer, not in the kernel:
 * the server's socket holds 64 KiB, and the client's side its own buffer. */
static void
test_small_pieces_unread(void **state)
{
	int fd = client_open(&f), asked = atomic_load(&f.pieces);

	(void)state;
	client_send(fd, GET("/pieces?n=4000&size=16384"));
	AWAIT(atomic_load(&f.pieces) > asked);
	AWAIT(others_sleep());
	print_message("%d pieces of 16 KiB\n", atomic_load(&f.pieces) - asked);
	assert_true(atomic_load(&f.pieces) - asked < 40);
	client_close(fd);
}

/* The server stops while some answers are half sent: http_stop() must return,
 * and nothing of them may be left in libmicrohttpd. */
static void
test_stop(void **state)
{
	int fd[4], i;
	char byte;

	(void)state;
	for (i = 0; i < 4; i++) {
		fd[i] = client_open(&f);
		client_send(fd[i], GET("/pieces?n=400&size=262144"));
		assert_int_equal(recv(fd[i], &byte, 1, 0), 1);
	}
	f.timing.http_stop_ms = 20; /* no client reads its answer */
	fixture_stop(&f);
	for (i = 0; i < 4; i++)
		client_close(fd[i]);
	fixture_start(&f, 2, 1000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_whole),
	    cmocka_unit_test(test_old_client),
	    cmocka_unit_test(test_head),
	    cmocka_unit_test(test_cut),
	    cmocka_unit_test(test_slow_reader),
	    cmocka_unit_test(test_client_goes),
	    cmocka_unit_test(test_small_pieces_unread),
	    cmocka_unit_test(test_timer),
	    cmocka_unit_test(test_gone_between),
	    cmocka_unit_test(test_stop_between),
	    cmocka_unit_test(test_stop),
	};

	return (FIXTURE_RUN(&f, 2, 1000, tests));
}
