/* SPDX-License-Identifier: MIT */
/* The live view. */
#include "cli/admin.h"

enum rc
cmd_admin_top(struct cli *cli, struct fail *fail)
{

	(void)cli;
	return (fail_set(fail, FAIL_INTERNAL, "not yet"));
}
