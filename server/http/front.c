/* SPDX-License-Identifier: MIT */
/*
 * The front: the thread that accepts connections.  It peeks at the first bytes
 * of a connection and hands the socket to its owner: the WebSocket side, the
 * loop of the long-polls and streams of events, or, of the other loops, the one
 * with the fewest connections.  It refuses a connection that exceeds a limit or
 * does not begin like HTTP.
 *
 * While it needs more bytes to choose the owner, the front peeks at a
 * connection again only when bytes arrive or the client closes its side
 * (edge-triggered).  After request_deadline_ms it closes the connection without
 * an answer.  When no file descriptor is left, the front uses a spare
 * descriptor to accept and close up to SHED_MAX (16) connections, one at a
 * time, then stops accepting for http_accept_pause (100 ms).  So it never
 * spins.  It logs at most one line a second.
 */
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <arpa/inet.h>
#include <netinet/tcp.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "http/front_internal.h"
#include "http/head_internal.h"
#include "http/http_internal.h"
#include "http/loop_internal.h"
#include "log/log.h"
#include "net/forwarded.h"

#define EVENTS_MAX 64
#define ACCEPT_MAX 64
/* The most calls of front_accept() when draining begins.  They accept up to
 * DRAIN_MAX * ACCEPT_MAX connections, more than the kernel queues. */
#define DRAIN_MAX 64
#define SHED_MAX 16

/* ---- classifying requests ---- */

/* Returns true if the query has a parameter "wait" whose value is not empty and
 * does not begin with 0: the request may then be a long-poll. */
static bool
query_waits(const char *query, size_t n)
{
	const char *end = query + n, *p = query, *next;

	for (; p < end; p = next) {
		if ((next = memchr(p, '&', (size_t)(end - p))) == NULL)
			next = end;
		if (next - p > 5 && memcmp(p, "wait=", 5) == 0 && p[5] != '0')
			return (true);
		if (next < end)
			next++;
	}
	return (false);
}

/* Returns true if "text/event-stream" stands anywhere in the ${n} bytes at
 * ${head}: the request then probably asks for a stream of events, which waits
 * like a long-poll.  Only the bytes that have arrived are searched, so a head
 * in several packets may be missed.  A loop for plain requests then serves the
 * stream, which is correct but slows down this loop: libmicrohttpd walks all
 * suspended connections of a loop whenever it resumes any of them. */
static bool
head_streams(const char *head, size_t n)
{
	static const char type[] = "text/event-stream";

	return (memmem(head, n, type, sizeof(type) - 1) != NULL);
}

enum front_kind
front_classify(const char *p, size_t n, bool full, const char *upgrade_path)
{
	static const char get[] = "GET ";
	const char *target, *end, *query;
	size_t have = (n < 4) ? n : 4, path_len;

	/* HTTP allows empty lines before a request (RFC 9112, 2.2). */
	if (n > 0 && !validator_token_char((unsigned char)*p) && *p != '\r' &&
	    *p != '\n')
		return (*p == 0x16 ? FRONT_TLS : FRONT_BAD);
	if (memcmp(p, get, have) != 0)
		return (FRONT_PLAIN);
	if (have < 4)
		return (full ? FRONT_PLAIN : FRONT_MORE);
	target = p + 4;
	for (end = target; end < p + n; end++)
		if (*end == ' ' || *end == '\r' || *end == '\n')
			break;
	if (end == p + n)
		return (full ? FRONT_PLAIN : FRONT_MORE);
	query = memchr(target, '?', (size_t)(end - target));
	path_len = (size_t)((query == NULL ? end : query) - target);
	if (upgrade_path != NULL && path_len == strlen(upgrade_path) &&
	    memcmp(target, upgrade_path, path_len) == 0)
		return (FRONT_UPGRADE);
	if (query != NULL && query_waits(query + 1, (size_t)(end - query - 1)))
		return (FRONT_WAIT);
	return (head_streams(end, (size_t)(p + n - end)) ? FRONT_WAIT
							 : FRONT_PLAIN);
}

