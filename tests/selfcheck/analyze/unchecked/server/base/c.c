/* SPDX-License-Identifier: MIT */
/*
 * A sample.
 */
#include <stdlib.h>

int c(int n);

int
c(int n)
{
	int *p = malloc(sizeof(*p));

	*p = n;
	n = *p;
	free(p);
	return (n);
}
