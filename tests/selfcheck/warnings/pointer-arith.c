/* SPDX-License-Identifier: MIT */
void *f(void *p); void *f(void *p) { return (p + 1); }
