/* SPDX-License-Identifier: MIT */
/*
 * The operator.  See desk.h.
 */
#include "sim/desk.h"

void
desk_acts(struct sim *s)
{

	(void)s;
}

void
desk_resumes_all(struct sim *s)
{

	(void)s;
}
