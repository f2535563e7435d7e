/* SPDX-License-Identifier: MIT */
int f(void) { return (1); }
