/* SPDX-License-Identifier: MIT */
/*
 * Functions that every part of the load generator needs: ending with an error,
 * time in nanoseconds, and searching for members in JSON that the server wrote.
 * The load generator shares the processors with the server that it measures, so
 * answers are searched and not parsed; other tests check their form.
 */
#ifndef BENCH_UTIL_H
#define BENCH_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)

/* Prints "loadgen: ..." and ends the program with exit code 1. */
_Noreturn void bench_die(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));

/* Returns ${n} objects of ${size} zeroed bytes.  Ends the program when memory
 * runs out. */
void *bench_zalloc(size_t n, size_t size);

/* Returns ${text} as a whole number of at least ${min}.  Ends the program,
 * naming ${what}, if it is not one. */
int64_t bench_number(const char *what, const char *text, int64_t min);

/* Reads the number, 0 or above, of the first member "${name}" in ${n} bytes at
 * ${p}.  Returns false if there is none. */
bool scan_i64(const char *p, size_t n, const char *name, int64_t *ret);

/* Copies the text of the first member "${name}", which has no escapes, into
 * ${ret}.  Returns false if there is none or it does not fit. */
bool scan_text(
    const char *p, size_t n, const char *name, char *ret, size_t size);

/* Returns true if ${what} occurs in ${n} bytes at ${p}. */
bool scan_has(const char *p, size_t n, const char *what);

/* Reads 16 lower-case hex digits.  Returns false if they are not hex digits. */
bool scan_hex(const char *p, int64_t *ret);

/* Returns the monotonic time in ns. */
static inline int64_t
mono_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ((int64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec);
}

#endif
