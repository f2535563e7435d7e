/* SPDX-License-Identifier: MIT */
int f(int n); int f(int n) { int *p = n ? &n : 0; return (*p); }
