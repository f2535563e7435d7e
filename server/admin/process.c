/* SPDX-License-Identifier: MIT */
/*
 * The process metrics, with the names that the client libraries of Prometheus
 * use: processor time, resident memory, file descriptors (open, and the limit),
 * start time.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "admin/admin_internal.h"

/* Returns the resident bytes: the second number of /proc/self/statm, in pages.
 */
static int64_t
resident_bytes(void)
{
	char text[128], *p;
	ssize_t n;
	int fd;

	if ((fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC)) < 0)
		return (0);
	n = read(fd, text, sizeof(text) - 1);
	(void)close(fd);
	if (n <= 0)
		return (0);
	text[n] = '\0';
	if ((p = strchr(text, ' ')) == NULL)
		return (0);
	return (strtoll(p, NULL, 10) * sysconf(_SC_PAGESIZE));
}

static int64_t
open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int64_t n = -3; /* ".", "..", and the directory itself */

	if (dir == NULL)
		return (0);
	while (readdir(dir) != NULL)
		n++;
	(void)closedir(dir);
	return (n);
}

static void
add(struct buf *b, const char *name, const char *type, const char *help,
    double value)
{

	buf_addf(b, "# HELP process_%s %s\n# TYPE process_%s %s\n", name, help,
	    name, type);
	buf_addf(b, "process_%s %.17g\n", name, value);
}

static double
seconds(const struct timeval *t)
{

	return ((double)t->tv_sec + (double)t->tv_usec / 1e6);
}

void
process_metrics_write(struct buf *b, int64_t start_ms)
{
	struct rusage usage;
	struct rlimit files;

	if (getrusage(RUSAGE_SELF, &usage) == 0)
		add(b, "cpu_seconds_total", "counter",
		    "Processor time, user and system",
		    seconds(&usage.ru_utime) + seconds(&usage.ru_stime));
	add(b, "resident_memory_bytes", "gauge", "Resident memory",
	    (double)resident_bytes());
	add(b, "open_fds", "gauge", "Open file descriptors",
	    (double)open_descriptors());
	if (getrlimit(RLIMIT_NOFILE, &files) == 0)
		add(b, "max_fds", "gauge", "The most of them there may be",
		    (double)files.rlim_cur);
	add(b, "start_time_seconds", "gauge", "Start, in seconds since 1970",
	    (double)start_ms / 1000);
}
