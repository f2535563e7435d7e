/* SPDX-License-Identifier: MIT */
/*
 * A sample.
 */
#include <stdio.h>
#include <stdlib.h>

int c(int n);

int
c(int n)
{
	char *p = calloc(8, 1);

	if (p == NULL)
		return (1);
	free(p);
	return (n + p[0]);
}
