/* SPDX-License-Identifier: MIT */
/*
 * Passwords from keys at a terminal: how keys edit a line, and when there is no
 * line.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <unistd.h>

#include "base/terminal.h"

/* Room for seven bytes and the final NUL. */
#define ROOM 8

static void
test_keys(void **state)
{
	static const struct {
		const char *keys;
		const char *line; /* NULL: no line */
	} table[] = {
	    {"abc\n", "abc"},
	    {"abc\r", "abc"},
	    {"\n", ""},
	    {"1234567\n", "1234567"},
	    {"12345678\n", NULL},
	    {"ab\177\177\177c\n", "c"},
	    {"ab\bc\n", "ac"},
	    {"a\303\244\177b\n", "ab"},
	    {"1234567\0258\n", "8"},
	    {"a\004b\n", "a\004b"},
	    {"\004", NULL},
	    {"ab\025\004", NULL},
	    {"ab\003", NULL},
	    {"ab", NULL},
	    {"", NULL},
	};
	char line[ROOM];
	size_t i, n;
	int fds[2];

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		n = strlen(table[i].keys);
		assert_int_equal(pipe(fds), 0);
		assert_int_equal(write(fds[1], table[i].keys, n), n);
		assert_int_equal(close(fds[1]), 0);
		assert_int_equal(terminal_read_line(fds[0], line, sizeof(line)),
		    table[i].line != NULL);
		if (table[i].line != NULL)
			assert_string_equal(line, table[i].line);
		assert_int_equal(close(fds[0]), 0);
	}
	assert_false(terminal_read_line(-1, line, sizeof(line)));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_keys)};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
