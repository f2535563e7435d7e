/* SPDX-License-Identifier: MIT */
int f(int n); int f(int n) { return (n > 1 && n > 1); }
