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

/* What the front looks at to find the path; longer lines go to a loop. */
#define PEEK_LEN 2048
/* What it looks at to find who asks for an upgrade through a proxy: as much as
 * the WebSocket side takes. */
#define PEEK_HEAD_LEN 4096

struct front {
	struct http *http;
	struct thr *thr;
	int epoll_fd, wake_fd, listen_fd, reserve_fd;
	struct conn_list conns; /* not yet told apart, oldest first */
	int64_t resume_ms; /* listening pauses until then; 0: it does not */
	int64_t log_ms;
	int log_dropped;
	unsigned turn;
};

enum front_kind {
	FRONT_MORE,
	FRONT_PLAIN,
	FRONT_WAIT,
	FRONT_UPGRADE,
	FRONT_BAD, /* no request begins so */
	FRONT_TLS  /* nor so; and it is the beginning of TLS */
};

/* What the first ${n} bytes of a connection ask for; ${full}: there will not
 * be more to see. */
enum front_kind front_classify(
    const char *p, size_t n, bool full, const char *upgrade_path);

/* Makes a front ready that has its listening socket, without its thread. */
enum rc front_init(
    struct front *front, struct http *http, struct err *err) MUST_USE;

/* Closes what ${front} holds; accepts half-made ones. */
void front_fini(struct front *front);

/* The thread's function; ${arg} is the front. */
void front_main(void *arg);

/* Makes the front look at the flags of the server.  Thread: any. */
void front_wake(struct front *front);

#endif
