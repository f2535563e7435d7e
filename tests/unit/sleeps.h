/* SPDX-License-Identifier: MIT */
/*
 * Finds out whether threads wait, for tests that must not rely on time.
 */
#ifndef TESTS_SLEEPS_H
#define TESTS_SLEEPS_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Returns whether thread ${tid} of this process sleeps now.  A thread that was
 * woken and sleeps again waits for something else. */
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

/* Returns how many times thread ${tid} has gone to sleep; -1 if there is no
 * such thread. */
static inline long long
sleeps_count(int tid)
{
	static const char key[] = "voluntary_ctxt_switches:";
	char path[64], line[256];
	long long count = -1;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/status", tid);
	f = fopen(path, "r");
	if (f == NULL)
		return (-1);
	while (fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, key, sizeof(key) - 1) == 0)
			count = strtoll(line + sizeof(key) - 1, NULL, 10);
	(void)fclose(f);
	return (count);
}

/* Returns the sum of sleeps_count() of the other threads of this process, or -1
 * if one of them is awake. */
static inline long long
sleeps_of_others(void)
{
	DIR *tasks = opendir("/proc/self/task");
	const struct dirent *entry;
	long long sum = 0;
	int tid;

	if (tasks == NULL)
		return (-1);
	while (sum >= 0 && (entry = readdir(tasks)) != NULL) {
		tid = (int)strtoll(entry->d_name, NULL, 10);
		if (tid > 0 && tid != (int)gettid())
			sum = sleeps(tid) ? sum + sleeps_count(tid) : -1;
	}
	(void)closedir(tasks);
	return (sum);
}

/*
 * Returns whether all other threads of this process slept at one moment.  Then
 * they have done all that they could do without this thread.
 *
 * The threads are read one after another, twice.  A thread that sleeps at both
 * readings, and has not gone to sleep again between them, slept all the time
 * between them.  If this is true of all threads, all of them slept at the end
 * of the first pass.
 */
static inline bool
others_sleep(void)
{
	long long before = sleeps_of_others();

	return (before >= 0 && sleeps_of_others() == before);
}

#endif
