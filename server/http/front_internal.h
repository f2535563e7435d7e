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

/* The front waits for at most this many bytes of a new connection to find the
 * end of the target (path and query) of its first request.  If the target has
 * not ended by then, the connection goes to a loop for plain requests, whatever
 * its path and query are. */
#define PEEK_LEN 2048
/* The front waits for the head of a WebSocket request that comes through a
 * believed proxy, or for this many bytes of it, to find the client's address in
 * the headers.  The WebSocket side refuses longer heads (WS_HANDSHAKE_LEN). */
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
