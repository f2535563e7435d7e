/* SPDX-License-Identifier: MIT */
int f(int n); int f(int n) { { int n = 2; (void)n; } return (n); }
