/* SPDX-License-Identifier: MIT */
/*
 * Fault points.  Owns the armed faults, which the first fault point that the
 * program passes reads from the environment.  Promises that a list that cannot
 * be parsed ends the program: if the list were ignored, a test could pass
 * although its fault never happened.  A name that no fault point has is not
 * detected.  Without the macro TWINBOX_FAULTS this file is empty.
 */
#include "base/fault.h"
#include "base/lock.h"

#ifdef TWINBOX_FAULTS

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FAULTS_MAX 32
#define EXIT_FAULT 99
#define EXIT_SYNTAX 98

enum action { ACT_KILL, ACT_EXIT, ACT_FAIL, ACT_DELAY };

struct fault {
	char name[64];
	enum action action;
	long left; /* passages until the action; 0: it is done */
	long delay_ms;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct lock lock = LOCK_INIT(LOCK_FAULT);
static struct fault faults[FAULTS_MAX];
static size_t fault_count;
static int trace_fd = -1;

void
fault_refuse(const char *name, const char *at)
{

	(void)fprintf(stderr, "%s: cannot use \"%s\"\n", name, at);
	_exit(EXIT_SYNTAX);
}

static void __attribute__((noreturn)) refuse(const char *what)
{

	fault_refuse("TWINBOX_FAULT", what);
}

bool
fault_read_number(const char *p, size_t n, long *ret)
{
	long value = 0;

	if (n == 0 || n > 9)
		return (false);
	for (; n > 0; n--, p++) {
		if (*p < '0' || *p > '9')
			return (false);
		value = value * 10 + (*p - '0');
	}
	*ret = value;
	return (value > 0);
}

long
fault_number(const char *name, long otherwise, long most)
{
	const char *text = getenv(name);
	long value;

	if (text == NULL)
		return (otherwise);
	if (!fault_read_number(text, strlen(text), &value) || value > most)
		fault_refuse(name, text);
	return (value);
}

static bool
read_action(const char *p, size_t n, struct fault *f)
{

	f->action = ACT_DELAY;
	if (n > 6 && memcmp(p, "delay=", 6) == 0)
		return (fault_read_number(p + 6, n - 6, &f->delay_ms));
	if (n != 4)
		return (false);
	if (memcmp(p, "kill", 4) == 0)
		f->action = ACT_KILL;
	else if (memcmp(p, "exit", 4) == 0)
		f->action = ACT_EXIT;
	else if (memcmp(p, "fail", 4) == 0)
		f->action = ACT_FAIL;
	else
		return (false);
	return (true);
}

/* Reads "name:n:action", ${n} bytes at ${p}. */
static bool
read_fault(const char *p, size_t n, struct fault *f)
{
	const char *end = p + n, *first, *second;

	first = memchr(p, ':', n);
	if (first == NULL || first == p ||
	    (size_t)(first - p) >= sizeof(f->name))
		return (false);
	second = memchr(first + 1, ':', (size_t)(end - first - 1));
	if (second == NULL)
		return (false);
	memcpy(f->name, p, (size_t)(first - p));
	f->name[first - p] = '\0';
	return (fault_read_number(
		    first + 1, (size_t)(second - first - 1), &f->left) &&
		read_action(second + 1, (size_t)(end - second - 1), f));
}

static void
read_environment(void)
{
	const char *list, *path, *p;
	size_t n;

	path = getenv("TWINBOX_FAULT_TRACE");
	if (path != NULL && path[0] != '\0') {
		trace_fd =
		    open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
		if (trace_fd < 0)
			refuse(path);
	}
	list = getenv("TWINBOX_FAULT");
	for (p = list; p != NULL && *p != '\0'; p += n + (p[n] == ',')) {
		n = strcspn(p, ",");
		if (fault_count == FAULTS_MAX ||
		    !read_fault(p, n, &faults[fault_count]))
			refuse(list);
		fault_count++;
	}
}

static void
trace(const char *name)
{
	char line[80];
	int n;

	if (trace_fd < 0)
		return;
	n = snprintf(line, sizeof(line), "%.64s\n", name);
	if (write(trace_fd, line, (size_t)n) != n)
		refuse("TWINBOX_FAULT_TRACE");
}

/* Performs the action of ${f}.  Returns true if the fault point must fail. */
static bool
act(const struct fault *f)
{
	struct timespec ts;

	switch (f->action) {
	case ACT_KILL:
		(void)kill(getpid(), SIGKILL);
		for (;;)
			(void)pause();
	case ACT_EXIT:
		_exit(EXIT_FAULT);
	case ACT_FAIL:
		return (true);
	case ACT_DELAY:
		ts.tv_sec = f->delay_ms / 1000;
		ts.tv_nsec = f->delay_ms % 1000 * 1000000;
		(void)nanosleep(&ts, NULL);
		return (false);
	}
	return (false);
}

bool
fault_hit(const char *name)
{
	bool due, fails = false;
	size_t i;

	(void)pthread_once(&once, read_environment);
	trace(name);
	for (i = 0; i < fault_count; i++) {
		if (strcmp(faults[i].name, name) != 0)
			continue;
		lock_take(&lock);
		due = faults[i].left > 0 && --faults[i].left == 0;
		lock_drop(&lock);
		if (due && act(&faults[i]))
			fails = true;
	}
	return (fails);
}

#endif
