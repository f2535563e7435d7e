/* SPDX-License-Identifier: MIT */
/*
 * Whether a thread waits, for tests that must not guess by time.
 */
#ifndef TESTS_SLEEPS_H
#define TESTS_SLEEPS_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Whether thread ${tid} of this process sleeps now.  Once it was woken for
 * something, it does so again only when it waits for something else. */
static inline bool
sleeps(int tid)
{
	char path[64], line[256];
	const char *p;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	f = fopen(path, "r");
	if (f == NULL)
		return (false);
	p = fgets(line, sizeof(line), f);
	(void)fclose(f);
	if (p != NULL)
		p = strrchr(line, ')');
	return (p != NULL && p[1] == ' ' && p[2] == 'S');
}

#endif
