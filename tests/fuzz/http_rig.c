/* SPDX-License-Identifier: MIT */
/*
 * Runs the server and its only client in one thread.
 */
#include "fuzz/http_rig.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "fuzz/fuzz.h"
#include "http/http_internal.h"
#include "http/loop_internal.h"
#include "log/log.h"

#define DEADLINE_MS 15000
/* The most turns of the loop without a pause.  It is far more than any input
 * needs, so more turns mean an endless loop. */
#define TURNS_MAX 100000

static struct clk_fake now;
static struct http *http;

void
rig_start(const struct http_route *routes, void *arg)
{
	static struct http_options options = {
	    .listen = "127.0.0.1:0",
	    .loops = 1,
	    .upgrade_path = RIG_UPGRADE,
	    .request_deadline_ms = DEADLINE_MS,
	    .idle_deadline_ms = DEADLINE_MS,
	    .connection_limit = 100,
	};
	struct err err = ERR_INIT;

	log_set_level(LVL_ERROR); /* libmicrohttpd warns about our sockets */
	clk_fake_init(&now, INT64_C(1795262400000));
	options.routes = (const struct http_routes[]){
	    {routes, NULL, NULL}, {NULL, NULL, NULL}};
	options.route_arg = arg;
	options.clk = &now.clk;
	options.metrics = metrics_new();
	MUST(options.metrics != NULL);
	MUST(http_new(&options, &http, &err) == RC_OK);
}

/* Does the front's work for a connection whose first bytes have arrived. */
static struct loop *
rig_accept(const uint8_t *p, size_t n, int fd)
{
	enum front_kind kind;
	struct loop *loop;
	struct conn *conn;

	n = (n < PEEK_LEN) ? n : PEEK_LEN;
	kind = front_classify((const char *)p, n, true, RIG_UPGRADE);
	MUST(kind != FRONT_MORE);
	if (kind == FRONT_UPGRADE || kind == FRONT_BAD || kind == FRONT_TLS) {
		(void)close(fd);
		return (NULL);
	}
	loop = &http->loops[kind == FRONT_WAIT ? 1 : 0];
	conn = mem_zalloc(1, sizeof(*conn));
	MUST(conn != NULL);
	conn->msg.kind = MSG_CONN;
	conn->http = http;
	conn->fd = fd;
	conn->addr.ss_family = AF_INET;
	conn->addr_len = sizeof(struct sockaddr_in);
	conn->deadline_ms = clk_mono_ms(&now.clk) + DEADLINE_MS;
	memcpy(conn->peer, "127.0.0.1", 10);
	atomic_fetch_add(&http->connections, 1);
	atomic_fetch_add(&loop->connections, 1);
	MUST(mbox_put_urgent(loop->mbox, &conn->msg.node) == RC_OK);
	return (loop);
}

/* Reads all bytes that have arrived. */
static void
rig_read(int fd, struct buf *ret)
{
	char text[4096];
	ssize_t got;

	do {
		got = recv(fd, text, sizeof(text), MSG_DONTWAIT);
		if (got > 0)
			buf_add(ret, text, (size_t)got);
	} while (got > 0 || (got < 0 && errno == EINTR));
}

/* Turns the loop until it has nothing to do. */
static void
rig_settle(struct loop *loop, int fd, struct buf *ret)
{
	int turns = 0;

	while (loop_turn(loop, 0)) {
		MUST(++turns < TURNS_MAX);
		rig_read(fd, ret);
	}
	rig_read(fd, ret);
}

bool
rig_exchange(const uint8_t *p, size_t n, size_t pieces, struct buf *ret)
{
	size_t step = n / pieces + 1, some;
	struct loop *loop;
	ssize_t sent;
	int fds[2];

	MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
		 fds) == 0);
	if ((loop = rig_accept(p, n, fds[1])) == NULL) {
		(void)close(fds[0]);
		return (false);
	}
	for (; n > 0; p += some, n -= some) {
		some = n < step ? n : step;
		sent = send(fds[0], p, some, MSG_NOSIGNAL);
		if (sent < 0)
			break; /* the server has closed the connection */
		some = (size_t)sent;
		rig_settle(loop, fds[0], ret);
	}
	(void)shutdown(fds[0], SHUT_WR);
	rig_settle(loop, fds[0], ret);
	clk_fake_advance(&now, DEADLINE_MS + DEADLINE_MS / 8 + 2);
	rig_settle(loop, fds[0], ret);
	(void)close(fds[0]);
	rig_settle(loop, fds[0], ret);
	MUST(loop->conns.head == NULL && loop->requests == NULL);
	MUST(loop->lingers == NULL && loop->linger_count == 0);
	MUST(atomic_load(&loop->connections) == 0);
	MUST(atomic_load(&http->connections) == 0);
	MUST(atomic_load(&http->pending) == 0);
	MUST(buf_ok(ret));
	return (true);
}
