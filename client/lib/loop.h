/* SPDX-License-Identifier: MIT */
/*
 * The event loop of a program that stays: libwebsockets' own, so that the
 * connection, the keyboard, signals and timers are served by one thread and
 * nothing needs a lock.
 */
#ifndef LIB_LOOP_H
#define LIB_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/fail.h"

struct loop;
struct loop_timer;

typedef void (*loop_fn)(void *arg);

/* A loop for connections to ${server} ("https://…" makes TLS ready). */
enum rc loop_new(
    const char *server, struct loop **ret, struct fail *fail) MUST_USE;

/* Frees it, after its timers and what else uses it.  NULL is allowed. */
void loop_free(struct loop *loop);

/* Serves until loop_stop().  Blocks: until then. */
enum rc loop_run(struct loop *loop, struct fail *fail) MUST_USE;

/* Makes loop_run() return. */
void loop_stop(struct loop *loop);

/* Calls ${fn}(${arg}) whenever ${fd} is readable or has hung up, until
 * loop_free().  ${fd} stays the caller's and keeps its flags. */
enum rc loop_watch(struct loop *loop, int fd, loop_fn fn, void *arg,
    struct fail *fail) MUST_USE;

/* A timer, not set.  NULL: no memory. */
struct loop_timer *loop_timer_new(struct loop *loop, loop_fn fn, void *arg);

/* Cancels and frees ${timer}.  NULL is allowed. */
void loop_timer_free(struct loop_timer *timer);

/* Calls the timer's function once, in ${ms}; a second call replaces the
 * first. */
void loop_timer_set(struct loop_timer *timer, int64_t ms);

/* Calls it not. */
void loop_timer_cancel(struct loop_timer *timer);

/* Whether it is set. */
bool loop_timer_pending(const struct loop_timer *timer);

#endif
