/* SPDX-License-Identifier: MIT */
/*
 * Time and chance for the tests of the client.  A program that links this has
 * them in the place of base's clk_system() and rnd_below(): the clock stands
 * still until the test moves it, and each random number is the largest that
 * was allowed, so that every wait is known exactly.
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
