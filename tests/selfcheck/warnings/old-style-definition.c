/* SPDX-License-Identifier: MIT */
int f(int); int f(n) int n; { return (n); }
