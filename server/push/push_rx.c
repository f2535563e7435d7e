/* SPDX-License-Identifier: MIT */
/*
 * Reads the input from clients in place of libwebsockets.  This file peeks at a
 * handshake (MSG_PEEK) until it is complete and valid, or refuses it.  The
 * library gets only connections with a valid handshake, which it then reads
 * itself and answers.  From then on ws_reader reads every frame, and the
 * library only writes.
 *
 * One epoll set holds all sockets that are read, and one libuv handle of the
 * loop watches the set.  So a socket can be in the library's watcher (for
 * writing) and in ours, and each session gets its turn of RX_LEN bytes.
 */
#include <sys/epoll.h>
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "push/push_internal.h"
#include "ws/handshake.h"

#define EVENTS_MAX 64
#define LINGER_BYTES (1024 * 1024)

/* Returns the tag that epoll returns for the socket of a session: twice the
 * number of the session, plus 1.  The tag of an arrival is its address, which
 * is even.  A session is named by number because it may have ended before its
 * event is handled. */
static uint64_t
tag_of(const struct session *s)
{

	return ((uint64_t)s->no << 1 | 1);
}

static int64_t
now_ms(const struct push *p)
{

	return (clk_mono_ms(p->options.clk));
}

/* ---- arrivals ---- */

static void
arrival_free(struct push *p, struct arrival *a)
{

	TAILQ_REMOVE(&p->arrivals, a, entry);
	p->narrivals--;
	mem_free(a->task);
	mem_free(a);
}

static void
arrival_close(struct push *p, struct arrival *a)
{

	(void)close(a->fd);
	arrival_free(p, a);
}

/* Writes the whole HTTP response for a refused handshake. */
static void
write_refusal(struct push *p, struct buf *b, const struct refusal *r)
{
	char id[UUID_TEXT_LEN + 1];
	struct buf body = BUF_INIT;
	struct uuid uuid;

	uuid = uuid_gen_next(&p->ids);
	uuid_format(&uuid, id);
	wire_problem(&body, r, "/v1/ws", id);
	buf_addc(&body, '\n');
	buf_addf(b, "HTTP/1.1 %d %s\r\n", problem_status(r->problem),
	    problem_title(r->problem));
	buf_adds(b, "Content-Type: application/problem+json\r\n"
		    "Cache-Control: no-store\r\n"
		    "X-Content-Type-Options: nosniff\r\n"
		    "Sec-WebSocket-Version: 13\r\n");
	if (r->retry_after_s > 0)
		buf_addf(b, "Retry-After: %d\r\n", r->retry_after_s);
	buf_addf(b, "X-Request-Id: %s\r\nConnection: close\r\n", id);
	buf_addf(b, "Content-Length: %zu\r\n\r\n", body.len);
	buf_add(b, body.data, body.len);
	if (!buf_ok(&body))
		b->failed = true;
	buf_fini(&body);
}

/* Sends the refusal, unless memory is short, and half-closes the connection.
 * After that, read_empty() reads and drops the client's input until the client
 * closes, push_linger has passed or LINGER_BYTES have come: a close with unread
 * bytes would reset the connection, and the client could lose the response. */
static void
refuse(struct push *p, struct arrival *a, const struct refusal *r)
{
	struct buf b = BUF_INIT;

	metrics_add(p->options.metrics, METRIC_WS_REFUSED, 1);
	write_refusal(p, &b, r);
	if (buf_ok(&b))
		(void)!send(a->fd, b.data, b.len, MSG_DONTWAIT | MSG_NOSIGNAL);
	buf_fini(&b);
	(void)shutdown(a->fd, SHUT_WR);
	a->refused = true;
	a->until_ms = now_ms(p) + p->options.timing->push_linger_ms;
}

static void
refuse_busy(struct push *p, struct arrival *a)
{
	struct refusal r = REFUSAL_INIT;

	if (atomic_load(&p->draining))
		refusal_set(&r, PROBLEM_DRAINING, "", "the server is stopping");
	else
		refusal_set(&r, PROBLEM_BUSY, "",
		    "as many WebSockets are open as there may be");
	r.retry_after_s = 1;
	refuse(p, a, &r);
}

/* Reads and drops what a refused client still sends.  Returns false when the
 * connection can be closed: it has ended or failed, or LINGER_BYTES were
 * read. */
