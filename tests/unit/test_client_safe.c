/* SPDX-License-Identifier: MIT */
/*
 * Terminal safety: texts of others cannot reach the terminal as control
 * characters, change the direction of writing, or look like a line of their
 * own.
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
    {"\xc0\x80", 2, "\\xc0\\x80"},          /* not in its shortest form */
    {"\xed\xa0\x80", 3, "\\xed\\xa0\\x80"}, /* a surrogate */
    {"\xe2\x82", 2, "\\xe2\\x82"},          /* cut off */
    {"\xf4\x90\x80\x80", 4, "\\xf4\\x90\\x80\\x80"},
    {"a\xe2\x80\x8d"
     "b",
	5,
	"a\xe2\x80\x8d"
	"b"}, /* a joiner, which emoji need */
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

/* No byte below a space and no DEL comes out, whatever the input is. */
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

/* JSON keeps its meaning and its white space; characters that a terminal would
 * obey are escaped.  ESC is not valid in JSON, and is escaped as well. */
static const struct {
	const char *text;
	const char *json;
} documents[] = {
    {"{\"a\":\"gr\xc3\xbc\xc3\x9f \xf0\x9f\xa6\x8a\"}\r\n\t",
	"{\"a\":\"gr\xc3\xbc\xc3\x9f \xf0\x9f\xa6\x8a\"}\r\n\t"},
    {"\"\\u001b[31m\\\\\"", "\"\\u001b[31m\\\\\""},
    {"\"\x7f\xc2\x80\xc2\x9b\xc2\x9f\xc2\xa0\"",
	"\"\\u007F\\u0080\\u009B\\u009F\xc2\xa0\""},
    {"\"\xd8\x9c\xe2\x80\x8e\xe2\x80\xae\xe2\x81\xa6\xe2\x80\xa8\"",
	"\"\\u061C\\u200E\\u202E\\u2066\\u2028\""},
    {"\"\xef\xbb\xbf\xef\xbf\xb9\xe2\x80\xaf\"",
	"\"\\uFEFF\\uFFF9\xe2\x80\xaf\""},
    {"\"\xf3\xa0\x80\x80\xf3\xa0\x81\xbf\"",
	"\"\\uDB40\\uDC00\\uDB40\\uDC7F\""},
    {"\"a\xe2\x80\x8d"
     "b\"",
	"\"a\xe2\x80\x8d"
	"b\""}, /* a joiner, which emoji need */
    {"\033\x9b\xed\xa0\x80", "\\u001B\\uFFFD\\uFFFD\\uFFFD\\uFFFD"},
};

