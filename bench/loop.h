/* SPDX-License-Identifier: MIT */
/*
 * An epoll loop with plain TCP connections.  Input is read into one shared
 * buffer and handed to the connection's owner at once; only what he does not
 * use is copied.  Output goes straight to the socket; only what the socket
 * does not take is kept.  Connections are never freed while the loop runs.
 */
#ifndef BENCH_LOOP_H
#define BENCH_LOOP_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct conn;
struct loop;

struct conn_ops {
	/* The socket is connected. */
	void (*connected)(struct conn *c);

	/* ${n} bytes have come; returns how many are used.  What is left is
	 * shown again, with more behind it. */
	size_t (*input)(struct conn *c, const char *p, size_t n);

	/* The other side closed, or errno ${error}.  The socket is closed. */
	void (*closed)(struct conn *c, int error);
};

struct conn {
	struct loop *loop;
	const struct conn_ops *ops;
	void *owner;
	int fd; /* -1: closed */
	bool connecting;
	bool watching_out;
	struct buf in;
	struct buf out;
};

/* Makes a loop. */
struct loop *loop_new(void);

/* Closes what is left and frees it. */
void loop_free(struct loop *loop);

/* Waits up to ${timeout_ns} (0: looks, -1: for ever) and handles what comes. */
void loop_step(struct loop *loop, int64_t timeout_ns);

/* Begins to connect ${c}, zeroed but for ops and owner, to ${to}; ${from} is
 * the last byte of the 127.0.0.x that it comes from, 0 for any.  A refusal
 * comes through closed(). */
void conn_open(
    struct loop *loop, struct conn *c, const struct sockaddr_in *to, int from);

/* Closes it, without closed(). */
void conn_close(struct conn *c);

/* Ends it in both directions, so that closed() will be called. */
void conn_shutdown(struct conn *c);

/* Sends ${n} bytes.  A lost connection shows itself later by closed(). */
void conn_write(struct conn *c, const void *p, size_t n);

#endif
