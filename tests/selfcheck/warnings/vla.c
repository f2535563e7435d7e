/* SPDX-License-Identifier: MIT */
int f(int n); int f(int n) { int v[n]; v[0] = n; return (v[0]); }
