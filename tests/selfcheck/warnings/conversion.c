/* SPDX-License-Identifier: MIT */
int f(long n); int f(long n) { return (n); }