static bool
read_empty(struct push *p, struct arrival *a)
{
	ssize_t n;

	do {
		n = recv(a->fd, p->rx, sizeof(p->rx), MSG_DONTWAIT);
		if (n > 0)
			a->read += (size_t)n;
	} while (n > 0 && a->read < LINGER_BYTES);
	return (n < 0 && (errno == EAGAIN || errno == EINTR));
}

/* Checks the handshake as far as it has come. */
static enum ws_handshake_state
look(struct push *p, const struct arrival *a, struct refusal *r)
{
	const struct ws_handshake_rules rules = {.path = "/v1/ws",
	    .protocol = "twinbox.v1",
	    .allow_origin = p->allow_origin,
	    .scheme = a->task->peer.scheme,
	    .host = a->task->peer.host};
	ssize_t n;

	n = recv(a->fd, p->rx, WS_HANDSHAKE_LEN, MSG_PEEK | MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return (WS_HANDSHAKE_MORE);
	if (n <= 0) {
		r->problem = PROBLEM_NONE;
		return (WS_HANDSHAKE_REFUSED);
	}
	return (ws_handshake_read(p->rx, (size_t)n, &rules, r));
}

/* Returns whether one more connection may become a session; false during the
 * drain.  There must be room among the users' sessions, and room in the pool of
 * newcomers (newcomers.c): if that is full, this function ends the connections
 * of other newcomers.  Connections whose handshake the library has yet to
 * answer count as newcomers, because many may come in one turn of the loop. */
static bool
has_room(struct push *p)
{

	return (!atomic_load(&p->draining) && session_has_place(p) &&
		newcomers_make_room(p));
}

static void
arrival_ready(struct push *p, struct arrival *a)
{
	struct refusal r = REFUSAL_INIT;
	struct adopt_task *task = a->task;

	if (!a->refused) {
		switch (look(p, a, &r)) {
		case WS_HANDSHAKE_MORE:
			return;
		case WS_HANDSHAKE_WHOLE:
			if (has_room(p)) {
				(void)epoll_ctl(
				    p->rx_fd, EPOLL_CTL_DEL, a->fd, NULL);
				a->task = NULL;
				arrival_free(p, a);
				push_lws_adopt(p, task);
				return;
			}
			refuse_busy(p, a);
			break;
		case WS_HANDSHAKE_REFUSED:
		default:
			if (r.problem == PROBLEM_NONE) {
				arrival_close(p, a);
				return;
			}
			refuse(p, a, &r);
			break;
		}
	}
	if (!read_empty(p, a))
		arrival_close(p, a);
}

void
push_rx_arrive(struct push *p, struct adopt_task *task)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET};
	struct arrival *a;
	int fd = task->fd;

	if (p->narrivals >= ARRIVALS_MAX)
		arrival_close(p, TAILQ_FIRST(&p->arrivals));
	a = mem_zalloc(1, sizeof(*a));
	ev.data.ptr = a;
	if (a == NULL || epoll_ctl(p->rx_fd, EPOLL_CTL_ADD, fd, &ev) != 0) {
		(void)close(fd);
		mem_free(task);
		mem_free(a);
		return;
	}
	a->fd = fd;
	a->task = task;
	a->until_ms = now_ms(p) + p->options.timing->push_arrival_ms;
	TAILQ_INSERT_TAIL(&p->arrivals, a, entry);
	p->narrivals++;
	arrival_ready(p, a);
}

void
push_rx_drain(struct push *p)
{
	struct arrival *a, *next;

	for (a = TAILQ_FIRST(&p->arrivals); a != NULL; a = next) {
		next = TAILQ_NEXT(a, entry);
		if (!a->refused)
			arrival_close(p, a);
	}
}

void
push_rx_tick(struct push *p, int64_t now)
{
	struct arrival *a, *next;

	for (a = TAILQ_FIRST(&p->arrivals); a != NULL; a = next) {
		next = TAILQ_NEXT(a, entry);
		if (a->until_ms > now)
			continue;
		if (!a->refused)
			metrics_add(
			    p->options.metrics, METRIC_HTTP_DEADLINES, 1);
		arrival_close(p, a);
	}
}

/* ---- sessions ---- */

static void
watch(struct session *s, bool on)
{
	struct epoll_event ev = {.events = on ? (uint32_t)EPOLLIN : 0};

	s->rx.paused = !on;
	ev.data.u64 = tag_of(s);
	(void)epoll_ctl(s->push->rx_fd, EPOLL_CTL_MOD, s->rx.fd, &ev);
}

void
push_rx_pause(struct session *s)
{

	watch(s, false);
}

