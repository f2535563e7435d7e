/* SPDX-License-Identifier: MIT */
char *f(const char *p); char *f(const char *p) { return ((char *)p); }
