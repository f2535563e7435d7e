/* SPDX-License-Identifier: MIT */
/*
 * A loop: a thread with its libmicrohttpd daemon (loop.c, linger.c,
 * daemon.c, library.c).
 */
#ifndef HTTP_LOOP_INTERNAL_H
#define HTTP_LOOP_INTERNAL_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/lock.h"
#include "base/mbox.h"
#include "base/thr.h"
#include "base/uuid.h"
#include "http/conn_internal.h"
#include "http/request_internal.h"
#include "http/timer_heap.h"

struct loop {
	struct http *http;
	int index;
	bool long_poll; /* the loop of the requests that wait */
	struct thr *thr;
	struct MHD_Daemon *daemon;
	struct MHD_Response *no_memory; /* made beforehand */
	struct mbox *mbox;
	struct loop_msg wake_msg; /* draining has begun */
	int epoll_fd;
	struct source source_mhd, source_mbox;
	int64_t now_ms;
	atomic_size_t connections;
	struct conn *adding;    /* during MHD_add_connection() */
	struct conn_list conns; /* in the order of check_ms */
	struct http_request *requests;
	struct http_request *spare; /* free list */
	size_t spares;
	struct mbox_node *ready, **ready_tail; /* answered: to be resumed */
	struct timer_heap timers;
	struct lock timer_lock;
	struct leftover *lingers;
	size_t linger_count;
	struct uuid_gen ids;
	bool drain_seen;
	bool answered_past; /* the library's next refusal is answered already */
	int64_t log_window_ms; /* of libmicrohttpd's messages */
	int log_lines, log_dropped;
	int64_t deadline_log_ms;
	int deadlines_unlogged;
};

/* Prepares a zeroed loop, without its thread. */
enum rc loop_init(
    struct loop *loop, struct http *http, int index, struct err *err) MUST_USE;

/* Closes all connections and frees what ${loop} holds; accepts half-made and
 * zeroed ones. */
void loop_fini(struct loop *loop);

/* The thread's function; ${arg} is the loop. */
void loop_main(void *arg);

/* One turn: waits at most ${wait_ms} (-1: without limit) for events and handles
 * them.  Returns whether there were events, or there is more to do.  Thread:
 * the loop's. */
bool loop_turn(struct loop *loop, int wait_ms);

/* The loop of the calling thread, NULL in other threads. */
struct loop *loop_self(void);

/* Resumes ${req} in the next round.  Thread: the loop's. */
void loop_ready(struct loop *loop, struct http_request *req);

/* Sets or cancels a request's timer.  Thread: the loop's. */
void loop_timer_set(struct loop *loop, struct http_request *req, int64_t at_ms,
    void (*wake)(struct http_request *req, void *arg), void *arg);

/* Cancels the timer of ${req}, and stops watching its socket. */
void loop_timer_cancel(struct loop *loop, struct http_request *req);

/* ---- linger.c ---- */

/* A socket that is read empty for a moment after an early answer, so that the
 * answer is not lost to a reset. */
struct leftover {
	struct source source;
	struct leftover *next, *prev;
	int fd;
	size_t bytes;
	int64_t deadline_ms;
};

/* Reads from ${fd} for a moment after an early answer. */
void linger_start(struct loop *loop, int fd);

/* Reads the bytes that have come. */
void linger_read(struct loop *loop, struct leftover *left);

/* Closes the sockets whose time is over, or ${all}. */
void linger_expire(struct loop *loop, bool all);

/* ---- daemon.c, library.c ---- */

/* libmicrohttpd's memory of a connection. */
#define CONNECTION_MEMORY 32768

/* Starts libmicrohttpd for ${loop}. */
enum rc daemon_start(struct loop *loop, struct err *err) MUST_USE;

/* For MHD_OPTION_EXTERNAL_LOGGER; ${arg} is the loop.  Counts the answers that
 * the library makes by itself, and logs what it says.  Thread: the loop's. */
void library_log(void *arg, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));

#endif
