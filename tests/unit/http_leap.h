/* SPDX-License-Identifier: MIT */
/*
 * The time of an HTTP server under test is the machine's clock plus what a test
 * adds.  A test decides when a deadline passes, and no deadline passes merely
 * because the machine is slow.  The server also reads from the kernel when data
 * last came; this value follows the same clock.  For this value, and to count
 * the turns of the server's threads, the linker wraps two functions of the C
 * library (http.am) with those of http_leap.c.
 */
#ifndef TESTS_HTTP_LEAP_H
#define TESTS_HTTP_LEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clk.h"

const struct clk *leap_clk(void);

/* Moves the clock on.  A thread of the server sees the new time at its next
 * turn. */
void leap_by(int64_t ms);

/* Note that the client's socket ${fd} is about to send. */
void leap_note_send(int fd);

/* Returns whether the server's threads wait, that is whether within 5 s none of
 * them turns for 50 ms.  A thread that spins turns thousands of times
 * meanwhile. */
bool leap_is_quiet(void);

#endif
