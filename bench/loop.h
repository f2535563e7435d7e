/* SPDX-License-Identifier: MIT */
/*
 * An epoll loop with plain TCP connections.  Input is read into one shared
 * buffer and handed to the connection's owner at once; only the part that the
 * owner does not use is copied.  Output goes straight to the socket; only the
 * part that the socket does not accept is kept.  Connections are never freed
 * while the loop runs.
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

	/* ${n} bytes have arrived.  Returns the number of bytes used.  The rest
	 * is passed again, followed by new input. */
	size_t (*input)(struct conn *c, const char *p, size_t n);

	/* The other side has closed, or there was an error (errno ${error}).
	 * The socket is already closed. */
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

/* Makes a loop.  Ends the program on a failure. */
struct loop *loop_new(void);

/* Closes and frees ${loop}.  Close its connections first. */
void loop_free(struct loop *loop);

/* Waits up to ${timeout_ns} (0: not at all, -1: without limit) and handles the
 * events that are there, at most 256. */
void loop_step(struct loop *loop, int64_t timeout_ns);

/* Begins to connect ${c} to ${to}.  ${c} is zeroed except for ops and owner, or
 * was closed.  ${from} is the last byte of the source address 127.0.0.x, 0 for
 * any.  A refused connection is reported by closed(); an error before that ends
 * the program. */
void conn_open(
    struct loop *loop, struct conn *c, const struct sockaddr_in *to, int from);

/* Closes ${c} without calling closed(). */
void conn_close(struct conn *c);

/* Shuts both directions down, after which closed() is called. */
void conn_shutdown(struct conn *c);

/* Sends ${n} bytes.  A lost connection is reported later by closed(). */
void conn_write(struct conn *c, const void *p, size_t n);

#endif