void
push_rx_resume(struct session *s)
{

	if (!s->rx.paused || s->state == SESSION_ENDED || s->rx.pace < 0 ||
	    s->tx.nframes > 0)
		return;
	watch(s, true);
	/* While it was paused, the session was not read, so the client could
	 * not meet the deadlines for silence and for a message: restart
	 * them. */
	s->rx.heard_ms = s->rx.midway_ms = now_ms(s->push);
	s->rx.pinged = false;
}

void
push_rx_closing(struct session *s)
{

	if (s->rx.paused)
		watch(s, true);
	if (s->rx.reader.over && lws_partial_buffered(s->wsi) == 0)
		(void)shutdown(s->rx.fd, SHUT_WR);
}

/* Refills the credit for control frames and for the pace (token buckets). */
static void
reckon(struct session *s, int64_t now)
{
	double seconds = (double)(now - s->rx.credit_ms) / 1000;
	double pace = s->push->options.rate_limit * PACE_FACTOR;

	s->rx.credit_ms = now;
	s->rx.control += seconds * CONTROL_RATE;
	if (s->rx.control > CONTROL_BURST)
		s->rx.control = CONTROL_BURST;
	s->rx.pace += seconds * pace;
	if (s->rx.pace > pace)
		s->rx.pace = pace;
}

static bool
on_message(void *arg, const char *text, size_t n)
{
	struct session *s = arg;

	s->rx.midway = false;
	session_received(s, text, n);
	return (true);
}

static bool
control_allowed(struct session *s)
{

	/* A control frame between the fragments of a message does not end that
	 * message. */
	if (!s->rx.reader.in_message)
		s->rx.midway = false;
	s->rx.control -= 1;
	if (s->rx.control >= 0)
		return (true);
	session_close(s, 4429, "too many pings");
	return (false);
}

static bool
on_ping(void *arg, const char *payload, size_t n)
{
	struct session *s = arg;

	if (!control_allowed(s))
		return (false);
	if (!session_state_over(s->state))
		session_write_control(s, payload, (int)n);
	return (true);
}

static bool
on_pong(void *arg)
{

	return (control_allowed(arg));
}

static void
on_close(void *arg, int code)
{
	struct session *s = arg;

	s->rx.peer_closed = true;
	session_close(s, code, "");
}

static void
on_broken(void *arg, int code, const char *why)
{
	struct session *s = arg;

	session_close(s, code, why);
}

static const struct ws_reader_ops reader_ops = {.message = on_message,
    .ping = on_ping,
    .pong = on_pong,
    .close = on_close,
    .broken = on_broken};

enum rc
push_rx_begin(struct session *s, int fd)
{
	struct epoll_event ev = {.events = EPOLLIN};

	s->rx.fd = fd;
	ws_reader_init(&s->rx.reader, &reader_ops, s);
	s->rx.heard_ms = s->rx.credit_ms = now_ms(s->push);
	s->rx.control = CONTROL_BURST;
	s->rx.pace = s->push->options.rate_limit * PACE_FACTOR;
	s->tx.pong_len = -1;
	ev.data.u64 = tag_of(s);
	if (epoll_ctl(s->push->rx_fd, EPOLL_CTL_ADD, fd, &ev) != 0)
		return (RC_IO);
	return (RC_OK);
}

void
push_rx_end(struct session *s)
{

	(void)epoll_ctl(s->push->rx_fd, EPOLL_CTL_DEL, s->rx.fd, NULL);
	ws_reader_fini(&s->rx.reader);
}

/* Called when ${bytes} with ${frames} frames were read from the client.  If
 * there is a rate limit, subtracts 1 for each frame and 1 for each KiB from
 * s->rx.pace.  If s->rx.pace is then below 0, or a frame waits in s->tx.frames
 * because the client does not read, stops reading the client's socket until
 * push_rx_resume(): TCP makes the client wait. */
static void
pay(struct session *s, uint64_t frames, ssize_t bytes)
{

	if (s->push->options.rate_limit > 0)
		s->rx.pace -= (double)frames + (double)bytes / 1024;
	if (s->rx.pace < 0 || s->tx.nframes > 0)
		watch(s, false);
}