/* ---- handing over ---- */

static struct loop *
choose_loop(struct front *front, enum front_kind kind)
{
	struct http *http = front->http;
	struct loop *best = &http->loops[0], *loop;
	size_t n, least = SIZE_MAX;
	int i, plain = http->options.loops;

	if (kind == FRONT_WAIT)
		return (&http->loops[plain]);
	for (i = 0; i < plain; i++) {
		loop =
		    &http->loops[(front->turn + (unsigned)i) % (unsigned)plain];
		n = atomic_load(&loop->connections);
		if (n < least) {
			least = n;
			best = loop;
		}
	}
	front->turn++;
	return (best);
}

/* Closes a connection that the front still owns. */
static void
front_close(struct conn *conn)
{

	(void)close(conn->fd);
	conn_free(conn);
}

/* Answers 400 to a connection that does not begin like an HTTP request, closes
 * it and frees ${conn}.  libmicrohttpd would close it without an answer, or
 * skip a line that begins with NUL. */
static void
front_refuse(struct front *front, struct conn *conn, enum front_kind kind)
{
	struct http *http = front->http;

	if (conn_limit_refuse(&http->conn_limit, conn->fd, PROBLEM_BAD_REQUEST,
		kind == FRONT_TLS
		    ? "this port speaks HTTP/1.1 without TLS; TLS is the "
		      "proxy's"
		    : "this is not the beginning of a request of HTTP/1.1"))
		metrics_add(http->options.metrics, METRIC_HTTP_TURNED_AWAY, 1);
	front_close(conn);
}

/* Gives the socket and the client's address to the WebSocket side, which owns
 * the socket from then on, and frees ${conn}.  Behind a believed proxy the
 * client is the one that the head of the request names or, if it names none,
 * the proxy.  front_peek() has therefore waited until the head was complete,
 * PEEK_HEAD_LEN bytes had arrived, or the proxy had closed its side. */
static void
front_upgrade(struct front *front, struct conn *conn)
{
	const struct http_options *options = &front->http->options;
	struct forwarded_lines lines;
	char text[PEEK_HEAD_LEN];
	struct net_from from = {.scheme = NET_SCHEME_UNKNOWN};
	int fd = conn->fd;
	ssize_t n;

	memcpy(from.client, conn->peer, sizeof(from.client));
	if (conn->believed) {
		n = recv(fd, text, sizeof(text), MSG_PEEK | MSG_DONTWAIT);
		if (n > 0 && forwarded_scan(text, (size_t)n, &lines))
			forwarded_read(&lines, &options->believed, &from);
	}
	conn_free(conn);
	options->upgrade(fd, &from, options->upgrade_arg);
}

static void
front_hand_over(struct front *front, struct conn *conn, enum front_kind kind)
{
	struct http *http = front->http;
	struct loop *loop;

	if (kind == FRONT_BAD || kind == FRONT_TLS) {
		front_refuse(front, conn, kind);
		return;
	}
	if (kind == FRONT_UPGRADE) {
		front_upgrade(front, conn);
		return;
	}
	loop = choose_loop(front, kind);
	atomic_fetch_add(&loop->connections, 1);
	conn->deadline_ms =
	    clk_mono_ms(http->options.clk) + http->options.request_deadline_ms;
	if (mbox_put_urgent(loop->mbox, &conn->msg.node) != RC_OK) {
		atomic_fetch_sub(&loop->connections, 1);
		front_close(conn);
	}
}

/* Sets ${*ret} to the kind of ${conn} by the bytes that have arrived, which
 * stay unread; FRONT_MORE: these do not suffice.  If ${hung_up} is set, no more
 * bytes will come, so ${*ret} is not FRONT_MORE when this function returns
 * true.  Returns false if the client has closed without sending anything, or
 * the socket has failed; the caller then closes the connection. */
