/* SPDX-License-Identifier: MIT */
/*
 * Threads by role.  Each thread has a role, so that code can assert in which
 * thread it runs, and the log can name the thread.  All signals but those of
 * crashes, job control and the profiler are blocked in every thread; only the
 * main thread unblocks some.
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

/* Starts a thread of ${role} that runs ${fn}(${arg}).  ${index} makes the names
 * of the threads of a role differ: 1 gives "http1", 0 gives "http".  Sets
 * ${*ret} only on success; the caller later passes it to thr_join(), which
 * frees it.  Returns RC_NO_MEMORY if the thread cannot be started, for whatever
 * reason. */
enum rc thr_start(enum thr_role role, int index, thr_fn fn, void *arg,
    struct thr **ret, struct err *err) MUST_USE;

/* Waits until the thread has ended, frees ${*thr} and sets it to NULL.  Does
 * nothing if ${*thr} is NULL. */
void thr_join(struct thr **thr);

/* Return the calling thread's role and name.  A thread that neither thr_start()
 * nor thr_init_main() has registered is THR_OTHER, with the name "other".  The
 * name is valid until the thread ends. */
enum thr_role thr_self(void);
const char *thr_self_name(void);

/* Makes the calling thread THR_MAIN and blocks its signals, except those of
 * crashes, job control and the profiler.  Call it before the first
 * thr_start(). */
void thr_init_main(void);

/* thr_assert() asserts that the caller runs in a thread of ${role};
 * thr_assert_either(), in one of ${role} or ${other}.  Threads of THR_MAIN and
 * THR_OTHER pass, too: they run code of other roles before the threads of these
 * roles start and after those threads end, in commands, and in tests with one
 * thread. */
#define thr_assert(role) thr_assert_either(role, role)
#define thr_assert_either(role, other)                                         \
	assert(thr_self() == (role) || thr_self() == (other) ||                \
	       thr_self() == THR_MAIN || thr_self() == THR_OTHER)

#endif
