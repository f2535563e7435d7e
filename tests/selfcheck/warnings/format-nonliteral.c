/* SPDX-License-Identifier: MIT */
#include <stdio.h>
int f(const char *p); int f(const char *p) { return (printf(p, 1)); }
