/* SPDX-License-Identifier: MIT */
/*
 * Small things that every part of the load generator needs: giving up,
 * nanoseconds, and looking for members in JSON that the server wrote.  A load
 * generator shares the processors with what it measures, so answers are
 * searched, not parsed; their shape is what other tests are for.
 */
#ifndef BENCH_UTIL_H
#define BENCH_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define NS_PER_MS INT64_C(1000000)
#define NS_PER_S INT64_C(1000000000)

/* Prints "loadgen: ..." and ends the program with 1. */
_Noreturn void bench_die(const char *fmt, ...)
    __attribute__((format(printf, 1, 2)));

/* ${n} objects of ${size} zeroed bytes; gives up without memory. */
void *bench_zalloc(size_t n, size_t size);

/* A whole number of ${min} or more; gives up, naming ${what}, if it is none. */
int64_t bench_number(const char *what, const char *text, int64_t min);

/* The number of member "${name}": in ${n} bytes at ${p}. */
bool scan_i64(const char *p, size_t n, const char *name, int64_t *ret);

/* Copies the text of member "${name}" (without escapes) into ${ret}. */
bool scan_text(
    const char *p, size_t n, const char *name, char *ret, size_t size);

/* Whether ${what} occurs in ${n} bytes at ${p}. */
bool scan_has(const char *p, size_t n, const char *what);

/* Reads 16 hex digits. */
bool scan_hex(const char *p, int64_t *ret);

/* Monotonic time. */
static inline int64_t
mono_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ((int64_t)ts.tv_sec * NS_PER_S + ts.tv_nsec);
}

#endif
