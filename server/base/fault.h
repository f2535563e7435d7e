/* SPDX-License-Identifier: MIT */
/*
 * Named fault points: FAULT("store.commit.before").  They exist in builds with
 * --enable-faults only; in others the macros do nothing.  The environment
 * variable TWINBOX_FAULT="name:n:action[,…]" arms up to 32 faults, each for one
 * action, which happens once, at the n-th passage of the point (all threads are
 * counted together): `kill` sends SIGKILL to the process, `exit` calls
 * _exit(99), `fail` makes FAULT_FAILS() true (FAULT() ignores it), and
 * `delay=MS` makes the thread sleep for MS milliseconds.  The numbers n and MS
 * are 1 to 999999999.  Text that cannot be parsed, or more than 32 faults, end
 * the program with status 98 at the first point that it passes.
 * TWINBOX_FAULT_TRACE=FILE appends the name of each point that is passed to the
 * file, one a line, so that a test can list the points; a file that cannot be
 * opened or written ends the program with status 98, too.  The same builds read
 * TWINBOX_TIME_SCALE (base/timing.h), TWINBOX_CLOCK_OFFSET (base/clk.c) and
 * TWINBOX_CHEAP_PASSWORDS (crypt/password.c).
 */
#ifndef BASE_FAULT_H
#define BASE_FAULT_H

#include <stdbool.h>
#include <stddef.h>

#ifdef TWINBOX_FAULTS
/* Passes the point ${name}: performs the actions that are due, then returns
 * true if the point must fail.  Thread: any. */
bool fault_hit(const char *name);
/* Returns the number from 1 to ${most} in the environment variable ${name}, or
 * ${otherwise} if the variable is not set.  Any other text ends the program
 * (fault_refuse()). */
long fault_number(const char *name, long otherwise, long most);
/* Parses the ${n} bytes at ${p}, which must be 1 to 9 digits, into *ret, as a
 * number from 1 to 999999999.  Returns false if they are anything else; *ret
 * may have been set to 0 then. */
bool fault_read_number(const char *p, size_t n, long *ret);
/* Prints to stderr that the text ${at}, from the environment variable ${name},
 * cannot be used, and ends the program at once (_exit()) with status 98. */
void fault_refuse(const char *name, const char *at) __attribute__((noreturn));
#define FAULT(name) ((void)fault_hit(name))
#define FAULT_FAILS(name) (fault_hit(name))
#else
#define FAULT(name) ((void)0)
#define FAULT_FAILS(name) (false)
#endif

#endif
