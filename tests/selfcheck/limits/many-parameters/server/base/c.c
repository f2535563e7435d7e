/* SPDX-License-Identifier: MIT */
/* A sample. */
int
f(int a, int b, int c, int d, int (*e)(int, int), int g,
    int h, int *ret_n, struct err *err)
{
	g();
}
