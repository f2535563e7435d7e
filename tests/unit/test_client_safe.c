/* SPDX-License-Identifier: MIT */
/*
 * Terminal safety: what others write cannot reach the terminal as a control,
 * turn the direction of writing, or pass for a line of its own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/safe.h"

static const struct {
	const char *text;
	size_t n;
	const char *shown;
} lines[] = {
    {"hello", 5, "hello"},
    {"gr\xc3\xbc\xc3\x9f \xf0\x9f\xa6\x8a", 11,
	"gr\xc3\xbc\xc3\x9f \xf0\x9f\xa6\x8a"},
    {"\033[31mred", 8, "\\x1b[31mred"},
    {"\033]0;title\007", 10, "\\x1b]0;title\\x07"},
    {"a\nb\rc\td\0e", 9, "a\\nb\\x0dc\\td\\x00e"}, {"\x7f", 1, "\\x7f"},
    {"\xc2\x9b"
     "31m",
	5, "\\x9b31m"}, /* CSI in one character */
    {"\x9b", 1, "\\x9b"},
    {"\xe2\x80\xae"
     "evil",
	7, "\\u202eevil"},
    {"\xe2\x81\xa6x\xe2\x81\xa9", 7, "\\u2066x\\u2069"},
    {"\xe2\x80\x8f", 3, "\\u200f"}, {"\xe2\x80\xa8", 3, "\\u2028"},
    {"\xef\xbb\xbf", 3, "\\ufeff"}, {"\xf3\xa0\x80\x81", 4, "\\U000e0001"},
    {"\xff\xfe", 2, "\\xff\\xfe"},
    {"\xc0\x80", 2, "\\xc0\\x80"},          /* not the shortest form */
    {"\xed\xa0\x80", 3, "\\xed\\xa0\\x80"}, /* a surrogate */
    {"\xe2\x82", 2, "\\xe2\\x82"},          /* cut */
    {"\xf4\x90\x80\x80", 4, "\\xf4\\x90\\x80\\x80"},
    {"a\xe2\x80\x8d"
     "b",
	5,
	"a\xe2\x80\x8d"
	"b"}, /* a joiner, as emoji need it */
};

static void
test_lines(void **state)
{
	struct buf b = BUF_INIT;
	char line[64];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		safe_add(&b, lines[i].text, lines[i].n);
		buf_addc(&b, '\0');
		assert_string_equal(b.data, lines[i].shown);
		buf_reset(&b);
		safe_line(lines[i].text, lines[i].n, line, sizeof(line));
		assert_string_equal(line, lines[i].shown);
	}
	buf_fini(&b);
}

/* No byte below a space and no DEL ever comes out, whatever goes in. */
static void
test_every_character(void **state)
{
	struct buf b = BUF_INIT;
	uint32_t c;
	size_t i, n;
	char utf8[4];

	(void)state;
	for (c = 0; c < 0x3000; c++) {
		n = 0;
		if (c < 0x80)
			utf8[n++] = (char)c;
		else if (c < 0x800) {
			utf8[n++] = (char)(0xc0 | c >> 6);
			utf8[n++] = (char)(0x80 | (c & 0x3f));
		} else {
			utf8[n++] = (char)(0xe0 | c >> 12);
			utf8[n++] = (char)(0x80 | (c >> 6 & 0x3f));
			utf8[n++] = (char)(0x80 | (c & 0x3f));
		}
		safe_add(&b, utf8, n);
		for (i = 0; i < b.len; i++) {
			assert_true((unsigned char)b.data[i] >= 0x20);
			assert_true(b.data[i] != 0x7f);
		}
		/* C1 controls have two bytes in UTF-8. */
		if (c >= 0x80 && c < 0xa0)
			assert_int_equal(b.data[0], '\\');
		buf_reset(&b);
	}
	buf_fini(&b);
}

static void
test_lines_are_indented(void **state)
{
	struct buf b = BUF_INIT;
	const char *text = "one\n#9 alice  forged\r\ntwo\tx\rz";

	(void)state;
	safe_add_lines(&b, text, strlen(text), 4);
	buf_addc(&b, '\0');
	assert_string_equal(
	    b.data, "one\n    #9 alice  forged\n    two    x\\x0dz");
	buf_fini(&b);
}

static void
test_cut(void **state)
{
	const char *text = "ab\xc3\xbc"
			   "cd";
	char small[4];

	(void)state;
	assert_int_equal(safe_width(text, strlen(text)), 5);
	assert_int_equal(safe_cut(text, strlen(text), 3), 4);
	assert_int_equal(safe_cut(text, strlen(text), 2), 2);
	assert_int_equal(safe_cut(text, strlen(text), 9), 6);
	/* Never half a character, never half an escape. */
	safe_line(text, strlen(text), small, sizeof(small));
	assert_string_equal(small, "ab");
	safe_line("\033[m", 3, small, sizeof(small));
	assert_string_equal(small, "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_lines),
	    cmocka_unit_test(test_every_character),
	    cmocka_unit_test(test_lines_are_indented),
	    cmocka_unit_test(test_cut),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
