/* SPDX-License-Identifier: MIT */
/*
 * The HTTP server as a whole: its listening socket, its threads, and the order
 * of starting, draining and stopping.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "http/http_internal.h"
#include "http/loop_internal.h"
#include "http/router_internal.h"

#define BACKLOG 1024

/* Splits "host:port" or "[host]:port". */
static bool
listen_split(const char *listen, char *host, size_t host_size, char *port,
    size_t port_size)
{
	const char *colon = strrchr(listen, ':'), *from = listen;
	size_t n;

	if (colon == NULL)
		return (false);
	n = (size_t)(colon - listen);
	if (n >= 2 && listen[0] == '[' && colon[-1] == ']') {
		from++;
		n -= 2;
	}
	if (n == 0 || n >= host_size || strlen(colon + 1) == 0 ||
	    strlen(colon + 1) >= port_size ||
	    strtoull(colon + 1, NULL, 10) > UINT16_MAX)
		return (false);
	memcpy(host, from, n);
	host[n] = '\0';
	memcpy(port, colon + 1, strlen(colon + 1) + 1);
	return (true);
}

static int
bind_one(const struct addrinfo *ai)
{
	const int on = 1;
	int fd, error;

	fd = socket(ai->ai_family,
	    ai->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, ai->ai_protocol);
	if (fd < 0)
		return (-1);
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
	    bind(fd, ai->ai_addr, ai->ai_addrlen) == 0 &&
	    listen(fd, BACKLOG) == 0)
		return (fd);
	error = errno;
	(void)close(fd);
	errno = error;
	return (-1);
}

/* Returns the code for a failure to listen with errno ${error}: RC_DENIED if
 * the permission is missing (EACCES, EPERM), RC_BUSY for any other errno,
 * because an address that is taken or does not exist yet may become usable, so
 * that another start may succeed.  The code is not RC_IO, which stands for a
 * failed disk and after which a supervisor must not start the server again. */
static enum rc
listen_rc(int error)
{

	return (error == EACCES || error == EPERM ? RC_DENIED : RC_BUSY);
}

/* Opens the listening socket. */
static enum rc
http_listen(struct http *http, struct err *err)
{
	struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV,
	    .ai_socktype = SOCK_STREAM};
	const char *listen = http->options.listen;
	struct addrinfo *list, *ai;
	char host[256], port[8];
	int rc, fd = -1;

	if (!listen_split(listen, host, sizeof(host), port, sizeof(port)))
		return (err_set(err, RC_INVALID,
		    "listen: \"%s\" is not host:port", listen));
	if ((rc = getaddrinfo(host, port, &hints, &list)) != 0)
		return (err_set(err, RC_INVALID, "listen: %s: %s", listen,
		    gai_strerror(rc)));
	errno = EADDRNOTAVAIL;
	for (ai = list; ai != NULL && fd < 0; ai = ai->ai_next)
		fd = bind_one(ai);
	rc = errno;
	freeaddrinfo(list);
	if (fd < 0)
		return (
		    err_set_sys(err, listen_rc(rc), rc, "listen: %s", listen));
	http->front.listen_fd = fd;
	return (RC_OK);
}

/* Opens the listening socket unless it was given, and finds its port. */
static enum rc
http_take_port(struct http *http, struct err *err)
{
	struct sockaddr_storage addr;
	socklen_t len = sizeof(addr);
	enum rc rc;

	if (http->front.listen_fd < 0 && (rc = http_listen(http, err)) != RC_OK)
		return (rc);
	if (getsockname(
		http->front.listen_fd, (struct sockaddr *)&addr, &len) != 0)
		return (err_set_sys(
		    err, RC_IO, errno, "listen: %s", http->options.listen));
	if (addr.ss_family == AF_INET6)
		http->port =
		    ntohs(((struct sockaddr_in6 *)(void *)&addr)->sin6_port);
	else
		http->port =
		    ntohs(((struct sockaddr_in *)(void *)&addr)->sin_port);
	return (RC_OK);
}

/* Frees ${http}, which may be half-made.  Its threads have ended or were never
 * started. */
static void
http_free(struct http *http)
{
	int i;

	front_fini(&http->front);
	for (i = 0; i < http->loop_count; i++)
		loop_fini(&http->loops[i]);
	mem_free(http->loops);
	conn_limit_fini(&http->conn_limit);
	router_free(http->router);
	budget_free(http->bodies);
	budget_free(http->answers);
	mem_free(http);
}

