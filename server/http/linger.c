/* SPDX-License-Identifier: MIT */
/*
 * Keeps sockets open for a moment after an answer that was sent before the
 * whole request had been read.  If close() finds unread bytes, the kernel sends
 * a reset, which discards what the client has not read yet, so the client would
 * often lose the answer.  Therefore a duplicate of the socket stays open after
 * libmicrohttpd has shut down the socket for writing and closed its descriptor.
 * The duplicate is read, and the bytes are discarded, until the client closes
 * its side, but for at most http_linger (2 s) and LINGER_BYTES (4 MiB).  If a
 * loop already has LINGERS_MAX (128) duplicates, it makes no further one.
 */
#include <sys/epoll.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/mem.h"
#include "http/http_internal.h"
#include "http/loop_internal.h"

#define LINGER_BYTES (4 * 1024 * 1024)
#define LINGERS_MAX 128

static void
linger_free(struct loop *loop, struct leftover *left)
{

	if (left->prev != NULL)
		left->prev->next = left->next;
	else
		loop->lingers = left->next;
	if (left->next != NULL)
		left->next->prev = left->prev;
	loop->linger_count--;
	(void)close(left->fd);
	mem_free(left);
}

void
linger_start(struct loop *loop, int fd)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLRDHUP};
	struct leftover *left;

	if (loop->linger_count == LINGERS_MAX ||
	    (left = mem_zalloc(1, sizeof(*left))) == NULL)
		return;
	left->source.kind = SOURCE_LEFTOVER;
	left->deadline_ms =
	    loop->now_ms + loop->http->options.timing->http_linger_ms;
	if ((left->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0)) < 0) {
		mem_free(left);
		return;
	}
	left->next = loop->lingers;
	if (left->next != NULL)
		left->next->prev = left;
	loop->lingers = left;
	loop->linger_count++;
	ev.data.ptr = &left->source;
	if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, left->fd, &ev) != 0)
		linger_free(loop, left);
}

void
linger_read(struct loop *loop, struct leftover *left)
{
	char sink[16384];
	ssize_t n;

	do {
		n = recv(left->fd, sink, sizeof(sink), MSG_DONTWAIT);
		if (n > 0)
			left->bytes += (size_t)n;
	} while (n > 0 && left->bytes < LINGER_BYTES);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	linger_free(loop, left);
}

void
linger_expire(struct loop *loop, bool all)
{
	struct leftover *left, *next;

	for (left = loop->lingers; left != NULL; left = next) {
		next = left->next;
		if (all || left->deadline_ms <= loop->now_ms)
			linger_free(loop, left);
	}
}
