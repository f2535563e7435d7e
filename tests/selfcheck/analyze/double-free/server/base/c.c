/* SPDX-License-Identifier: MIT */
/*
 * A sample.
 */
#include <stdlib.h>

int c(int n);

int
c(int n)
{
	char *p = malloc(8);

	if (n == 7)
		free(p);
	free(p);
	return (0);
}