static bool
front_peek(struct front *front, const struct conn *conn, bool hung_up,
    enum front_kind *ret)
{
	const struct http_options *options = &front->http->options;
	char text[PEEK_HEAD_LEN];
	size_t size = conn->believed ? PEEK_HEAD_LEN : PEEK_LEN;
	ssize_t n;

	do
		n = recv(conn->fd, text, size, MSG_PEEK | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	*ret = FRONT_MORE;
	if (n < 0 && errno == EAGAIN && !hung_up)
		return (true);
	if (n <= 0)
		return (false);
	*ret = front_classify(text, (size_t)n, hung_up || (size_t)n >= PEEK_LEN,
	    options->upgrade == NULL ? NULL : options->upgrade_path);
	if (*ret == FRONT_UPGRADE && conn->believed && !hung_up &&
	    (size_t)n < size && memmem(text, (size_t)n, "\r\n\r\n", 4) == NULL)
		*ret = FRONT_MORE;
	return (true);
}

/* ---- accepting ---- */

static void
front_log(struct front *front, int error, const char *what)
{
	int64_t now = clk_mono_ms(front->http->options.clk);

	if (front->log_ms != 0 && now - front->log_ms < 1000) {
		front->log_dropped++;
		return;
	}
	log_event(LOG_EV_FRONT_ACCEPT, "why=%s error=%d more=%d", what, error,
	    front->log_dropped);
	front->log_ms = now;
	front->log_dropped = 0;
}

static void
front_listen(struct front *front, bool on)
{
	struct epoll_event ev = {.events = on ? (uint32_t)EPOLLIN : 0};

	if (front->listen_fd < 0)
		return;
	ev.data.ptr = front;
	(void)epoll_ctl(front->epoll_fd, EPOLL_CTL_MOD, front->listen_fd, &ev);
}

static void
front_pause(struct front *front)
{

	front->resume_ms = clk_mono_ms(front->http->options.clk) +
			   front->http->options.timing->http_accept_pause_ms;
	front_listen(front, false);
}

/* Handles the lack of file descriptors.  Up to SHED_MAX times, closes the spare
 * descriptor, accepts a connection in its place, closes the connection without
 * an answer, and opens the spare descriptor again, so that these clients do not
 * hang in the kernel's queue.  Then stops accepting for http_accept_pause. */
static void
front_starved(struct front *front, int error)
{
	int fd, i;

	front_log(front, error, "no descriptors");
	for (i = 0; i < SHED_MAX && front->reserve_fd >= 0; i++) {
		(void)close(front->reserve_fd);
		fd = accept4(front->listen_fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0)
			(void)close(fd);
		front->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			break;
	}
	front_pause(front);
}

/* Refuses a connection with a problem document that says ${why}, and closes it.
 */
static void
front_turn_away(
    struct front *front, int fd, enum problem problem, const char *why)
{
	struct http *http = front->http;

	front_log(front, 0, why);
	if (conn_limit_refuse(&http->conn_limit, fd, problem, why))
		metrics_add(http->options.metrics, METRIC_HTTP_TURNED_AWAY, 1);
	(void)close(fd);
}

/* Sets the peer's address as text, and whether the peer is a believed proxy. */
static void
conn_set_peer(struct conn *conn, const struct net_networks *believed)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	const struct sockaddr_in6 *in6 = (void *)&conn->addr;
	const struct sockaddr_in *in = (void *)&conn->addr;
	uint8_t address[16];

	if (conn->addr.ss_family == AF_INET) {
		memcpy(address, mapped, sizeof(mapped));
		memcpy(address + sizeof(mapped), &in->sin_addr, 4);
	} else {
		memcpy(address, &in6->sin6_addr, sizeof(address));
	}
	conn->believed = forwarded_believed(believed, address);
	forwarded_address_text(address, conn->peer);
}

