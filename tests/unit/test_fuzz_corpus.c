/* SPDX-License-Identifier: MIT */
/*
 * The lines of a fuzz corpus can hold any input, and each input has one form
 * only.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fuzz/corpus.h"

static void
check_input(const void *p, size_t n, const char *want)
{
	char *line = corpus_line(p, n);
	uint8_t *again;
	size_t len = SIZE_MAX;

	if (want != NULL)
		assert_string_equal(line, want);
	assert_int_equal(strcspn(line, "\n"), strlen(line));
	again = corpus_input(line, &len);
	assert_non_null(again);
	assert_int_equal(len, n);
	assert_memory_equal(again, p, n);
	free(again);
	free(line);
}

static void
test_written_and_read(void **state)
{
	uint8_t every[256];
	int i;

	(void)state;
	check_input("", 0, "");
	check_input("{\"a\": 1}", 8, "{\"a\": 1}");
	check_input("a\r\n\t\\n", 6, "a\\r\\n\\t\\\\n");
	check_input("\0\x1f\x7f\xff", 4, "\\x00\\x1f\\x7f\\xff");
	/* The last space is escaped: editors strip spaces at the end of a
	 * line. */
	check_input(" a  ", 4, " a \\x20");
	for (i = 0; i < 256; i++) {
		every[i] = (uint8_t)i;
		check_input(&every[i], 1, NULL);
	}
	check_input(every, sizeof(every), NULL);
}

static void
test_refused(void **state)
{
	static const char *const lines[] = {"\\", "a\\", "\\q", "\\0", "\\x",
	    "\\x1", "\\x1g", "\\xg1", "\\xFF", "\\x41", "\\x0a", "\t", "\r",
	    "a ", "\x7f", "\xc3\xa9"};
	size_t i, n;

	(void)state;
	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		if (corpus_input(lines[i], &n) != NULL)
			fail_msg("taken: \"%s\"", lines[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_written_and_read),
	    cmocka_unit_test(test_refused),
	};

	return (cmocka_run_group_tests_name("fuzz_corpus", tests, NULL, NULL));
}
