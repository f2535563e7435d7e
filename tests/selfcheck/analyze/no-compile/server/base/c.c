/* SPDX-License-Identifier: MIT */
/*
 * A sample.
 */
int c(void) { return nothing; }
