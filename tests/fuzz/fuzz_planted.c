/* SPDX-License-Identifier: MIT */
/*
 * A target that tests the runner (tests/fuzz/run): with PLANTED_BUG it reads
 * one byte beyond a buffer, behind three comparisons that only a fuzzer with
 * feedback passes in time.  Without PLANTED_BUG it has no error.
 */
#include <stdlib.h>

#include "fuzz/fuzz.h"

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{

	(void)argc;
	(void)argv;
	return (0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = fuzz_copy(data, size);
	volatile char last = 0;

	if (size > 3 && copy[0] == 'b' && copy[1] == 'u' && copy[2] == 'g') {
#ifdef PLANTED_BUG
		last = copy[size + 1];
#else
		last = copy[size];
#endif
	}
	(void)last;
	free(copy);
	return (0);
}
