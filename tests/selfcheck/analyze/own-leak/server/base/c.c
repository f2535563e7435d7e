/* SPDX-License-Identifier: MIT */
/*
 * A sample.
 */
#include "base/a.h"

void mem_free(void *p);
void *mem_alloc(unsigned long n)
    __attribute__((__malloc__, __malloc__(mem_free, 1)));
int c(int n);

int
c(int n)
{
	void *p = mem_alloc(8);

	if (n == 7)
		return (1);
	mem_free(p);
	return (0);
}
