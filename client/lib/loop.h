/* SPDX-License-Identifier: MIT */
/*
 * The event loop of a long-running command.  It is the loop of libwebsockets,
 * so that one thread serves the connection, the keyboard, signals and timers,
 * and nothing needs a lock.
 */
#ifndef LIB_LOOP_H
#define LIB_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/fail.h"

struct loop;
struct loop_timer;

typedef void (*loop_fn)(void *arg);

/* Stores in *ret a loop for connections to ${server}, to be freed with
 * loop_free(); does not connect yet.  For an "https:" URL, initializes TLS.  If
 * the host is localhost, 127.x.x.x or [::1], removes http_proxy from the
 * environment of this process. */
enum rc loop_new(
    const char *server, struct loop **ret, struct fail *fail) MUST_USE;

/* Frees ${loop}, which may be NULL.  Free its timers and streams first. */
void loop_free(struct loop *loop);

/* Runs the loop.  Blocks until loop_stop() is called. */
enum rc loop_run(struct loop *loop, struct fail *fail) MUST_USE;

/* Makes the running loop_run() return.  Before loop_run() it has no effect. */
void loop_stop(struct loop *loop);

/* Makes loop_run() call ${fn}(${arg}) whenever ${fd} is readable or has hung
 * up, until loop_free().  The caller still owns ${fd} and closes it; the flags
 * of ${fd} do not change.  Fails for a regular file, which epoll does not
 * support. */
enum rc loop_watch(struct loop *loop, int fd, loop_fn fn, void *arg,
    struct fail *fail) MUST_USE;

/* Returns a timer that is not set, or NULL when memory runs out. */
struct loop_timer *loop_timer_new(struct loop *loop, loop_fn fn, void *arg);

/* Cancels and frees ${timer}.  NULL is allowed. */
void loop_timer_free(struct loop_timer *timer);

/* Sets ${timer}: loop_run() calls the timer's function once, ${ms} milliseconds
 * from now (0 or less: when the loop runs next).  If the timer is set already,
 * replaces its time. */
void loop_timer_set(struct loop_timer *timer, int64_t ms);

/* Cancels the call of the timer's function. */
void loop_timer_cancel(struct loop_timer *timer);

/* Returns true if the timer is set and has not fired. */
bool loop_timer_pending(const struct loop_timer *timer);

#endif
