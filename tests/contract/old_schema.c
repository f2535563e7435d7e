/* SPDX-License-Identifier: MIT */
/*
 * old_schema FROM TO NUMBER: old_schema_make() for the end-to-end tests.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "contract/old.h"

int
main(int argc, char **argv)
{
	const char *failed;

	/* The server makes its files with the same umask. */
	(void)umask(077);
	if (argc != 4) {
		(void)fputs("usage: old_schema FROM TO NUMBER\n", stderr);
		return (2);
	}
	failed =
	    old_schema_make(argv[1], argv[2], (int)strtoll(argv[3], NULL, 10));
	if (failed != NULL)
		(void)fprintf(stderr, "%s\n", failed);
	return (failed != NULL);
}
