/* SPDX-License-Identifier: MIT */
/*
 * Result codes and errors: the table is complete and has possible numbers, and
 * the text of an error goes from the outer failure to the inner one, and is cut
 * only between characters.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"

static void
test_table_is_complete(void **state)
{
	int i, j;

	(void)state;
	for (i = 0; i < RC_COUNT; i++) {
		assert_memory_equal(rc_name((enum rc)i), "RC_", 3);
		assert_true(strlen(rc_text((enum rc)i)) > 1);
		assert_in_range(rc_http_status((enum rc)i), 200, 507);
		assert_true((rc_ws_close((enum rc)i) >= 1000 &&
				rc_ws_close((enum rc)i) <= 1013) ||
			    (rc_ws_close((enum rc)i) >= 4000 &&
				rc_ws_close((enum rc)i) <= 4999));
		assert_true(i == RC_OK ? rc_exit_code(RC_OK) == 0
				       : rc_exit_code((enum rc)i) >= 64 &&
					     rc_exit_code((enum rc)i) <= 78);
		for (j = 0; j < i; j++)
			assert_string_not_equal(
			    rc_name((enum rc)i), rc_name((enum rc)j));
	}
	assert_string_equal(rc_name(RC_BUSY), "RC_BUSY");
	assert_string_equal(rc_text(RC_CONFLICT), "conflict");
	assert_int_equal(rc_http_status(RC_FULL), 507);
	assert_int_equal(rc_ws_close(RC_LIMIT), 4429);
	assert_int_equal(rc_exit_code(RC_NOT_FOUND), 68);
	assert_true(rc_may_retry(RC_UNCERTAIN));
	assert_true(rc_may_retry(RC_AWAY) && rc_may_retry(RC_UNCONFIRMED));
	assert_false(rc_may_retry(RC_INVALID));
}

static void
test_outages(void **state)
{
	int i, n = 0;

	(void)state;
	for (i = 0; i < RC_COUNT; i++)
		if (rc_is_outage((enum rc)i)) {
			assert_int_equal(rc_http_status((enum rc)i), 503);
			assert_int_equal(rc_exit_code((enum rc)i), 75);
			n++;
		}
	assert_int_equal(n, 4);
	assert_true(rc_is_outage(RC_BUSY) && rc_is_outage(RC_AWAY));
	assert_true(rc_is_outage(RC_UNCERTAIN) && rc_is_outage(RC_UNCONFIRMED));
}

/* The exit code for a file that cannot be opened shows the operator what to do.
 */
static void
test_opening(void **state)
{
	static const struct {
		int sys;
		int exit_code;
	} rows[] = {{EACCES, 77}, {EPERM, 77}, {ENOTDIR, 65}, {EISDIR, 65},
	    {ELOOP, 65}, {ENAMETOOLONG, 65}, {ENOSPC, 75}, {EDQUOT, 75},
	    {EMFILE, 75}, {ENFILE, 75}, {ENOMEM, 71}, {EIO, 74}, {EROFS, 74},
	    {ESTALE, 74}, {0, 74}};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(rc_exit_code(rc_of_opening(rows[i].sys)),
		    rows[i].exit_code);
	assert_int_equal(rc_of_opening(ENOENT), RC_NOT_FOUND);
	assert_int_equal(rc_exit_code(RC_SETTING), 78);
}

static void
test_no_code_is_internal(void **state)
{

	(void)state;
	assert_string_equal(rc_name((enum rc)RC_COUNT), "RC_INTERNAL");
	assert_int_equal(rc_http_status((enum rc)1000), 500);
}

static void
test_set_and_wrap(void **state)
{
	struct err err = ERR_INIT;

	(void)state;
	errno = EINTR;
	assert_int_equal(
	    err_set(&err, RC_NOT_FOUND, "no user \"%s\"", "eve"), RC_NOT_FOUND);
	assert_int_equal(err.rc, RC_NOT_FOUND);
	assert_int_equal(err.sys, 0);
	assert_string_equal(err.text, "no user \"eve\"");
	assert_int_equal(err_wrap(&err, "message %d", 7), RC_NOT_FOUND);
	assert_string_equal(err.text, "message 7: no user \"eve\"");
	assert_int_equal(errno, EINTR);
}

static void
test_set_from_itself(void **state)
{
	struct err err = ERR_INIT;

	(void)state;
	err_set(&err, RC_IO, "inner");
	err.ext = 5;
	err_set(&err, RC_PEER, "outer: %s", err.text);
	assert_string_equal(err.text, "outer: inner");
	assert_int_equal(err.ext, 0);
}

static void
test_set_sys(void **state)
{
	struct err err = ERR_INIT;

	(void)state;
	assert_int_equal(
	    err_set_sys(&err, RC_IO, ENOENT, "open %s", "x"), RC_IO);
	assert_int_equal(err.sys, ENOENT);
	assert_string_equal(err.text, "open x: No such file or directory");
	err_set(&err, RC_IO, "again");
	assert_int_equal(err.sys, 0);
}

static void
test_null_is_allowed(void **state)
{

	(void)state;
	assert_int_equal(err_set(NULL, RC_BUSY, "x"), RC_BUSY);
	assert_int_equal(err_set_sys(NULL, RC_IO, EIO, "x"), RC_IO);
	assert_int_equal(err_wrap(NULL, "x"), RC_INTERNAL);
}

static void
test_one_line_cut_between_characters(void **state)
{
	struct err err = ERR_INIT;
	char text[300];
	size_t i;

	(void)state;
	err_set(&err, RC_IO, "line\r\n");
	assert_string_equal(err.text, "line");
	text[0] = 'x';
	for (i = 1; i + 2 < sizeof(text); i += 2)
		memcpy(text + i, "\xc3\xa4", 3);
	err_set(&err, RC_IO, "%s", text);
	assert_int_equal(strlen(err.text), 255);
	err_set(&err, RC_IO, "%s", text + 1);
	assert_int_equal(strlen(err.text), 254);
	/* One byte more than the text has room for. */
	err_set(&err, RC_IO, "%0*d", (int)sizeof(err.text), 0);
	assert_int_equal(strlen(err.text), 255);
	assert_int_equal(err.sys, 0);
	err_set(&err, RC_IO, "%s", text + 1);
	err_wrap(&err, "c");
	assert_memory_equal(err.text, "c: \xc3\xa4", 5);
	assert_int_equal(strlen(err.text), 255);
	err_wrap(&err, "cd");
	assert_int_equal(strlen(err.text), 255);
	assert_memory_equal(err.text + 253, "\xc3\xa4", 3);
	err_wrap(&err, "%s", text);
	assert_int_equal(strlen(err.text), 255);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_table_is_complete),
	    cmocka_unit_test(test_outages),
	    cmocka_unit_test(test_opening),
	    cmocka_unit_test(test_no_code_is_internal),
	    cmocka_unit_test(test_set_and_wrap),
	    cmocka_unit_test(test_set_from_itself),
	    cmocka_unit_test(test_set_sys),
	    cmocka_unit_test(test_null_is_allowed),
	    cmocka_unit_test(test_one_line_cut_between_characters),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
