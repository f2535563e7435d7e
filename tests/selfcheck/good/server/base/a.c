/* SPDX-License-Identifier: MIT */
/*
 * A sample that every gate must let pass.  Its comments may say strcpy() and
 * so may its strings.
 */
#include "base/a.h"

#include <string.h>

int
a_next(int n)
{

	return (n + 1);
}

size_t
a_length(
    const char *s, int this_argument_is_not_used_at_all, int neither_is_this)
{

	(void)this_argument_is_not_used_at_all;
	(void)neither_is_this;
	/* not sprintf(s) */
	return (strlen(s) + strlen("malloc(1)"));
}
