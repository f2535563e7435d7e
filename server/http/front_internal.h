/* SPDX-License-Identifier: MIT */
/*
 * The front: the thread that accepts connections (front.c).
 */
#ifndef HTTP_FRONT_INTERNAL_H
#define HTTP_FRONT_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/thr.h"
#include "http/conn_internal.h"
#include "http/http.h"

/* The front waits for at most this many bytes to find the path of a request.  A
 * connection whose request target (path and query) has not ended by then goes
 * to a loop. */
#define PEEK_LEN 2048
/* The front peeks at up to this many bytes of a WebSocket request that comes
 * through a proxy, to find the client's address in the headers.  The WebSocket
 * side accepts heads of at most this length (WS_HANDSHAKE_LEN). */
#define PEEK_HEAD_LEN 4096

struct front {
	struct http *http;
	struct thr *thr;
	int epoll_fd, wake_fd, listen_fd, reserve_fd;
	struct conn_list conns; /* not yet classified, oldest first */
	/* Listening pauses until then (monotonic); 0: there is no pause. */
	int64_t resume_ms;
	int64_t log_ms;
	int log_dropped;
	unsigned turn;
};

enum front_kind {
	FRONT_MORE,    /* undecided: more bytes are needed */
	FRONT_PLAIN,   /* any other request */
	FRONT_WAIT,    /* a long-poll or a stream of events */
	FRONT_UPGRADE, /* the path of the WebSockets */
	FRONT_BAD,     /* not HTTP */
	FRONT_TLS      /* not HTTP, but TLS */
};

/* Classifies a connection by its first ${n} bytes.  If ${full} is set, the
 * caller will not wait for more bytes, and the result is not FRONT_MORE.  If
 * ${upgrade_path} is NULL, the result is not FRONT_UPGRADE. */
enum front_kind front_classify(
    const char *p, size_t n, bool full, const char *upgrade_path);

/* Initializes ${front}, whose listening socket is open.  Does not start its
 * thread. */
enum rc front_init(
    struct front *front, struct http *http, struct err *err) MUST_USE;

/* Closes what ${front} holds.  Accepts a half-made one. */
void front_fini(struct front *front);

/* The thread's function; ${arg} is the front. */
void front_main(void *arg);

/* Wakes the front, so that it checks the flags draining and front_stop of the
 * server.  Thread: any. */
void front_wake(struct front *front);

#endif
