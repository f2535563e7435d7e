/* SPDX-License-Identifier: MIT */
/*
 * A loop: a thread with its libmicrohttpd daemon (loop.c, linger.c, daemon.c,
 * library.c).  Other threads use only three things of a running loop: its
 * mailbox, its count of connections (atomic), and the members queued and want_*
 * of struct request_timer, by which they ask for a timer and which timer_lock
 * protects.
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
#include "base/timer_heap.h"
#include "base/uuid.h"
#include "http/conn_internal.h"
#include "http/request_internal.h"

struct loop {
	struct http *http;
	int index;
	bool long_poll; /* the loop for requests that wait */
	struct thr *thr;
	struct MHD_Daemon *daemon;
	struct MHD_Response *no_memory; /* made beforehand */
	struct mbox *mbox;
	struct loop_msg wake_msg; /* wakes the loop when draining begins */
	int epoll_fd;
	struct source source_mhd, source_mbox;
	int64_t now_ms;
	atomic_size_t connections;
	struct conn *adding;    /* set during MHD_add_connection() */
	struct conn_list conns; /* ordered by check_ms */
	struct http_request *requests;
	struct http_request *spare; /* free list */
	size_t spares;
	struct mbox_node *ready, **ready_tail; /* requests to be resumed */
	struct timer_heap timers;
	struct lock timer_lock;
	struct leftover *lingers;
	size_t linger_count;
	struct uuid_gen ids;
	bool drain_seen;
	/* refuse_past() has answered in place of the library's next answer. */
	bool answered_past;
	/* The time window that limits libmicrohttpd's log messages. */
	int64_t log_window_ms;
	int log_lines, log_dropped;
	int64_t deadline_log_ms;
	int deadlines_unlogged;
};

/* Initializes ${loop}, which is zeroed.  Does not start its thread. */
enum rc loop_init(
    struct loop *loop, struct http *http, int index, struct err *err) MUST_USE;

/* Closes all connections and frees what ${loop} holds.  Accepts a zeroed or
 * half-made one. */
void loop_fini(struct loop *loop);

/* The thread's function; ${arg} is the loop. */
void loop_main(void *arg);

/* Runs one turn: waits at most ${wait_ms} (-1: without limit) for events and
 * handles them, wakes the requests whose timers are due, checks the deadlines,
 * and lets libmicrohttpd work.  Returns true if there were events or if the
 * next turn has work at once.  Thread: the loop's. */
bool loop_turn(struct loop *loop, int wait_ms);

/* Returns the loop of the calling thread, or NULL in other threads. */
struct loop *loop_self(void);

/* Called when ${req} has its answer, its next piece, or the result of the
 * look-up of its sender.  Cancels the timer of ${req}.  The loop resumes the
 * connection later in this turn or, if a callback of libmicrohttpd calls this
 * function, in the next turn.  Thread: the loop's. */
void loop_ready(struct loop *loop, struct http_request *req);

/* Sets the timer of ${req} in place of an earlier one, or only cancels that one
 * (${at_ms} 0): ${wake} is called once with ${arg}, at monotonic time ${at_ms},
 * or earlier if the client closes its side or draining begins.  A request that
 * has been answered gets no timer, except while it waits for the next piece of
 * its answer.  In a loop whose long_poll is false, a timer that is set before
 * the answer makes the answer close the connection.  Thread: the loop's. */
void loop_timer_set(struct loop *loop, struct http_request *req, int64_t at_ms,
    void (*wake)(struct http_request *req, void *arg), void *arg);

/* Cancels the timer of ${req}, and stops watching its socket.  Thread: the
 * loop's. */
void loop_timer_cancel(struct loop *loop, struct http_request *req);

/* ---- linger.c ---- */

/* A duplicate of a socket, open for up to http_linger (2 s) after an answer
 * that was sent before the whole request had been read.  The loop reads it,
 * because close() of a socket with unread bytes sends a reset, by which the
 * client may lose the answer (linger.c). */
struct leftover {
	struct source source;
	struct leftover *next, *prev;
	int fd;
	size_t bytes;
	int64_t deadline_ms;
};

/* Called before an answer is sent while part of its request is unread.
 * Duplicates the socket ${fd}; the loop reads from the duplicate, drops the
 * bytes, and closes the duplicate after at most http_linger (2 s).  Does
 * nothing without memory or a descriptor, or if the loop has 128 such sockets:
 * the client may then lose the answer. */
void linger_start(struct loop *loop, int fd);

/* Reads and drops the bytes that have arrived at the duplicate.  If the client
 * has closed its side, on an error, or after 4 MiB since linger_start(), closes
 * the duplicate, and removes ${left} from the loop's list and frees it. */
void linger_read(struct loop *loop, struct leftover *left);

/* Closes the sockets whose deadline has passed, or with ${all} every one. */
void linger_expire(struct loop *loop, bool all);

/* ---- daemon.c, library.c ---- */

/* The memory, in bytes, that libmicrohttpd gives a connection. */
#define CONNECTION_MEMORY 32768

/* Starts libmicrohttpd for ${loop}. */
enum rc daemon_start(struct loop *loop, struct err *err) MUST_USE;

/* The function for MHD_OPTION_EXTERNAL_LOGGER; ${arg} is the loop.  Counts the
 * answers that libmicrohttpd makes by itself, answers in its place where the
 * library would send the head of an answer twice, and logs at most 5 of its
 * messages per loop in http_log_window (10 s).  Thread: the loop's. */
void library_log(void *arg, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));

#endif
