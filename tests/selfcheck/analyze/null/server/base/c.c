/* SPDX-License-Identifier: MIT */
/*
 * A sample.
 */
#include <stdlib.h>

int c(int n);

int
c(int n)
{
	int *p = NULL;

	if (n == 7)
		p = &n;
	return (*p);
}