static void
test_json(void **state)
{
	struct buf b = BUF_INIT;
	size_t i, n, cut, done;

	(void)state;
	for (i = 0; i < sizeof(documents) / sizeof(documents[0]); i++) {
		n = strlen(documents[i].text);
		/* The result is the same in two pieces, wherever they are
		 * cut. */
		for (cut = 0; cut <= n; cut++) {
			done = safe_json_add(&b, documents[i].text, cut);
			assert_in_range(cut - done, 0, 3);
			assert_int_equal(
			    safe_json_add(
				&b, documents[i].text + done, n - done),
			    n - done);
			buf_addc(&b, '\0');
			assert_string_equal(b.data, documents[i].json);
			buf_reset(&b);
		}
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
	/* A result never ends in the middle of a character or of an escape. */
	safe_line(text, strlen(text), small, sizeof(small));
	assert_string_equal(small, "ab");
	safe_line("\033[m", 3, small, sizeof(small));
	assert_string_equal(small, "");
}

/* The first and the last character of each length, and their neighbours. */
static void
test_limits_of_utf8(void **state)
{
	static const struct {
		const char *text;
		const char *shown; /* NULL: as it is */
	} table[] = {
	    {"\xc1\xbf", "\\xc1\\xbf"},
	    {"\xc2\xa0", NULL},
	    {"\xdf\xbf", NULL},
	    {"\xe0\x9f\xbf", "\\xe0\\x9f\\xbf"},
	    {"\xe0\xa0\x80", NULL},
	    {"\xed\x9f\xbf", NULL},
	    {"\xed\xa0\x80", "\\xed\\xa0\\x80"},
	    {"\xed\xbf\xbf", "\\xed\\xbf\\xbf"},
	    {"\xee\x80\x80", NULL},
	    {"\xef\xbf\xbf", NULL},
	    {"\xf0\x8f\xbf\xbf", "\\xf0\\x8f\\xbf\\xbf"},
	    {"\xf0\x90\x80\x80", NULL},
	    {"\xf4\x8f\xbf\xbf", NULL},
	    {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
	    {"\xf5\x80\x80\x80", "\\xf5\\x80\\x80\\x80"},
	    {"\xc3(", "\\xc3("},
	    {"\xe2\x82(", "\\xe2\\x82("},
	};
	struct buf b = BUF_INIT;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		safe_add(&b, table[i].text, strlen(table[i].text));
		buf_addc(&b, '\0');
		assert_string_equal(b.data,
		    table[i].shown != NULL ? table[i].shown : table[i].text);
		buf_reset(&b);
	}
	buf_fini(&b);
}

/* Writes ${c} in UTF-8 into ${ret}. */
static void
encode(uint32_t c, char ret[5])
{
	size_t n = 0;

	if (c < 0x80)
		ret[n++] = (char)c;
	else if (c < 0x800)
		ret[n++] = (char)(0xc0 | c >> 6);
	else if (c < 0x10000)
		ret[n++] = (char)(0xe0 | c >> 12);
	else {
		ret[n++] = (char)(0xf0 | c >> 18);
		ret[n++] = (char)(0x80 | (c >> 12 & 0x3f));
	}
	if (c >= 0x800)
		ret[n++] = (char)(0x80 | (c >> 6 & 0x3f));
	if (c >= 0x80)
		ret[n++] = (char)(0x80 | (c & 0x3f));
	ret[n] = '\0';
}

/* The ranges of characters that become escapes, and their neighbours, which do
 * not. */
static void
test_limits_of_escapes(void **state)
{
	static const struct {
		uint32_t first, last;
		const char *first_shown, *last_shown;
	} table[] = {
	    {0x01, 0x1f, "\\x01", "\\x1f"},
	    {0x7f, 0x9f, "\\x7f", "\\x9f"},
	    {0x061c, 0x061c, "\\u061c", "\\u061c"},
	    {0x200e, 0x200f, "\\u200e", "\\u200f"},
	    {0x2028, 0x202e, "\\u2028", "\\u202e"},
	    {0x2066, 0x206f, "\\u2066", "\\u206f"},
	    {0xfeff, 0xfeff, "\\ufeff", "\\ufeff"},
	    {0xfff9, 0xfffb, "\\ufff9", "\\ufffb"},
	    {0xe0000, 0xe007f, "\\U000e0000", "\\U000e007f"},
	};
	char text[5], shown[32];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		encode(table[i].first, text);
		safe_line(text, strlen(text), shown, sizeof(shown));
		assert_string_equal(shown, table[i].first_shown);
		encode(table[i].last, text);
		safe_line(text, strlen(text), shown, sizeof(shown));
		assert_string_equal(shown, table[i].last_shown);
		encode(table[i].last + 1, text);
		safe_line(text, strlen(text), shown, sizeof(shown));
		assert_string_equal(shown, text);
		encode(table[i].first - 1, text);
		safe_line(text, strlen(text), shown, sizeof(shown));
		if (i > 0)
			assert_string_equal(shown, text);
	}
}

/* A buffer with room for the whole text, and one that is a byte too small. */
static void
test_limits_of_room(void **state)
{
	struct buf b = BUF_INIT;
	char line[8];

	(void)state;
	safe_line("ab\n", 3, line, 5);
	assert_string_equal(line, "ab\\n");
	memset(line, 'x', sizeof(line));
	safe_line("ab\n", 3, line, 4);
	assert_string_equal(line, "ab");
	safe_line("ab", 2, line, 1);
	assert_string_equal(line, "");
	assert_int_equal(safe_width("a\xff\xc3\xbc", 4), 3);
	assert_int_equal(safe_cut("a\xff\xc3\xbc", 4, 2), 2);
	assert_int_equal(safe_cut("", 0, 5), 0);
	assert_int_equal(safe_cut("abc", 3, 0), 0);
	/* A line end of two bytes at the end of the text, and half of one. */
	safe_add_lines(&b, "a\r\n", 3, 2);
	safe_add_lines(&b, "b\r\n", 2, 2);
	buf_addc(&b, '\0');
	assert_string_equal(b.data, "a\n  b\\x0d");
	buf_fini(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_lines),
	    cmocka_unit_test(test_every_character),
	    cmocka_unit_test(test_lines_are_indented),
	    cmocka_unit_test(test_cut),
	    cmocka_unit_test(test_json),
	    cmocka_unit_test(test_limits_of_utf8),
	    cmocka_unit_test(test_limits_of_escapes),
	    cmocka_unit_test(test_limits_of_room),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
