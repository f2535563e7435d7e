/* SPDX-License-Identifier: MIT */
/*
 * A sample that every gate must let pass.
 */
#include "base/a.h"

/* R4
 * R1: the next number. */
static int
test_next(void)
{

	return (a_next(2) == 3);
}

int
main(void)
{

	return (!test_next());
}
