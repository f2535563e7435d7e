/* SPDX-License-Identifier: MIT */
/*
 * Time of an HTTP server under test: the machine's clock plus what a test adds,
 * so a test decides when a deadline has passed and a slow machine passes none
 * by itself.  The kernel's account of when data last came, which the server
 * reads, follows this clock.  For this, and to count the turns of the server's
 * threads, the linker puts functions of http_leap.c before two of the C library
 * (http.am).
 */
#ifndef TESTS_HTTP_LEAP_H
#define TESTS_HTTP_LEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clk.h"

const struct clk *leap_clk(void);

/* Moves the clock on.  The server sees it when a thread of it turns next. */
void leap_by(int64_t ms);

/* The client's socket ${fd} is about to send. */
void leap_note_send(int fd);

/* Whether the server's threads wait instead of turning: one that spins turns
 * thousands of times meanwhile.  What is under way may end first. */
bool leap_is_quiet(void);

#endif
