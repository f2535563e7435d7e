/* SPDX-License-Identifier: MIT */
/*
 * A sample.
 */
int c_unused;
