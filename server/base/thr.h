/* SPDX-License-Identifier: MIT */
/*
 * Threads by role.  Each thread has a role, so that an object's owner can be
 * asserted and the log can name it.  All signals are blocked in every thread
 * but main.
 */
#ifndef BASE_THR_H
#define BASE_THR_H

#include <assert.h>
#include <stdbool.h>

#include "base/err.h"

#define THR_TABLE(X)                                                           \
	X(THR_MAIN, "main")                                                    \
	X(THR_OPEN, "open")                                                    \
	X(THR_FRONT, "front")                                                  \
	X(THR_HTTP, "http")                                                    \
	X(THR_WRITER, "writer")                                                \
	X(THR_SYNC, "sync")                                                    \
	X(THR_READER, "reader")                                                \
	X(THR_PUSH, "push")                                                    \
	X(THR_RELAY, "relay")                                                  \
	X(THR_UPKEEP, "upkeep")                                                \
	X(THR_CLUSTER, "cluster")                                              \
	X(THR_OUTBOUND, "outbound")                                            \
	X(THR_ALERTS, "alerts")                                                \
	X(THR_ARGON2, "argon2")                                                \
	X(THR_LOG, "log")                                                      \
	X(THR_CONTROL, "control")                                              \
	X(THR_OTHER, "other")

enum thr_role {
#define X(role, name) role,
	THR_TABLE(X)
#undef X
};

struct thr;
typedef void (*thr_fn)(void *arg);

/* Starts ${fn}(${arg}) as a thread with ${role}; ${index} tells several of a
 * role apart in names ("http1"; 0 gives the bare "http").  The caller joins it.
 */
enum rc thr_start(enum thr_role role, int index, thr_fn fn, void *arg,
    struct thr **ret, struct err *err) MUST_USE;

/* Waits for the thread's end, frees ${*thr} and sets it to NULL.  NULL inside
 * is allowed. */
void thr_join(struct thr **thr);

/* The calling thread's role and name; THR_OTHER for a thread that neither
 * thr_start() nor thr_init_main() made known. */
enum thr_role thr_self(void);
const char *thr_self_name(void);

/* Makes the calling thread THR_MAIN and blocks its signals. */
void thr_init_main(void);

/* Asserts that the caller runs in a thread of ${role}, or that threads are not
 * apart: before they start, after they end, in commands and in tests of one
 * thread. */
#define thr_assert(role) thr_assert_either(role, role)
#define thr_assert_either(role, other)                                         \
	assert(thr_self() == (role) || thr_self() == (other) ||                \
	       thr_self() == THR_MAIN || thr_self() == THR_OTHER)

#endif
