/* SPDX-License-Identifier: MIT */
char *f(void); char *f(void) { return ("x"); }
