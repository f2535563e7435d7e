/* SPDX-License-Identifier: MIT */
/*
 * A client of RFC 6455.  The mask is the same for the whole run, and the
 * server's Sec-WebSocket-Accept is not verified: neither changes the work of
 * the server.
 */
#include <stdio.h>
#include <string.h>

#include "util.h"
#include "wsc.h"

#define WS_TEXT 1
#define WS_CLOSE 8
#define WS_PING 9
#define WS_PONG 10
#define WS_HEAD_MAX 8

static const unsigned char mask[8] = {
    0x3d, 0xa1, 0x5c, 0x07, 0x3d, 0xa1, 0x5c, 0x07};

static void
write_frame(struct wsc *ws, int opcode, const char *p, size_t n)
{
	unsigned char out[WS_HEAD_MAX + WSC_FRAME_MAX];
	size_t at = 0;

	if (n > WSC_FRAME_MAX)
		bench_die("frame of %zu bytes", n);
	out[at++] = (unsigned char)(0x80 | opcode);
	if (n < 126) {
		out[at++] = (unsigned char)(0x80 | n);
	} else {
		out[at++] = 0x80 | 126;
		out[at++] = (unsigned char)(n >> 8);
		out[at++] = (unsigned char)(n & 0xff);
	}
	memcpy(out + at, mask, 4);
	at += 4;
	for (size_t i = 0; i < n; i++)
		out[at + i] = (unsigned char)p[i] ^ mask[i & 3];
	conn_write(&ws->conn, out, at + n);
}

void
wsc_send(struct wsc *ws, const char *p, size_t n)
{

	write_frame(ws, WS_TEXT, p, n);
}

void
wsc_ack(struct wsc *ws, int64_t upto)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "{\"type\":\"ack\",\"upto\":%lld}",
	    (long long)upto);

	wsc_send(ws, text, (size_t)n);
}

void
wsc_close(struct wsc *ws)
{

	ws->state = WSC_CLOSED;
	conn_close(&ws->conn);
	buf_fini(&ws->parts);
}

static void
end(struct wsc *ws, const char *why)
{

	wsc_close(ws);
	ws->ops->ended(ws, why);
}

static void
send_hello(struct wsc *ws)
{
	struct buf b = BUF_INIT;

	buf_addf(
	    &b, "{\"type\":\"hello\",\"id\":1,\"token\":\"%s\"", ws->token);
	if (ws->instance[0] != '\0')
		buf_addf(&b, ",\"instance\":\"%s\"", ws->instance);
	if (ws->after[0] != '\0')
		buf_addf(&b, ",\"after\":\"%s\"", ws->after);
	buf_adds(&b, ",\"window\":256}");
	if (!buf_ok(&b))
		bench_die("out of memory");
	wsc_send(ws, b.data, b.len);
	buf_fini(&b);
	ws->state = WSC_HELLO;
}

static void
on_text(struct wsc *ws, const char *p, size_t n)
{

	if (ws->state == WSC_OPEN) {
		ws->ops->text(ws, p, n);
		return;
	}
	if (!scan_has(p, n, "\"type\":\"welcome\"") ||
	    !scan_i64(p, n, "head", &ws->head))
		bench_die("no welcome but %.*s", (int)n, p);
	if (scan_has(p, n, "\"recovered\":false"))
		bench_die("the cursor was not served: %.*s", (int)n, p);
	ws->state = WSC_OPEN;
	ws->ops->welcome(ws);
}

/* Handles one complete frame.  ${fin} is true for the last frame of a
 * message. */
static void
on_frame(struct wsc *ws, int opcode, bool fin, const char *p, size_t n)
{
	char why[160];

	switch (opcode) {
	case WS_PING:
		write_frame(ws, WS_PONG, p, n);
		return;
	case WS_PONG:
		return;
	case WS_CLOSE:
		snprintf(why, sizeof(why), "close %d %.*s",
		    n < 2 ? 1005
			  : (unsigned char)p[0] << 8 | (unsigned char)p[1],
		    n < 2 ? 0 : (int)n - 2, p + 2);
		end(ws, why);
		return;
	default:
		break;
	}
	if (fin && ws->parts.len == 0) {
		on_text(ws, p, n);
		return;
	}
	buf_add(&ws->parts, p, n);
	if (!buf_ok(&ws->parts))
		bench_die("out of memory");
	if (fin) {
		struct buf whole = ws->parts;

		buf_init(&ws->parts, 0);
		on_text(ws, whole.data, whole.len);
		buf_fini(&whole);
	}
}

/* Handles the answer to the upgrade. */
static size_t
on_upgrade(struct wsc *ws, const char *p, size_t n)
{
	const char *head_end = memmem(p, n, "\r\n\r\n", 4);

	if (head_end == NULL)
		return (0);
	if (strncmp(p, "HTTP/1.1 101", 12) != 0)
		bench_die("no upgrade but %.*s", (int)n, p);
	send_hello(ws);
	return ((size_t)(head_end - p) + 4);
}

static size_t
on_input(struct conn *c, const char *text, size_t n)
{
	struct wsc *ws = c->owner;
	const unsigned char *p = (const unsigned char *)text;
	size_t used = 0;

	if (ws->state == WSC_UPGRADE) {
		used = on_upgrade(ws, text, n);
		if (used == 0)
			return (0);
	}
	while (ws->state != WSC_CLOSED && n - used >= 2) {
		const unsigned char *f = p + used;
		size_t head = 2, len = f[1] & 0x7f;

		if (len == 126) {
			head = 4;
			if (n - used < head)
				break;
			len = (size_t)f[2] << 8 | f[3];
		} else if (len == 127) {
			head = 10;
			if (n - used < head)
				break;
			len = 0;
			for (int i = 2; i < 10; i++)
				len = len << 8 | f[i];
		}
		if (n - used - head < len)
			break;
		used += head + len;
		on_frame(ws, f[0] & 0x0f, (f[0] & 0x80) != 0,
		    (const char *)f + head, len);
	}
	return (used);
}

static void
on_connected(struct conn *c)
{
	static const char upgrade[] = "GET /v1/ws HTTP/1.1\r\n"
				      "Host: localhost\r\n"
				      "Upgrade: websocket\r\n"
				      "Connection: Upgrade\r\n"
				      "Sec-WebSocket-Key: "
				      "dGhlIHNhbXBsZSBub25jZQ==\r\n"
				      "Sec-WebSocket-Version: 13\r\n"
				      "Sec-WebSocket-Protocol: twinbox.v1\r\n"
				      "\r\n";
	struct wsc *ws = c->owner;

	ws->state = WSC_UPGRADE;
	conn_write(c, upgrade, sizeof(upgrade) - 1);
}

static void
on_closed(struct conn *c, int error)
{
	struct wsc *ws = c->owner;

	end(ws, error == 0 ? "closed without a close frame" : strerror(error));
}

static const struct conn_ops ops = {on_connected, on_input, on_closed};

void
wsc_open(
    struct loop *loop, struct wsc *ws, const struct sockaddr_in *to, int from)
{

	ws->conn.ops = &ops;
	ws->conn.owner = ws;
	ws->state = WSC_UPGRADE;
	conn_open(loop, &ws->conn, to, from);
}
