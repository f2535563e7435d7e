/* SPDX-License-Identifier: MIT */
/*
 * A client of raw sockets.  See http_fixture.h.
 */
#include "http_fixture.h"

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "http_leap.h"

int client_send_errors;

#define CLIENTS_MAX 1024

/* The sockets that are open. */
static int clients[CLIENTS_MAX];
static size_t nclients;

void
client_close(int fd)
{
	size_t i;

	for (i = 0; i < nclients; i++)
		if (clients[i] == fd)
			clients[i] = clients[--nclients];
	(void)close(fd);
}

void
client_close_left(void)
{

	while (nclients > 0)
		client_close(clients[0]);
}

int
client_open(const struct fixture *f)
{
	struct sockaddr_in in = {.sin_family = AF_INET};
	struct timeval tv = {.tv_sec = 20};
	int fd;

	in.sin_port = htons((uint16_t)f->port);
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)), 0);
	assert_int_equal(
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)), 0);
	if (connect(fd, (struct sockaddr *)&in, sizeof(in)) != 0) {
		(void)close(fd);
		return (-1);
	}
	leap_note_send(fd);
	assert_true(nclients < CLIENTS_MAX);
	clients[nclients++] = fd;
	return (fd);
}

void
client_send_n(int fd, const char *text, size_t n)
{
	ssize_t sent;

	leap_note_send(fd);
	while (n > 0) {
		sent = send(fd, text, n, MSG_NOSIGNAL);
		if (sent <= 0) {
			client_send_errors++;
			return;
		}
		text += sent;
		n -= (size_t)sent;
	}
}

void
client_send(int fd, const char *text)
{

	client_send_n(fd, text, strlen(text));
}

/* Reads a head byte by byte, so that the bytes of the next answer stay in the
 * socket.  Returns 1, or 0 at the end of the connection, or -1 after a
 * time-out. */
static int
read_head(int fd, struct reply *ret)
{
	size_t n = 0;
	ssize_t got;

	for (;;) {
		assert_true(n < sizeof(ret->head) - 1);
		got = recv(fd, ret->head + n, 1, 0);
		if (got < 0 && errno == EAGAIN)
			return (-1);
		if (got <= 0)
			return (0);
		ret->head[++n] = '\0';
		if (n >= 4 && strcmp(ret->head + n - 4, "\r\n\r\n") == 0)
			return (1);
	}
}

void
client_read(int fd, struct reply *ret, int head_only)
{
	const char *length;
	size_t want, n = 0;
	ssize_t got;

	ret->status = 0;
	ret->body = ret->memory;
	ret->body_len = 0;
	ret->memory[0] = '\0';
	ret->head[0] = '\0';
	if ((ret->status = read_head(fd, ret)) <= 0)
		return;
	assert_int_equal(strncmp(ret->head, "HTTP/1.", 7), 0);
	ret->status = (int)strtoll(ret->head + 9, NULL, 10);
	length = reply_header(ret, "Content-Length");
	if (head_only || ret->status == 204 || ret->status == 100)
		return;
	assert_non_null(length);
	want = (size_t)strtoull(length, NULL, 10);
	assert_true(want < sizeof(ret->memory));
	while (n < want) {
		got = recv(fd, ret->memory + n, want - n, 0);
		assert_true(got > 0);
		n += (size_t)got;
	}
	ret->memory[n] = '\0';
	ret->body_len = n;
}

/* Returns whether the server's kernel has acknowledged all bytes. */
static bool
has_arrived(int fd)
{
	int left;

	return (ioctl(fd, SIOCOUTQ, &left) == 0 && left == 0);
}

void
client_arrived(int fd)
{

	AWAIT(has_arrived(fd));
}

static bool
is_closed(int fd, int wait_ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN | POLLRDHUP};
	char c;

	if (poll(&p, 1, wait_ms) <= 0)
		return (false);
	return (recv(fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) <= 0);
}

bool
client_closed(int fd)
{

	return (is_closed(fd, 20000));
}

bool
client_is_closed(int fd)
{

	return (is_closed(fd, 0));
}

bool
client_is_kept(int fd)
{
	static struct reply reply;

	client_send(fd, GET("/turn"));
	client_read(fd, &reply, 0);
	assert_true(reply.status == 200 || reply.status == 0);
	return (reply.status == 200);
}

int
ask(const struct fixture *f, const char *text, struct reply *reply,
    int *ret_closed)
{
	int fd = client_open(f);

	assert_true(fd >= 0);
	client_send(fd, text);
	client_read(fd, reply, strncmp(text, "HEAD ", 5) == 0);
	if (ret_closed != NULL)
		*ret_closed = !client_is_kept(fd);
	client_close(fd);
	return (reply->status);
}

const char *
reply_header(const struct reply *reply, const char *name)
{
	static char value[1024];
	const char *p = reply->head;
	size_t n = strlen(name), len;

	while ((p = strstr(p, "\r\n")) != NULL) {
		p += 2;
		if (strncasecmp(p, name, n) != 0 || p[n] != ':')
			continue;
		p += n + 1;
		p += strspn(p, " ");
		len = strcspn(p, "\r");
		assert_true(len < sizeof(value));
		memcpy(value, p, len);
		value[len] = '\0';
		return (value);
	}
	return (NULL);
}
