/* SPDX-License-Identifier: MIT */
/*
 * Files that an operator names must be regular files; others are not opened.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "config/regular_file.h"
#include "unit/folder.h"

static void
refused(const char *path, const char *text)
{
	struct err err = ERR_INIT;
	char expected[256];
	int fd = -1;

	(void)snprintf(expected, sizeof(expected), "%s %s", path, text);
	assert_int_equal(regular_file_open(path, &fd, &err), RC_INVALID);
	assert_string_equal(err.text, expected);
	assert_int_equal(fd, -1);
	err = (struct err)ERR_INIT;
	assert_int_equal(regular_file_check(path, &err), RC_INVALID);
}

static void
test_files(void **state)
{
	struct err err = ERR_INIT;
	char folder[64], path[96], link[96];
	FILE *f;
	int fd;

	(void)state;
	assert_true(folder_make("file", folder, sizeof(folder)));
	(void)snprintf(path, sizeof(path), "%s/f", folder);
	(void)snprintf(link, sizeof(link), "%s/l", folder);
	assert_int_equal(regular_file_open(path, &fd, &err), RC_NOT_FOUND);
	assert_int_equal(regular_file_check(path, &err), RC_OK);
	assert_int_equal(mkfifo(path, 0600), 0);
	refused(path, "is a FIFO: name a regular file");
	assert_int_equal(symlink(path, link), 0);
	refused(link, "is a FIFO: name a regular file");
	refused(folder, "is a directory: name a regular file");
	refused("/dev/null", "is a device: name a regular file");
	assert_int_equal(unlink(path), 0);
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(regular_file_open(link, &fd, &err), RC_OK);
	assert_int_equal(close(fd), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(unlink(link), 0);
	assert_int_equal(rmdir(folder), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_files),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
