/* SPDX-License-Identifier: MIT */
int f(int n); int f(int n) { if (n == 1) n = 2; else n = 2; return (n); }
