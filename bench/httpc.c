/* SPDX-License-Identifier: MIT */
/*
 * An HTTP/1.1 client; see httpc.h.
 */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "httpc.h"
#include "util.h"

/* Returns the value of header ${name} in the head of an answer, ${n} bytes at
 * ${p}, or NULL. */
static const char *
header(const char *p, size_t n, const char *name)
{
	size_t len = strlen(name);
	const char *end = p + n;

	while ((p = memchr(p, '\n', (size_t)(end - p))) != NULL) {
		p++;
		if ((size_t)(end - p) <= len)
			return (NULL);
		if (p[len] == ':' && strncasecmp(p, name, len) == 0) {
			for (p += len + 1; p < end && *p == ' '; p++)
				continue;
			return (p);
		}
	}
	return (NULL);
}

size_t
httpc_parse(const char *p, size_t n, struct httpc_reply *ret)
{
	const char *end, *value;
	size_t head, length = 0;

	end = memmem(p, n, "\r\n\r\n", 4);
	if (end == NULL)
		return (0);
	head = (size_t)(end - p) + 4;
	if (head < 16 || strncmp(p, "HTTP/1.1 ", 9) != 0)
		bench_die("no HTTP/1.1 answer: %.*s", (int)head, p);
	ret->status = (p[9] - '0') * 100 + (p[10] - '0') * 10 + (p[11] - '0');
	value = header(p, head, "Content-Length");
	if (value != NULL)
		for (; *value >= '0' && *value <= '9'; value++)
			length = length * 10 + (size_t)(*value - '0');
	else if (ret->status >= 200 && ret->status != 204)
		bench_die("answer without Content-Length: %.*s", (int)head, p);
	if (n - head < length)
		return (0);
	ret->body = p + head;
	ret->body_len = length;
	value = header(p, head, "Connection");
	ret->close = value != NULL && strncasecmp(value, "close", 5) == 0;
	return (head + length);
}

void
httpc_request(struct buf *b, const char *method, const char *path,
    const char *token, const char *body, size_t body_len)
{

	buf_addf(b, "%s %s HTTP/1.1\r\nHost: localhost\r\n", method, path);
	if (token != NULL)
		buf_addf(b, "Authorization: Bearer %s\r\n", token);
	if (body != NULL)
		buf_addf(b,
		    "Content-Type: application/json\r\nContent-Length: %zu\r\n",
		    body_len);
	buf_adds(b, "\r\n");
	if (body != NULL)
		buf_add(b, body, body_len);
	if (!buf_ok(b))
		bench_die("out of memory");
}

void
httpc_init(struct httpc *h, const struct sockaddr_in *to)
{

	h->to = *to;
	h->fd = -1;
	buf_init(&h->out, 0);
	buf_init(&h->in, 0);
}

void
httpc_fini(struct httpc *h)
{

	if (h->fd >= 0)
		close(h->fd);
	h->fd = -1;
	buf_fini(&h->out);
	buf_fini(&h->in);
}

static void
reconnect(struct httpc *h)
{
	int one = 1;

	if (h->fd >= 0)
		close(h->fd);
	h->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (h->fd < 0 ||
	    connect(h->fd, (const struct sockaddr *)&h->to, sizeof(h->to)) != 0)
		bench_die("cannot connect to the server: %s", strerror(errno));
	setsockopt(h->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static bool
write_all(int fd, const char *p, size_t n)
{

	while (n > 0) {
		ssize_t sent = send(fd, p, n, MSG_NOSIGNAL);

		if (sent <= 0)
			return (false);
		p += sent;
		n -= (size_t)sent;
	}
	return (true);
}

/* Sends h->out and reads one answer.  Returns false if the connection ended. */
static bool
try_call(struct httpc *h, struct httpc_reply *ret)
{

	if (!write_all(h->fd, h->out.data, h->out.len))
		return (false);
	buf_reset(&h->in);
	for (;;) {
		char *room = buf_reserve(&h->in, 65536);
		ssize_t n;

		if (room == NULL)
			bench_die("out of memory");
		n = recv(h->fd, room, 65536, 0);
		if (n <= 0)
			return (false);
		h->in.len += (size_t)n;
		if (httpc_parse(h->in.data, h->in.len, ret) > 0)
			return (true);
	}
}

void
httpc_call(struct httpc *h, const char *method, const char *path,
    const char *token, const char *body, struct httpc_reply *ret)
{

	buf_reset(&h->out);
	httpc_request(&h->out, method, path, token, body,
	    body == NULL ? 0 : strlen(body));
	if (h->fd < 0)
		reconnect(h);
	if (!try_call(h, ret)) {
		reconnect(h);
		if (!try_call(h, ret))
			bench_die("%s %s: no answer", method, path);
	}
	if (ret->close) {
		close(h->fd);
		h->fd = -1;
	}
}
