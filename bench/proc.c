/* SPDX-License-Identifier: MIT */
/*
 * Reads /proc/PID/{stat,io,smaps_rollup,task/PID/children}.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "proc.h"
#include "util.h"

static bool
read_file(int pid, const char *name, char *ret, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return (false);
	n = read(fd, ret, size - 1);
	close(fd);
	if (n <= 0)
		return (false);
	ret[n] = '\0';
	return (true);
}

/* Returns the number after the first ${label} in ${text}, 0 if there is
 * none. */
static int64_t
number_after(const char *text, const char *label)
{
	const char *p = strstr(text, label);
	int64_t v = 0;

	if (p == NULL)
		return (0);
	for (p += strlen(label); *p == ' ' || *p == '\t'; p++)
		continue;
	for (; *p >= '0' && *p <= '9'; p++)
		v = v * 10 + (*p - '0');
	return (v);
}

/* Returns the user and system time of ${pid} in ns: fields 14 and 15 of stat,
 * searched behind the name in parentheses, which may contain spaces. */
static int64_t
cpu_ns(int pid)
{
	char text[1024];
	const char *p;
	int64_t ticks = 0;

	if (!read_file(pid, "stat", text, sizeof(text)))
		bench_die(
		    "cannot read /proc/%d/stat: is the server gone?", pid);
	p = strrchr(text, ')');
	for (int field = 3; p != NULL && field <= 15; field++) {
		p = strchr(p, ' ');
		if (p == NULL)
			break;
		p++;
		if (field == 14 || field == 15)
			for (int64_t v = 0;; p++) {
				if (*p < '0' || *p > '9') {
					ticks += v;
					break;
				}
				v = v * 10 + (*p - '0');
			}
	}
	return (ticks * (NS_PER_S / sysconf(_SC_CLK_TCK)));
}

/* Adds process ${pid} to the server's part of ${ret}. */
static void
add_server(int pid, struct proc_sample *ret)
{
	char text[1024];

	ret->server_cpu_ns += cpu_ns(pid);
	/* The file of another user's process is not readable; the figure is
	 * 0. */
	if (read_file(pid, "io", text, sizeof(text)))
		ret->server_written_bytes +=
		    number_after(text, "\nwrite_bytes:");
}

/* Adds the children of process ${pid} to the server's part of ${ret}:
 * PostgreSQL has a child for each connection. */
static void
add_children(int pid, struct proc_sample *ret)
{
	char name[40], text[4096];
	const char *p;
	int child = 0;

	snprintf(name, sizeof(name), "task/%d/children", pid);
	if (!read_file(pid, name, text, sizeof(text)))
		return;
	for (p = text; *p != '\0'; p++) {
		if (*p >= '0' && *p <= '9') {
			child = child * 10 + (*p - '0');
			continue;
		}
		if (child != 0)
			add_server(child, ret);
		child = 0;
	}
}

void
proc_sample(int pid, struct proc_sample *ret)
{
	struct rusage usage;

	memset(ret, 0, sizeof(*ret));
	ret->at_ns = mono_ns();
	getrusage(RUSAGE_SELF, &usage);
	ret->own_cpu_ns =
	    ((int64_t)usage.ru_utime.tv_sec + (int64_t)usage.ru_stime.tv_sec) *
		NS_PER_S +
	    ((int64_t)usage.ru_utime.tv_usec +
		(int64_t)usage.ru_stime.tv_usec) *
		1000;
	if (pid == 0)
		return;
	add_server(pid, ret);
	add_children(pid, ret);
}

int64_t
proc_rss_bytes(int pid)
{
	char text[4096];

	if (!read_file(pid, "smaps_rollup", text, sizeof(text)))
		bench_die("cannot read /proc/%d/smaps_rollup", pid);
	return (number_after(text, "\nRss:") * 1024);
}
