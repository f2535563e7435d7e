/* SPDX-License-Identifier: MIT */
int f(int n); int f(int n) { if (n == 1) return (2); else if (n == 1) return (3); return (4); }