/* Takes over the new socket ${fd}.  If a limit of connections or descriptors is
 * reached, or there is no memory, answers with a refusal and closes the socket.
 * Its first bytes have often arrived already, so the front peeks at once, and
 * adds the socket to the epoll set only if it needs more bytes. */
static void
front_take(struct front *front, int fd, const struct sockaddr_storage *addr,
    socklen_t addr_len)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET};
	struct http *http = front->http;
	enum front_kind kind;
	struct conn *conn;

	if (atomic_load(&http->connections) >= http->options.connection_limit ||
	    (http->options.descriptors != 0 &&
		(size_t)fd >= http->options.descriptors) ||
	    (conn = mem_zalloc(1, sizeof(*conn))) == NULL) {
		front_turn_away(
		    front, fd, PROBLEM_BUSY, "too many connections");
		return;
	}
	atomic_fetch_add(&http->connections, 1);
	metrics_add(http->options.metrics, METRIC_HTTP_CONNECTIONS, 1);
	conn->msg.kind = MSG_CONN;
	conn->http = http;
	conn->fd = fd;
	conn->addr = *addr;
	conn->addr_len = addr_len;
	conn_set_peer(conn, &http->options.believed);
	/* A proxy stands for many clients and limits them itself. */
	if (!conn->believed && !conn_limit_enter(&http->conn_limit, conn)) {
		front_turn_away(front, fd, PROBLEM_RATE_LIMITED,
		    "too many connections from this address");
		conn_free(conn);
		return;
	}
	if (!front_peek(front, conn, false, &kind)) {
		front_close(conn);
		return;
	}
	if (kind != FRONT_MORE) {
		front_hand_over(front, conn, kind);
		return;
	}
	conn->deadline_ms =
	    clk_mono_ms(http->options.clk) + http->options.request_deadline_ms;
	ev.data.ptr = conn;
	if (epoll_ctl(front->epoll_fd, EPOLL_CTL_ADD, fd, &ev) != 0) {
		front_close(conn);
		return;
	}
	conn_list_add(&front->conns, conn);
}

/* Accepts up to ACCEPT_MAX waiting connections.  Returns true if more may wait.
 */
static bool
front_accept(struct front *front)
{
	struct sockaddr_storage addr;
	socklen_t len;
	int fd, i;

	for (i = 0; i < ACCEPT_MAX; i++) {
		len = sizeof(addr);
		fd = accept4(front->listen_fd, (struct sockaddr *)&addr, &len,
		    SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0) {
			front_take(front, fd, &addr, len);
			continue;
		}
		if (errno == EINTR || errno == ECONNABORTED)
			continue;
		if (errno == EMFILE || errno == ENFILE) {
			front_starved(front, errno);
		} else if (errno != EAGAIN) {
			front_log(front, errno, "accept");
			front_pause(front);
		}
		return (false);
	}
	return (true);
}

/* Accepts the connections that the kernel has queued (at most DRAIN_MAX *
 * ACCEPT_MAX; ends early if accept4() fails), and then closes the listening
 * socket.  Closing it first would reset the queued connections, whose clients
 * may have sent a request already. */
static void
front_drain(struct front *front)
{

	int i;

	for (i = 0; i < DRAIN_MAX && front_accept(front); i++)
		continue;
	/* A duplicate of the socket may stay open (http_keep_listener()).
	 * After close() alone the socket would then stay in the epoll set and
	 * go on waking this thread. */
	(void)epoll_ctl(front->epoll_fd, EPOLL_CTL_DEL, front->listen_fd, NULL);
	(void)close(front->listen_fd);
	front->listen_fd = -1;
}

/* ---- the thread ---- */