static void
session_ready(struct push *p, struct session *s, uint32_t events)
{
	uint64_t frames = s->rx.reader.frames;
	int64_t now = now_ms(p);
	ssize_t n;

	if (s->state == SESSION_ENDED)
		return;
	if (s->rx.paused && (events & EPOLLIN) == 0) {
		push_lws_kill(s);
		return;
	}
	n = recv(s->rx.fd, p->rx, sizeof(p->rx), MSG_DONTWAIT);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		push_lws_kill(s);
		return;
	}
	s->rx.heard_ms = now;
	s->rx.pinged = false;
	reckon(s, now);
	ws_reader_feed(&s->rx.reader, p->rx, (size_t)n);
	if (!ws_reader_is_midway(&s->rx.reader)) {
		s->rx.midway = false;
	} else if (!s->rx.midway) {
		s->rx.midway = true;
		s->rx.midway_ms = now;
	}
	/* After our close frame only the client's close frame matters. */
	if (s->state == SESSION_CLOSED && s->rx.peer_closed) {
		push_lws_kill(s);
		return;
	}
	if (!session_state_over(s->state))
		pay(s, s->rx.reader.frames - frames, n);
}

void
push_rx_session_tick(struct session *s, int64_t now)
{
	const struct timing *t = s->push->options.timing;

	if (s->state == SESSION_CLOSED && now >= s->close.by_ms) {
		push_lws_kill(s);
		return;
	}
	if (s->rx.paused && s->state != SESSION_ENDED) {
		reckon(s, now);
		push_rx_resume(s);
	}
	if (session_state_over(s->state))
		return;
	if (s->rx.midway && !s->rx.paused &&
	    now - s->rx.midway_ms >= s->push->options.message_deadline_ms) {
		metrics_add(s->push->options.metrics, METRIC_HTTP_DEADLINES, 1);
		session_close(s, 4408, "a message took too long");
	} else if (now - s->rx.heard_ms >= t->push_silence_ms &&
		   !s->rx.paused) {
		session_close(s, 4408, "silent");
	} else if (now - s->rx.heard_ms >= t->push_ping_ms && !s->rx.pinged &&
		   session_writable(s)) {
		s->rx.pinged = true;
		session_write_control(s, "", -1);
	}
}

/* ---- the set ---- */

static void
on_readable(uv_poll_t *handle, int status, int events)
{
	struct epoll_event ready[EVENTS_MAX];
	struct push *p = handle->data;
	struct session *s;
	int i, n;

	(void)status;
	(void)events;
	n = epoll_wait(p->rx_fd, ready, EVENTS_MAX, 0);
	for (i = 0; i < n; i++) {
		if ((ready[i].data.u64 & 1) == 0) {
			arrival_ready(p, ready[i].data.ptr);
			continue;
		}
		s = push_session(p, (int64_t)(ready[i].data.u64 >> 1));
		if (s != NULL)
			session_ready(p, s, ready[i].events);
	}
}

/*
 * Moves ${fd} to the highest number that the descriptor of a connection may
 * have (push_options.descriptors - 1) or, if that is in use, to the next free
 * number above, closes ${fd} and returns the new number.  Returns ${fd} itself,
 * still open, if the highest number is not known or no such number is free.
 *
 * Reason: libuv keeps its watchers in a table by descriptor.  When there is no
 * memory for the table to grow, it ends the program by abort() (maybe_resize()
 * in src/unix/core.c of 1.44.2), and any connection could cause that.  Watching
 * the highest number makes the table large enough for all connections at the
 * start: the front refuses those with a higher number.
 */
static int
number_highest(const struct push *p, int fd)
{
	int high;

	if (p->options.descriptors == 0)
		return (fd);
	high = fcntl(fd, F_DUPFD_CLOEXEC, (int)p->options.descriptors - 1);
	if (high < 0)
		return (fd);
	(void)close(fd);
	return (high);
}

enum rc
push_rx_open(struct push *p, struct err *err)
{

	TAILQ_INIT(&p->arrivals);
	p->rx_fd = epoll_create1(EPOLL_CLOEXEC);
	if (p->rx_fd < 0)
		return (err_set_sys(err, RC_IO, errno, "push: epoll"));
	p->rx_fd = number_highest(p, p->rx_fd);
	if (uv_poll_init(&p->loop, &p->rx_poll, p->rx_fd) != 0)
		return (err_set(err, RC_INTERNAL, "push: poll"));
	p->rx_poll.data = p;
	if (uv_poll_start(&p->rx_poll, UV_READABLE, on_readable) != 0)
		return (err_set(err, RC_INTERNAL, "push: poll"));
	return (RC_OK);
}

void
push_rx_close(struct push *p)
{
	struct arrival *a;

	while ((a = TAILQ_FIRST(&p->arrivals)) != NULL)
		arrival_close(p, a);
	if (p->rx_fd >= 0)
		(void)close(p->rx_fd);
	p->rx_fd = -1;
}
