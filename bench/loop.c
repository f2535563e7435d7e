/* SPDX-License-Identifier: MIT */
/*
 * The epoll loop; see loop.h.  It is level-triggered, so one recv() for each
 * event is enough: no second recv() is needed to see EAGAIN.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"

#include "loop.h"
#include "util.h"

#define LOOP_EVENTS 256
#define LOOP_BUFFER 262144

struct loop {
	int epfd;
	char *buffer;
};

struct loop *
loop_new(void)
{
	struct loop *loop = bench_zalloc(1, sizeof(*loop));

	loop->epfd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epfd < 0)
		bench_die("epoll_create1: %s", strerror(errno));
	loop->buffer = bench_zalloc(1, LOOP_BUFFER);
	return (loop);
}

void
loop_free(struct loop *loop)
{

	if (loop == NULL)
		return;
	close(loop->epfd);
	mem_free(loop->buffer);
	mem_free(loop);
}

/* Polls for writability only while output is waiting. */
static void
watch(struct conn *c, bool out, int op)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = c};

	if (out)
		ev.events |= EPOLLOUT;
	c->watching_out = out;
	if (epoll_ctl(c->loop->epfd, op, c->fd, &ev) != 0)
		bench_die("epoll_ctl: %s", strerror(errno));
}

void
conn_open(
    struct loop *loop, struct conn *c, const struct sockaddr_in *to, int from)
{
	struct sockaddr_in local = {.sin_family = AF_INET};
	int one = 1;

	c->loop = loop;
	c->connecting = true;
	buf_reset(&c->in);
	buf_reset(&c->out);
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		bench_die("socket: %s", strerror(errno));
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (from != 0) {
		setsockopt(c->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one,
		    sizeof(one));
		local.sin_addr.s_addr = htonl(0x7f000000U | (uint32_t)from);
		if (bind(c->fd, (const struct sockaddr *)&local,
			sizeof(local)) != 0)
			bench_die("bind 127.0.0.%d: %s", from, strerror(errno));
	}
	if (connect(c->fd, (const struct sockaddr *)to, sizeof(*to)) != 0 &&
	    errno != EINPROGRESS)
		bench_die("connect: %s", strerror(errno));
	watch(c, true, EPOLL_CTL_ADD);
}

void
conn_close(struct conn *c)
{

	if (c->fd < 0)
		return;
	close(c->fd);
	c->fd = -1;
	buf_fini(&c->in);
	buf_fini(&c->out);
}

void
conn_shutdown(struct conn *c)
{

	shutdown(c->fd, SHUT_RDWR);
}

static void
lose(struct conn *c, int error)
{

	conn_close(c);
	c->ops->closed(c, error);
}

void
conn_write(struct conn *c, const void *p, size_t n)
{
	ssize_t sent = 0;

	if (c->fd < 0)
		return;
	if (c->out.len == 0) {
		sent = send(c->fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);
		if ((size_t)sent == n)
			return;
		if (sent < 0) {
			/* The next recv() reports any other error. */
			if (errno != EAGAIN)
				return;
			sent = 0;
		}
	}
	buf_add(&c->out, (const char *)p + sent, n - (size_t)sent);
	if (!buf_ok(&c->out))
		bench_die("out of memory");
	if (!c->watching_out)
		watch(c, true, EPOLL_CTL_MOD);
}

static void
on_writable(struct conn *c)
{
	ssize_t sent;

	if (c->connecting) {
		int error = 0;
		socklen_t len = sizeof(error);

		getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len);
		if (error != 0) {
			lose(c, error);
			return;
		}
		c->connecting = false;
		c->ops->connected(c);
		if (c->fd < 0)
			return;
	}
	if (c->out.len > 0) {
		sent = send(c->fd, c->out.data, c->out.len,
		    MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent > 0) {
			c->out.len -= (size_t)sent;
			memmove(c->out.data, c->out.data + sent, c->out.len);
		}
	}
	if (c->out.len == 0)
		watch(c, false, EPOLL_CTL_MOD);
}

/* Reads input and appends it to an older part that is not complete yet. */
static void
on_more(struct conn *c)
{
	char *room = buf_reserve(&c->in, LOOP_BUFFER / 4);
	size_t used;
	ssize_t n;

	if (room == NULL)
		bench_die("out of memory");
	n = recv(c->fd, room, LOOP_BUFFER / 4, MSG_DONTWAIT);
	if (n <= 0) {
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			lose(c, n == 0 ? 0 : errno);
		return;
	}
	c->in.len += (size_t)n;
	used = c->ops->input(c, c->in.data, c->in.len);
	if (c->fd < 0)
		return;
	c->in.len -= used;
	if (c->in.len > 0)
		memmove(c->in.data, c->in.data + used, c->in.len);
	else
		buf_fini(&c->in);
}

static void
on_readable(struct conn *c)
{
	char *buffer = c->loop->buffer;
	size_t used;
	ssize_t n;

	if (c->in.len > 0) {
		on_more(c);
		return;
	}
	n = recv(c->fd, buffer, LOOP_BUFFER, MSG_DONTWAIT);
	if (n <= 0) {
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			lose(c, n == 0 ? 0 : errno);
		return;
	}
	used = c->ops->input(c, buffer, (size_t)n);
	if (c->fd >= 0 && used < (size_t)n) {
		buf_add(&c->in, buffer + used, (size_t)n - used);
		if (!buf_ok(&c->in))
			bench_die("out of memory");
	}
}

void
loop_step(struct loop *loop, int64_t timeout_ns)
{
	struct epoll_event ev[LOOP_EVENTS];
	struct timespec ts;
	int n;

	if (timeout_ns >= 0) {
		ts.tv_sec = timeout_ns / NS_PER_S;
		ts.tv_nsec = timeout_ns % NS_PER_S;
	}
	n = epoll_pwait2(
	    loop->epfd, ev, LOOP_EVENTS, timeout_ns < 0 ? NULL : &ts, NULL);
	if (n < 0 && errno != EINTR)
		bench_die("epoll_pwait2: %s", strerror(errno));
	for (int i = 0; i < n; i++) {
		struct conn *c = ev[i].data.ptr;

		if (c->fd >= 0 && (ev[i].events & EPOLLOUT) != 0)
			on_writable(c);
		if (c->fd >= 0 && !c->connecting &&
		    (ev[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0)
			on_readable(c);
		else if (c->fd >= 0 && (ev[i].events & EPOLLERR) != 0)
			on_writable(c);
	}
}
