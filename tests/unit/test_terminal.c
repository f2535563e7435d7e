/* SPDX-License-Identifier: MIT */
/*
 * Passwords from keys at a terminal and from a file: how keys edit a line,
 * where a line ends, and when there is no line.
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

/* Asserts that ${read_line} reads ${line} from a pipe with the ${n} bytes
 * ${text}, or returns false if ${line} is NULL. */
static void
assert_reads(bool (*read_line)(int, char *, size_t), const char *text, size_t n,
    const char *line)
{
	char got[ROOM];
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], text, n), n);
	assert_int_equal(close(fds[1]), 0);
	assert_int_equal(read_line(fds[0], got, sizeof(got)), line != NULL);
	if (line != NULL)
		assert_string_equal(got, line);
	assert_int_equal(close(fds[0]), 0);
}

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
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		assert_reads(terminal_read_line, table[i].keys,
		    strlen(table[i].keys), table[i].line);
	}
	assert_false(terminal_read_line(-1, line, sizeof(line)));
}

static void
test_file(void **state)
{
	static const struct {
		const char *text;
		const char *line; /* NULL: no line */
	} table[] = {
	    {"abc\n", "abc"},
	    {"abc\r\n", "abc"},
	    {"abc", "abc"},
	    {"a\rb\003\177\n", "a\rb\003\177"},
	    {"1234567\nmore", "1234567"},
	    {"12345678\n", NULL},
	    {"\n", ""},
	    {"\r\n", ""},
	    {"", ""},
	};
	char line[ROOM];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		assert_reads(terminal_read_plain, table[i].text,
		    strlen(table[i].text), table[i].line);
	}
	/* A NUL would end the password early. */
	assert_reads(terminal_read_plain, "ab\0c\n", 5, NULL);
	/* So would a read error. */
	assert_false(terminal_read_plain(-1, line, sizeof(line)));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_keys),
	    cmocka_unit_test(test_file),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
