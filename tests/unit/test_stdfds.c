/* SPDX-License-Identifier: MIT */
/*
 * A program that was started without standard input, output or error, in each
 * of the eight combinations: a new file never gets one of the three numbers, an
 * open descriptor stays as it is, and a closed one still fails with EBADF.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/stdfds.h"

/* Closes the standard descriptors whose bits are set in ${closed}, so it runs
 * in a child process.  Returns the number of the first check that fails, or
 * 0. */
static int
child(int closed)
{
	struct stat before[3], after;
	char c = 'x';
	int fd;

	for (fd = 0; fd < 3; fd++) {
		if (fstat(fd, &before[fd]) != 0)
			return (1);
		if ((closed & 1 << fd) != 0)
			(void)close(fd);
	}
	if (!stdfds_open())
		return (2);
	if (open("/dev/null", O_RDONLY | O_CLOEXEC) < 3)
		return (3);
	for (fd = 0; fd < 3; fd++) {
		if (fstat(fd, &after) != 0)
			return (4);
		if ((closed & 1 << fd) == 0) {
			if (after.st_dev != before[fd].st_dev ||
			    after.st_ino != before[fd].st_ino)
				return (5);
			continue;
		}
		if ((fd == 0 ? read(fd, &c, 1) : write(fd, &c, 1)) != -1 ||
		    errno != EBADF)
			return (6);
	}
	return (0);
}

static int
in_child(int (*run)(int), int arg)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(run(arg));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return (WEXITSTATUS(status));
}

static void
test_closed(void **state)
{
	int closed;

	(void)state;
	for (closed = 0; closed < 8; closed++)
		assert_int_equal(in_child(child, closed), 0);
}

/* The same in a process that may not open a file: returns 0 if stdfds_open()
 * fails. */
static int
refused(int closed)
{
	const struct rlimit none = {0, 0};

	(void)close(closed);
	if (setrlimit(RLIMIT_NOFILE, &none) != 0)
		return (1);
	return (stdfds_open() ? 2 : 0);
}

static void
test_refused(void **state)
{
	int fd;

	(void)state;
	for (fd = 0; fd < 3; fd++)
		assert_int_equal(in_child(refused, fd), 0);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_closed),
	    cmocka_unit_test(test_refused),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
