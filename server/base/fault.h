/* SPDX-License-Identifier: MIT */
/*
 * Named fault points: FAULT("store.commit.before").  They exist in
 * --enable-faults builds only; elsewhere they are nothing.  The environment
 * TWINBOX_FAULT="name:n:action[,…]" arms them: at the n-th passage `kill`
 * sends SIGKILL to the process, `exit` calls _exit(99), `fail` makes
 * FAULT_FAILS true once, `delay=MS` sleeps.  TWINBOX_FAULT_TRACE=FILE appends
 * the name of every point passed, one a line, so that a test can list them.
 *
 * The same builds heed TWINBOX_TIME_SCALE (base/timing.h) and
 * TWINBOX_CHEAP_PASSWORDS (crypt/password.c).
 */
#ifndef BASE_FAULT_H
#define BASE_FAULT_H

#include <stdbool.h>
#include <stddef.h>

#ifdef TWINBOX_FAULTS
/* Whether the point ${name} is to fail; what is armed there happens first. */
bool fault_hit(const char *name);
/* The number from 1 to ${most} that the environment variable ${name} holds, or
 * ${otherwise} when it is not set.  Any other text ends the program. */
long fault_number(const char *name, long otherwise, long most);
/* Reads ${n} bytes at ${p} as a number from 1 to 999999999; false if they are
 * none. */
bool fault_read_number(const char *p, size_t n, long *ret);
/* Ends the program: the environment variable ${name} cannot be read at ${at}.
 */
void fault_refuse(const char *name, const char *at) __attribute__((noreturn));
#define FAULT(name) ((void)fault_hit(name))
#define FAULT_FAILS(name) (fault_hit(name))
#else
#define FAULT(name) ((void)0)
#define FAULT_FAILS(name) (false)
#endif

#endif
