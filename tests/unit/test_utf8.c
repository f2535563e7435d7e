/* SPDX-License-Identifier: MIT */
/*
 * UTF-8: every code point, every short sequence compared with a plain decoder,
 * every alignment of the fast path, and the offset of the first bad byte.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/utf8.h"

/* Encodes ${cp}, even if it is not a valid code point. */
static size_t
encode(uint32_t cp, unsigned char *out)
{

	if (cp < 0x80) {
		out[0] = (unsigned char)cp;
		return (1);
	}
	if (cp < 0x800) {
		out[0] = (unsigned char)(0xc0 | cp >> 6);
		out[1] = (unsigned char)(0x80 | (cp & 0x3f));
		return (2);
	}
	if (cp < 0x10000) {
		out[0] = (unsigned char)(0xe0 | cp >> 12);
		out[1] = (unsigned char)(0x80 | (cp >> 6 & 0x3f));
		out[2] = (unsigned char)(0x80 | (cp & 0x3f));
		return (3);
	}
	out[0] = (unsigned char)(0xf0 | cp >> 18);
	out[1] = (unsigned char)(0x80 | (cp >> 12 & 0x3f));
	out[2] = (unsigned char)(0x80 | (cp >> 6 & 0x3f));
	out[3] = (unsigned char)(0x80 | (cp & 0x3f));
	return (4);
}

static void
test_every_code_point(void **state)
{
	unsigned char b[4];
	uint32_t cp;
	uint32_t got;
	size_t n;
	bool want;

	(void)state;
	for (cp = 0; cp < 0x1fffff; cp++) {
		n = encode(cp, b);
		got = UINT32_MAX;
		want = cp <= 0x10ffff && (cp < 0xd800 || cp > 0xdfff);
		if (utf8_valid((char *)b, n, NULL) != want ||
		    utf8_decode((char *)b, n, &got) != (want ? n : 0) ||
		    got != (want ? cp : UINT32_MAX) ||
		    (n > 1 && utf8_decode((char *)b, n - 1, &got) != 0))
			fail_msg("U+%04X", cp);
	}
}

/* Unicode 15 has 170 characters of category Cf, one line separator and one
 * paragraph separator. */
