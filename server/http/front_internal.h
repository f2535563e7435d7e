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

/* Bytes that the front reads to find the path; longer lines go to a loop. */
#define PEEK_LEN 2048
/* Bytes that the front reads of an upgrade through a proxy to find the client:
 * as many as the WebSocket side takes. */
#define PEEK_HEAD_LEN 4096

struct front {
	struct http *http;
	struct thr *thr;
	int epoll_fd, wake_fd, listen_fd, reserve_fd;
	struct conn_list conns; /* not yet classified, oldest first */
	int64_t resume_ms; /* listening pauses until then; 0: it does not */
	int64_t log_ms;
	int log_dropped;
	unsigned turn;
};

enum front_kind {
	FRONT_MORE,    /* undecided: more bytes are needed */
	FRONT_PLAIN,   /* any other request */
	FRONT_WAIT,    /* a long-poll, or a stream of events */
	FRONT_UPGRADE, /* the path of WebSockets */
	FRONT_BAD,     /* not HTTP */
	FRONT_TLS      /* not HTTP, but TLS */
};

/* Classifies a connection by its first ${n} bytes; ${full}: more bytes will not
 * be read. */
enum front_kind front_classify(
    const char *p, size_t n, bool full, const char *upgrade_path);

/* Prepares ${front}, which has its listening socket, without its thread. */
enum rc front_init(
    struct front *front, struct http *http, struct err *err) MUST_USE;

/* Closes what ${front} holds; accepts half-made ones. */
void front_fini(struct front *front);

/* The thread's function; ${arg} is the front. */
void front_main(void *arg);

/* Makes the front check the flags of the server.  Thread: any. */
void front_wake(struct front *front);

#endif
