/* SPDX-License-Identifier: MIT */
/*
 * A connection that breaks while it is being made, at each call that can fail:
 * the stream reports the loss at once and connects again.  (If the first write
 * of a new connection fails, libwebsockets closes it without a callback, yet
 * returns it as made.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/loop.h"
#include "lib/stream.h"

/* The stream itself gives up a silent server after ten seconds. */
#define GIVE_UP_S 60

/* Calls until one fails; 0: none fails. */
static int sends_left, recvs_left;

static bool
fails(int *left)
{

	if (*left == 0 || --*left > 0)
		return (false);
	errno = ECONNRESET;
	return (true);
}

/* Replaces the function of the C library, for libwebsockets, too. */
ssize_t
send(int fd, const void *buf, size_t n, int flags)
{

	if (fails(&sends_left))
		return (-1);
	return (syscall(SYS_sendto, fd, buf, n, flags, NULL, 0));
}

ssize_t
recv(int fd, void *buf, size_t n, int flags)
{

	if (fails(&recvs_left))
		return (-1);
	return (syscall(SYS_recvfrom, fd, buf, n, flags, NULL, NULL));
}

struct scene {
	struct loop *loop;
	int listener;
	const char *answer; /* to the first connection; NULL: none */
	int conns[2];
	size_t nconns;
	int lost;
};

/* Accepts a connection; the second one ends the scene. */
static void
on_connection(void *arg)
{
	struct scene *s = arg;
	int fd = accept(s->listener, NULL, NULL);

	assert_true(fd >= 0);
	assert_true(s->nconns < 2);
	s->conns[s->nconns++] = fd;
	if (s->nconns == 1 && s->answer != NULL)
		assert_int_equal(write(fd, s->answer, strlen(s->answer)),
		    (ssize_t)strlen(s->answer));
	if (s->nconns == 2)
		loop_stop(s->loop);
}

static void
on_lost(void *arg, const struct fail *why, int64_t wait_ms)
{
	struct scene *s = arg;

	assert_true(wait_ms > 0);
	assert_int_not_equal(why->rc, RC_OK);
	s->lost++;
}

static const struct stream_ops ops = {.lost = on_lost};

static void
scene_listen(struct scene *s, char *url, size_t size)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	socklen_t n = sizeof(in);

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(s->listener >= 0);
	assert_int_equal(
	    bind(s->listener, (struct sockaddr *)&in, sizeof(in)), 0);
	assert_int_equal(listen(s->listener, 8), 0);
	assert_int_equal(
	    getsockname(s->listener, (struct sockaddr *)&in, &n), 0);
	(void)snprintf(url, size, "http://127.0.0.1:%u", ntohs(in.sin_port));
}

/* Plays a scene in which the first connection breaks: the stream reports the
 * loss and connects again. */
static void
play(struct scene *s)
{
	struct stream_options options = {.token = "t", .epoch = "", .seq = -1};
	struct rnd_seeded seeded;
	struct stream *stream;
	struct fail fail = {0};
	char url[64], got[16];
	size_t i;

	scene_listen(s, url, sizeof(url));
	assert_int_equal(loop_new(url, &s->loop, &fail), RC_OK);
	assert_int_equal(
	    loop_watch(s->loop, s->listener, on_connection, s, &fail), RC_OK);
	options.loop = s->loop;
	options.server = url;
	/* The first wait of this generator is not zero.  The stream would not
	 * report a loss with a wait of zero. */
	rnd_seeded_init(&seeded, 1);
	options.rnd = &seeded.rnd;
	options.ops = &ops;
	options.arg = s;
	(void)alarm(GIVE_UP_S);
	assert_int_equal(stream_new(&options, &stream, &fail), RC_OK);
	assert_int_equal(loop_run(s->loop, &fail), RC_OK);
	(void)alarm(0);
	assert_int_equal(s->lost, 1);
	assert_int_equal(sends_left, 0);
	assert_int_equal(recvs_left, 0);
	assert_int_equal(read(s->conns[1], got, 10), 10);
	assert_memory_equal(got, "GET /v1/ws", 10);
	stream_free(stream);
	loop_free(s->loop);
	for (i = 0; i < s->nconns; i++)
		(void)close(s->conns[i]);
	(void)close(s->listener);
}

static void
test_first_write_fails(void **state)
{
	struct scene s = {.nconns = 0};

	(void)state;
	sends_left = 1;
	play(&s);
}

static void
test_first_read_fails(void **state)
{
	struct scene s = {.answer = "HTTP/1.1 "};

	(void)state;
	recvs_left = 1;
	play(&s);
}

static void
test_second_read_fails(void **state)
{
	struct scene s = {.answer = "HTTP/1.1 101 Switching Protocols\r\n"};

	(void)state;
	recvs_left = 2;
	play(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_first_write_fails),
	    cmocka_unit_test(test_first_read_fails),
	    cmocka_unit_test(test_second_read_fails),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
