/* SPDX-License-Identifier: MIT */
/*
 * The server that a test plays by hand.  See played_server.h.
 */
#include "unit/played_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#define ANSWERS_MAX 32
#define REQUEST_MAX (256 * 1024)
#define ASKED_MAX (1024 * 1024)

struct played {
	pthread_t thread;
	pthread_mutex_t mutex; /* guards the members below */
	char *answers[ANSWERS_MAX];
	size_t first, nanswers;
	char asked[ASKED_MAX];
	char asked_copy[ASKED_MAX];
	char head[8192];
	char head_copy[8192];
	int listener;
	char url[64];
	char request[REQUEST_MAX]; /* used by the thread alone */
};

/* Reads one request into p->request.  Returns the offset of its body, or 0 if
 * the connection ends before. */
static size_t
read_request(struct played *p, int fd)
{
	size_t n = 0, at = 0, body = 0;
	const char *end, *length;
	ssize_t got;

	do {
		got = read(fd, p->request + n, sizeof(p->request) - 1 - n);
		if (got <= 0)
			return (0);
		n += (size_t)got;
		p->request[n] = '\0';
		end = strstr(p->request, "\r\n\r\n");
		if (end == NULL)
			continue;
		at = (size_t)(end - p->request) + 4;
		length = strcasestr(p->request, "\r\nContent-Length:");
		body = length != NULL && length < end
			   ? (size_t)strtoull(length + 17, NULL, 10)
			   : 0;
	} while (at == 0 || n < at + body);
	return (at);
}

/* Records the request.  Returns the answer that is due, which the caller
 * frees. */
static char *
take_answer(struct played *p, size_t at)
{
	size_t n, line;
	char *answer;

	(void)pthread_mutex_lock(&p->mutex);
	line = strcspn(p->request, "\r");
	if (line > 9) /* cuts " HTTP/1.1" */
		line -= 9;
	n = strlen(p->asked);
	(void)snprintf(p->asked + n, sizeof(p->asked) - n, "%.*s\n%s%s",
	    (int)line, p->request, p->request + at,
	    p->request[at] != '\0' ? "\n" : "");
	(void)snprintf(p->head, sizeof(p->head), "%.*s", (int)at, p->request);
	if (p->first < p->nanswers)
		answer = p->answers[p->first++];
	else
		answer = strdup("HTTP/1.1 599 Unplanned\r\n"
				"Connection: close\r\n\r\n");
	(void)pthread_mutex_unlock(&p->mutex);
	return (answer);
}

static void
serve(struct played *p, int fd)
{
	size_t at = read_request(p, fd), n, sent = 0;
	ssize_t wrote;
	char *answer;

	if (at == 0)
		return;
	answer = take_answer(p, at);
	if (answer == NULL)
		return;
	for (n = strlen(answer); sent < n; sent += (size_t)wrote) {
		wrote = send(fd, answer + sent, n - sent, MSG_NOSIGNAL);
		if (wrote <= 0)
			break;
	}
	free(answer);
}

static void *
run(void *arg)
{
	struct played *p = arg;
	int fd;

	while ((fd = accept(p->listener, NULL, NULL)) >= 0) {
		serve(p, fd);
		(void)close(fd);
	}
	return (NULL);
}

struct played *
played_start(void)
{
	struct played *p = calloc(1, sizeof(*p));
	struct sockaddr_in in = {.sin_family = AF_INET};
	socklen_t n = sizeof(in);

	assert_non_null(p);
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	p->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(p->listener >= 0);
	assert_int_equal(
	    bind(p->listener, (struct sockaddr *)&in, sizeof(in)), 0);
	assert_int_equal(listen(p->listener, 8), 0);
	assert_int_equal(
	    getsockname(p->listener, (struct sockaddr *)&in, &n), 0);
	(void)snprintf(
	    p->url, sizeof(p->url), "http://127.0.0.1:%u", ntohs(in.sin_port));
	assert_int_equal(pthread_mutex_init(&p->mutex, NULL), 0);
	assert_int_equal(pthread_create(&p->thread, NULL, run, p), 0);
	return (p);
}

void
played_stop(struct played *p)
{

	(void)shutdown(p->listener, SHUT_RDWR);
	(void)pthread_join(p->thread, NULL);
	(void)close(p->listener);
	(void)pthread_mutex_destroy(&p->mutex);
	assert_int_equal(p->first, p->nanswers);
	free(p);
}

const char *
played_url(const struct played *p)
{

	return (p->url);
}

void
played_say(struct played *p, int status, const char *body)
{

	played_say_more(p, status, "", body);
}

void
played_say_more(
    struct played *p, int status, const char *headers, const char *body)
{
	char *raw = NULL, *c;
	int at;

	at = asprintf(&raw,
	    "HTTP/1.1 %d Played\r\nContent-Length: %zu\r\n"
	    "Connection: close\r\n%s\r\n%s",
	    status, strlen(body), headers, body);
	assert_true(at > 0);
	for (c = raw + at - strlen(body); *c != '\0'; c++)
		if (*c == '\'')
			*c = '"';
	played_say_raw(p, raw);
	free(raw);
}

void
played_say_raw(struct played *p, const char *raw)
{
	char *copy = strdup(raw);

	assert_non_null(copy);
	(void)pthread_mutex_lock(&p->mutex);
	if (p->first == p->nanswers)
		p->first = p->nanswers = 0;
	assert_true(p->nanswers < ANSWERS_MAX);
	p->answers[p->nanswers++] = copy;
	(void)pthread_mutex_unlock(&p->mutex);
}

const char *
played_asked(struct played *p)
{

	(void)pthread_mutex_lock(&p->mutex);
	memcpy(p->asked_copy, p->asked, sizeof(p->asked));
	p->asked[0] = '\0';
	(void)pthread_mutex_unlock(&p->mutex);
	return (p->asked_copy);
}

const char *
played_head(struct played *p)
{

	(void)pthread_mutex_lock(&p->mutex);
	memcpy(p->head_copy, p->head, sizeof(p->head));
	(void)pthread_mutex_unlock(&p->mutex);
	return (p->head_copy);
}
