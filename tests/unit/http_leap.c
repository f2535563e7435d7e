/* SPDX-License-Identifier: MIT */
/*
 * See http_leap.h.
 */
#include "http_leap.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <stdatomic.h>
#include <unistd.h>

static atomic_llong leapt_ms;

static int64_t
leaping_wall_ms(const struct clk *clk)
{

	(void)clk;
	return (clk_wall_ms(clk_system()) + atomic_load(&leapt_ms));
}

static int64_t
leaping_mono_us(const struct clk *clk)
{

	(void)clk;
	return (clk_mono_us(clk_system()) + 1000 * atomic_load(&leapt_ms));
}

static const struct clk leaping = {leaping_wall_ms, leaping_mono_us};

/* The sum of all leaps when the client at this port last sent. */
static atomic_llong sent_at[65536];

/* The port of one end of ${fd}; ${get} is getsockname or getpeername. */
static int
port_of(int fd, int (*get)(int, struct sockaddr *, socklen_t *))
{
	struct sockaddr_in in = {0};
	socklen_t len = sizeof(in);

	return (get(fd, (struct sockaddr *)&in, &len) == 0 ? ntohs(in.sin_port)
							   : 0);
}

/* ---- between the server and the C library ---- */

int __real_getsockopt(
    int fd, int level, int name, void *ret, socklen_t *ret_len);
int __wrap_getsockopt(
    int fd, int level, int name, void *ret, socklen_t *ret_len);

int
__wrap_getsockopt(int fd, int level, int name, void *ret, socklen_t *ret_len)
{
	struct tcp_info *info = ret;
	int rc;

	rc = __real_getsockopt(fd, level, name, ret, ret_len);
	if (rc == 0 && level == IPPROTO_TCP && name == TCP_INFO)
		info->tcpi_last_data_recv +=
		    (uint32_t)(atomic_load(&leapt_ms) -
			       atomic_load(&sent_at[port_of(fd, getpeername)]));
	return (rc);
}

static atomic_int turns;

int __real_epoll_wait(int fd, struct epoll_event *ret, int max, int ms);
int __wrap_epoll_wait(int fd, struct epoll_event *ret, int max, int ms);

int
__wrap_epoll_wait(int fd, struct epoll_event *ret, int max, int ms)
{

	atomic_fetch_add(&turns, 1);
	return (__real_epoll_wait(fd, ret, max, ms));
}

bool
leap_is_quiet(void)
{
	int before = -1, i;

	for (i = 0; i < 100 && atomic_load(&turns) != before; i++) {
		before = atomic_load(&turns);
		(void)usleep(50000);
	}
	return (atomic_load(&turns) == before);
}

const struct clk *
leap_clk(void)
{

	return (&leaping);
}

void
leap_by(int64_t ms)
{

	atomic_fetch_add(&leapt_ms, ms);
}

void
leap_note_send(int fd)
{

	atomic_store(
	    &sent_at[port_of(fd, getsockname)], atomic_load(&leapt_ms));
}
