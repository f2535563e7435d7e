/* SPDX-License-Identifier: MIT */
/*
 * A request that fails on its way.  The failure says whether the request may
 * have reached the server: not if no connection was made in time, but also if
 * libcurl has sent it on an old connection before.
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
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/rest.h"

#define FILLERS 4

/* The time-out of a connection, in ms. */
static intptr_t connect_ms;

/* In the place of libcurl's, with the test's time-outs. */
#undef curl_easy_setopt
CURLcode
curl_easy_setopt(CURL *curl, CURLoption option, ...)
{
	CURLcode (*real)(CURL *, CURLoption, ...);
	va_list ap;
	void *value;

	_Static_assert(sizeof(long) == sizeof(void *), "passed alike");
	va_start(ap, option);
	value = va_arg(ap, void *);
	va_end(ap);
	if (option == CURLOPT_CONNECTTIMEOUT_MS)
		value = (void *)connect_ms;
	else if (option == CURLOPT_TIMEOUT_MS)
		value = (void *)(intptr_t)60000;
	*(void **)&real = dlsym(RTLD_NEXT, "curl_easy_setopt");
	assert_non_null(real);
	return (real(curl, option, value));
}

/* Listens for ${backlog} connections; writes the URL. */
static int
start_listening(int backlog, struct sockaddr_in *ret, char url[64])
{
	socklen_t n = sizeof(*ret);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	memset(ret, 0, sizeof(*ret));
	ret->sin_family = AF_INET;
	ret->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)ret, n), 0);
	assert_int_equal(listen(fd, backlog), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)ret, &n), 0);
	(void)snprintf(
	    url, 64, "http://127.0.0.1:%u", (unsigned)ntohs(ret->sin_port));
	return (fd);
}

/* Makes a request with ${method}, which must fail with ${rc}, ${code} and a
 * text that begins with ${what}. */
static void
assert_fails(struct rest *rest, const char *method, enum rc rc,
    const char *code, const char *what)
{
	const struct rest_request request = {.method = method, .path = "/x"};
	struct rest_reply reply;
	struct fail fail = FAIL_INIT;

	assert_int_equal(rest_call(rest, &request, &reply, &fail), rc);
	assert_string_equal(fail.code, code);
	assert_memory_equal(fail.what, what, strlen(what));
}

/* The server accepts no connection. */
static void
test_no_connection(void **state)
{
	struct sockaddr_in address;
	struct fail fail = FAIL_INIT;
	struct rest *rest;
	char url[64], what[100];
	int listening, fillers[FILLERS], i;

	(void)state;
	connect_ms = 1;
	listening = start_listening(0, &address, url);
	/* Connections beyond the backlog get no answer. */
	for (i = 0; i < FILLERS; i++) {
		fillers[i] = socket(
		    AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		assert_true(fillers[i] >= 0);
		(void)connect(fillers[i], (const struct sockaddr *)&address,
		    sizeof(address));
	}
	assert_int_equal(rest_new(url, "", &rest, &fail), RC_OK);
	(void)snprintf(what, sizeof(what), "cannot reach %s: ", url);
	assert_fails(rest, "POST", RC_PEER, "unreachable", what);
	assert_fails(rest, NULL, RC_PEER, "unreachable", what);
	rest_free(rest);
	for (i = 0; i < FILLERS; i++)
		(void)close(fillers[i]);
	(void)close(listening);
}

/* Reads one request without a body from ${fd}. */
static bool
read_request(int fd)
{
	char text[1024];
	size_t n = 0;
	ssize_t got;

	do {
		got = read(fd, text + n, sizeof(text) - 1 - n);
		if (got <= 0)
			return (false);
		n += (size_t)got;
		text[n] = '\0';
	} while (strstr(text, "\r\n\r\n") == NULL);
	return (true);
}

/* A server that answers its first request, and is gone after the second. */
static void *
serve(void *arg)
{
	static const char answer[] =
	    "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
	int listening = *(const int *)arg, fd = accept(listening, NULL, NULL);
	bool ok;

	ok = fd >= 0 && read_request(fd) &&
	     write(fd, answer, strlen(answer)) == (ssize_t)strlen(answer) &&
	     read_request(fd);
	(void)close(listening);
	(void)close(fd);
	return (ok ? arg : NULL);
}

/* libcurl sends a request on the connection that was left open, and again on a
 * new one, because the old one was closed without an answer. */
static void
test_old_connection(void **state)
{
	const struct rest_request request = {.path = "/x"};
	struct sockaddr_in address;
	struct fail fail = FAIL_INIT;
	struct rest_reply reply;
	struct rest *rest;
	char url[64], what[100];
	int listening, k;
	pthread_t thread;
	void *ok;

	(void)state;
	connect_ms = 60000;
	for (k = 0; k < 2; k++) {
		listening = start_listening(1, &address, url);
		assert_int_equal(
		    pthread_create(&thread, NULL, serve, &listening), 0);
		assert_int_equal(rest_new(url, "", &rest, &fail), RC_OK);
		assert_int_equal(
		    rest_call(rest, &request, &reply, &fail), RC_OK);
		rest_reply_fini(&reply);
		(void)snprintf(what, sizeof(what), "no answer from %s: ", url);
		if (k == 0)
			assert_fails(
			    rest, "POST", RC_UNCERTAIN, "uncertain", what);
		else
			assert_fails(rest, NULL, RC_PEER, "unreachable", what);
		assert_int_equal(pthread_join(thread, &ok), 0);
		assert_non_null(ok);
		rest_free(rest);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_no_connection),
	    cmocka_unit_test(test_old_connection),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
