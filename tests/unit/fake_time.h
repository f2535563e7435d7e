/* SPDX-License-Identifier: MIT */
/*
 * Time and random numbers for the tests of the client.  In a program that links
 * this file, these functions replace clk_system() and rnd_below() of base.  The
 * clock stands still until the test moves it, and each random number is the
 * largest that is allowed, so that the test knows every wait exactly.
 */
#ifndef TESTS_FAKE_TIME_H
#define TESTS_FAKE_TIME_H

#include <stdint.h>

/* Sets both clocks back to their beginning. */
void fake_time_start(void);

/* Moves both clocks on by ${ms}. */
void fake_time_move(int64_t ms);

/* Milliseconds since fake_time_start(). */
int64_t fake_time_ms(void);

#endif