static void
test_formats(void **state)
{
	static const uint32_t formats[] = {0xad, 0x61c, 0x200b, 0x200d, 0x200f,
	    0x2028, 0x2029, 0x202a, 0x202e, 0x2066, 0x206f, 0xfeff, 0xe0001,
	    0xe0020, 0xe007f};
	static const uint32_t others[] = {' ', 0xac, 0xae, 0x200a, 0x2010,
	    0x2027, 0x202f, 0x2065, 0x2070, 0xe0000, 0xe0080, 0x1f98a};
	uint32_t cp;
	size_t i;
	int n = 0;

	(void)state;
	for (i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		assert_true(utf8_is_format(formats[i]));
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_false(utf8_is_format(others[i]));
	for (cp = 0; cp <= 0x10ffff; cp++)
		n += utf8_is_format(cp);
	assert_int_equal(n, 172);
}

/* Each code point between other characters, and bytes that are not UTF-8. */
static void
test_lines(void **state)
{
	unsigned char b[6] = "a";
	size_t bad, n;
	uint32_t cp;
	bool want;

	(void)state;
	for (cp = 0; cp <= 0x10ffff; cp++) {
		n = 1 + encode(cp, b + 1);
		b[n++] = 'z';
		want = utf8_valid((char *)b, n, NULL) && cp > 0x1f &&
		       (cp < 0x7f || cp > 0x9f) && cp != 0x2028 &&
		       cp != 0x2029 && (cp < 0x202a || cp > 0x202e) &&
		       (cp < 0x2066 || cp > 0x2069);
		bad = 7;
		if (utf8_line_valid((char *)b, n, &bad) != want ||
		    bad != (want ? 7 : 1))
			fail_msg("U+%04X", cp);
	}
	assert_true(utf8_line_valid("", 0, &bad));
	assert_false(utf8_line_valid("ab\xc3", 3, &bad));
	assert_int_equal(bad, 2);
}

/* A cut text ends with a whole character, the longest that fits. */
static void
test_cut(void **state)
{
	static const struct {
		const char *text;
		size_t max, cut;
	} table[] = {{"", 4, 0}, {"abcd", 4, 4}, {"abcde", 4, 4},
	    {"abcd", 0, 0}, {"abc\xc3\xa9", 4, 3}, {"ab\xc3\xa9z", 4, 4},
	    {"a\xf0\x9f\xa6\x8az", 4, 1}, {"\xf0\x9f\xa6\x8az", 4, 4},
	    {"\xf0\x9f\xa6\x8a", 3, 0}, {"a\xe2\x82\xac\xe2\x82\xac", 6, 4}};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		assert_int_equal(utf8_cut(table[i].text, strlen(table[i].text),
				     table[i].max),
		    table[i].cut);
}

/* Returns whether the ${n} (1 to 3) bytes are valid, by a table of all
 * encodings. */
static bool
is_encoding(const unsigned char *s, size_t n, const unsigned char *known)
{
	uint32_t key = 0;
	size_t i;

	for (i = 0; i < n; i++)
		key = key << 8 | s[i];
	return ((known[key >> 3] >> (key & 7) & 1) != 0);
}

/* All sequences of three bytes (of those that begin with ASCII, the first and
 * the last 65,536), split into characters by a table of all encodings. */
static void
test_every_three_bytes(void **state)
{
	/* known[n] has a bit for each sequence of n bytes. */
	static unsigned char known[4][1 << 21];
	unsigned char b[4], s[3];
	uint32_t cp, i, key;
	size_t n, at, len, bad;
	bool want;

	(void)state;
	for (cp = 0; cp < 0x10000; cp++) {
		if (cp >= 0xd800 && cp <= 0xdfff)
			continue;
		n = encode(cp, b);
		assert_in_range(n, 1, 3);
		for (key = 0, i = 0; i < n; i++)
			key = key << 8 | b[i];
		known[n][key >> 3] |= (unsigned char)(1 << (key & 7));
	}
	for (i = 0; i < 1 << 24; i++) {
		if (i ==
		    0x010000) /* after ASCII, only the next two bytes matter */
			i = 0x7f0000;
		s[0] = (unsigned char)(i >> 16);
		s[1] = (unsigned char)(i >> 8);
		s[2] = (unsigned char)i;
		for (at = 0; at < 3; at += len) {
			for (len = 1; len <= 3 - at; len++)
				if (is_encoding(s + at, len, known[len]))
					break;
			if (len > 3 - at)
				break;
		}
		want = at == 3;
		bad = 99;
		if (utf8_valid((char *)s, 3, &bad) != want ||
		    bad != (want ? 99 : at))
			fail_msg("%02x %02x %02x", s[0], s[1], s[2]);
	}
}

/* Bad bytes at each place of a text in memory of exactly its size. */
static void
test_every_alignment(void **state)
{
	size_t n, at, bad;
	char *s;

	(void)state;
	for (n = 0; n < 40; n++) {
		s = malloc(n > 0 ? n : 1);
		memset(s, 'a', n);
		assert_true(utf8_valid(s, n, NULL));
		for (at = 0; at < n; at++) {
			s[at] = (char)0xff;
			bad = 99;
			assert_false(utf8_valid(s, n, &bad));
			assert_int_equal(bad, at);
			assert_true(utf8_valid(s, at, NULL));
			s[at] = (char)0xc3;
			assert_false(utf8_valid(s, n, &bad));
			assert_int_equal(bad, at);
			if (at + 1 < n) {
				s[at + 1] = (char)0xa4;
				assert_true(utf8_valid(s, n, NULL));
				assert_false(utf8_valid(s, at + 1, &bad));
				assert_int_equal(bad, at);
				s[at + 1] = 'a';
			}
			s[at] = 'a';
		}
		free(s);
	}
}

static void
test_samples(void **state)
{
	static const struct {
		const char *text;
		size_t len;
		bool want;
		size_t bad;
	} rows[] = {
	    {"", 0, true, 0},
	    {"a\0b", 3, true, 0},
	    {"Gr\xc3\xbc\xc3\x9f"
	     "e",
		8, true, 0},
	    {"\xf0\x9f\x98\x80\xe4\xb8\xad", 7, true, 0},
	    {"abc\xf0\x9f\x98", 6, false, 3},
	    {"\xe4\xb8\xad\xe4\xb8", 5, false, 3},
	    {"\x80", 1, false, 0},
	    {"\xc0\xaf", 2, false, 0},
	    {"x\xed\xa0\x80", 4, false, 1},
	    {"\xf4\x90\x80\x80", 4, false, 0},
	    {"\xf0\x80\x80\x80", 4, false, 0},
	    {"\xf0\x9f\x98\x28", 4, false, 0},
	};
	size_t i, bad;

	(void)state;
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		bad = 0;
		assert_int_equal(
		    utf8_valid(rows[i].text, rows[i].len, &bad), rows[i].want);
		assert_int_equal(bad, rows[i].bad);
	}
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_every_code_point),
	    cmocka_unit_test(test_formats),
	    cmocka_unit_test(test_lines),
	    cmocka_unit_test(test_cut),
	    cmocka_unit_test(test_every_three_bytes),
	    cmocka_unit_test(test_every_alignment),
	    cmocka_unit_test(test_samples),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
