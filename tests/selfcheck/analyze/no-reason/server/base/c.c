/* SPDX-License-Identifier: MIT */
/*
 * A sample.
 */
#include <stdlib.h>

int c(int n);

int
c(int n)
{
	char *p = malloc((size_t)n);

	if (p == NULL || n == 7)
		return (1);
	free(p);
	return (0);
}
