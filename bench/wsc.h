/* SPDX-License-Identifier: MIT */
/*
 * A WebSocket session of the contract (docs/asyncapi.yaml) on top of a
 * connection: upgrade, hello, welcome, then text frames.  Pings are answered
 * here.  Ends the program if the server refuses the upgrade or answers the
 * hello with another text than a welcome.
 */
#ifndef BENCH_WSC_H
#define BENCH_WSC_H

#include <netinet/in.h>

#include "loop.h"

struct wsc;

struct wsc_ops {
	/* The server has sent its welcome. */
	void (*welcome)(struct wsc *ws);

	/* A text frame, ${n} bytes at ${p}. */
	void (*text)(struct wsc *ws, const char *p, size_t n);

	/* The session has ended.  ${why} is a text for people. */
	void (*ended)(struct wsc *ws, const char *why);
};

enum wsc_state { WSC_CLOSED, WSC_UPGRADE, WSC_HELLO, WSC_OPEN };

struct wsc {
	struct conn conn;
	const struct wsc_ops *ops;
	void *owner;
	enum wsc_state state;
	const char *token;    /* borrowed until the end */
	const char *instance; /* "" for none */
	char after[96];       /* "" for none */
	int64_t head;         /* of the inbox, from the welcome */
	struct buf parts;     /* of a fragmented message */
};

/* Begins to open ${ws}, which is zeroed except for ops, owner, token, instance
 * and after.  ${from} is as for conn_open(). */
void wsc_open(
    struct loop *loop, struct wsc *ws, const struct sockaddr_in *to, int from);

/* Sends a text frame of ${n} bytes (at most WSC_FRAME_MAX). */
void wsc_send(struct wsc *ws, const char *p, size_t n);

/* Sends {"type":"ack","upto":${upto}}. */
void wsc_ack(struct wsc *ws, int64_t upto);

/* Closes the connection at once, without calling ended(). */
void wsc_close(struct wsc *ws);

#define WSC_FRAME_MAX 4096

#endif