static void
front_event(struct front *front, const struct epoll_event *ev)
{
	enum front_kind kind;
	struct conn *conn;
	bool ok;

	if (ev->data.ptr == NULL) {
		eventfd_t n;

		(void)eventfd_read(front->wake_fd, &n);
		return;
	}
	if (ev->data.ptr == front) {
		if (front->listen_fd >= 0)
			(void)front_accept(front);
		return;
	}
	conn = ev->data.ptr;
	ok = front_peek(front, conn,
	    (ev->events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0, &kind);
	if (ok && kind == FRONT_MORE)
		return; /* edge-triggered: more bytes cause another event */
	conn_list_remove(&front->conns, conn);
	(void)epoll_ctl(front->epoll_fd, EPOLL_CTL_DEL, conn->fd, NULL);
	if (ok)
		front_hand_over(front, conn, kind);
	else
		front_close(conn);
}

static void
front_expire(struct front *front)
{
	const struct http_options *options = &front->http->options;
	int64_t now = clk_mono_ms(options->clk);
	struct conn *conn;

	while ((conn = front->conns.head) != NULL && conn->deadline_ms <= now) {
		conn_list_remove(&front->conns, conn);
		metrics_add(options->metrics, METRIC_HTTP_DEADLINES, 1);
		front_close(conn);
	}
	if (front->resume_ms != 0 && front->resume_ms <= now) {
		front->resume_ms = 0;
		if (front->reserve_fd < 0)
			front->reserve_fd =
			    open("/dev/null", O_RDONLY | O_CLOEXEC);
		front_listen(front, true);
	}
}

static int
front_timeout(const struct front *front)
{
	int64_t now = clk_mono_ms(front->http->options.clk), at = INT64_MAX;

	if (front->conns.head != NULL)
		at = front->conns.head->deadline_ms;
	if (front->resume_ms != 0 && front->resume_ms < at)
		at = front->resume_ms;
	if (at == INT64_MAX)
		return (-1);
	return (at <= now ? 0 : at - now > 60000 ? 60000 : (int)(at - now) + 1);
}

void
front_main(void *arg)
{
	struct epoll_event events[EVENTS_MAX];
	struct front *front = arg;
	int i, n;

	while (!atomic_load(&front->http->front_stop)) {
		n = epoll_wait(
		    front->epoll_fd, events, EVENTS_MAX, front_timeout(front));
		if (atomic_load(&front->http->draining) &&
		    front->listen_fd >= 0)
			front_drain(front);
		for (i = 0; i < n; i++)
			front_event(front, &events[i]);
		front_expire(front);
	}
}

void
front_wake(struct front *front)
{

	if (front->wake_fd >= 0)
		(void)eventfd_write(front->wake_fd, 1);
}

enum rc
front_init(struct front *front, struct http *http, struct err *err)
{
	struct epoll_event ev = {.events = EPOLLIN};

	front->http = http;
	if ((front->epoll_fd = epoll_create1(EPOLL_CLOEXEC)) < 0 ||
	    (front->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) < 0 ||
	    (front->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0)
		return (err_set_sys(err, RC_IO, errno, "front"));
	ev.data.ptr = NULL;
	if (epoll_ctl(front->epoll_fd, EPOLL_CTL_ADD, front->wake_fd, &ev) != 0)
		return (err_set_sys(err, RC_IO, errno, "front: epoll"));
	ev.data.ptr = front;
	if (epoll_ctl(front->epoll_fd, EPOLL_CTL_ADD, front->listen_fd, &ev) !=
	    0)
		return (err_set_sys(err, RC_IO, errno, "front: epoll"));
	return (RC_OK);
}

void
front_fini(struct front *front)
{
	struct conn *conn;

	while ((conn = front->conns.head) != NULL) {
		conn_list_remove(&front->conns, conn);
		front_close(conn);
	}
	if (front->listen_fd >= 0)
		(void)close(front->listen_fd);
	if (front->reserve_fd >= 0)
		(void)close(front->reserve_fd);
	if (front->wake_fd >= 0)
		(void)close(front->wake_fd);
	if (front->epoll_fd >= 0)
		(void)close(front->epoll_fd);
}
