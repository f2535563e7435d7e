/* SPDX-License-Identifier: MIT */
/*
 * A sample.
 */

/* R7: nobody tests this. */
static int
helper(void)
{

	return (1);
}

int
main(void)
{

	return (!helper());
}
