/* SPDX-License-Identifier: MIT */
/*
 * A sample that every gate must let pass: it uses the module below.
 */
#include "base/a.h"

int b_of(int n);

int
b_of(int n)
{

	return (a_next(n));
}
