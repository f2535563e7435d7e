/* SPDX-License-Identifier: MIT */
/*
 * A sample.
 */
#include <stdio.h>

int c(int n);

int
c(int n)
{
	FILE *f = fopen("/dev/null", "r");

	if (f == NULL || n == 7)
		return (1);
	return (fclose(f));
}