/* Makes the budgets that have a limit.  Returns false if there is no memory. */
static bool
budgets_init(struct http *http, const struct http_options *o)
{

	if (o->body_bytes != 0)
		http->bodies =
		    budget_new(o->body_bytes, o->body_bytes / HTTP_OWNER_PART);
	if (o->answer_bytes != 0)
		http->answers = budget_new(
		    o->answer_bytes, o->answer_bytes / HTTP_OWNER_PART);
	return ((http->bodies != NULL || o->body_bytes == 0) &&
		(http->answers != NULL || o->answer_bytes == 0));
}

enum rc
http_new(const struct http_options *options, struct http **ret, struct err *err)
{
	struct http *http;
	enum rc rc;
	int i;

	assert(options->loops >= 1 && options->request_deadline_ms > 0 &&
	       options->idle_deadline_ms > 0);
	if ((http = mem_zalloc(1, sizeof(*http))) == NULL) {
		if (options->listener > 0)
			(void)close(options->listener);
		return (err_set(err, RC_NO_MEMORY, "http"));
	}
	http->options = *options;
	http->options.timing = timing_or_real(options->timing);
	http->gate = (struct http_gate){.authorize = options->authorize,
	    .head = options->head,
	    .lookup = options->lookup,
	    .arg = options->route_arg};
	http->front.epoll_fd = http->front.wake_fd = -1;
	http->front.listen_fd = options->listener > 0 ? options->listener : -1;
	http->front.reserve_fd = -1;
	http->layout_known =
	    strncmp(MHD_get_version(), "0.9.7", strlen("0.9.7")) == 0;
	if (conn_limit_init(&http->conn_limit, options) != RC_OK ||
	    !budgets_init(http, options)) {
		rc = err_set(err, RC_NO_MEMORY, "http");
		goto free_http;
	}
	if ((rc = router_new(options->routes, &http->router, err)) != RC_OK ||
	    (rc = http_take_port(http, err)) != RC_OK ||
	    (rc = front_init(&http->front, http, err)) != RC_OK)
		goto free_http;
	http->loops =
	    mem_zalloc((size_t)options->loops + 1, sizeof(*http->loops));
	if (http->loops == NULL) {
		rc = err_set(err, RC_NO_MEMORY, "http");
		goto free_http;
	}
	http->loop_count = options->loops + 1;
	for (i = 0; i < http->loop_count; i++)
		if ((rc = loop_init(&http->loops[i], http, i, err)) != RC_OK)
			goto free_http;
	http->loops[options->loops].long_poll = true;
	*ret = http;
	return (RC_OK);

free_http:
	http_free(http);
	return (rc);
}

enum rc
http_start(struct http *http, struct err *err)
{
	enum rc rc;
	int i;

	for (i = 0; i < http->loop_count; i++) {
		rc = thr_start(THR_HTTP, i, loop_main, &http->loops[i],
		    &http->loops[i].thr, err);
		if (rc != RC_OK)
			return (rc);
	}
	return (thr_start(
	    THR_FRONT, 0, front_main, &http->front, &http->front.thr, err));
}

int
http_port(const struct http *http)
{

	return (http->port);
}

int
http_keep_listener(const struct http *http)
{
	const int fd = fcntl(http->front.listen_fd, F_DUPFD_CLOEXEC, 3);

	return (fd < 0 ? 0 : fd);
}

void
http_drain(struct http *http)
{
	int i;

	if (atomic_exchange(&http->draining, true))
		return;
	front_wake(&http->front);
	for (i = 0; i < http->loop_count; i++)
		(void)!mbox_put_urgent(
		    http->loops[i].mbox, &http->loops[i].wake_msg.node);
}

void
http_refuse(struct http *http)
{

	http_drain(http);
	atomic_store(&http->refusing, true);
}

size_t
http_pending(const struct http *http)
{

	return (atomic_load(&http->pending));
}

uint64_t
http_begun(const struct http *http)
{

	return (atomic_load(&http->begun));
}

size_t
http_connections(const struct http *http)
{

	return (atomic_load(&http->connections));
}

void
http_stop(struct http *http)
{
	int i;

	if (http == NULL)
		return;
	http_refuse(http);
	atomic_store(&http->front_stop, true);
	front_wake(&http->front);
	thr_join(&http->front.thr);
	atomic_store(&http->loops_stop, true);
	for (i = 0; i < http->loop_count; i++)
		mbox_close(http->loops[i].mbox);
	for (i = 0; i < http->loop_count; i++) {
		thr_join(&http->loops[i].thr);
	}
	http_free(http);
}
