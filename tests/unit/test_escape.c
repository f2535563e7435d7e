/* SPDX-License-Identifier: MIT */
/*
 * Characters that a terminal would obey become escapes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/escape.h"

static void
shows(const char *s, const char *expected)
{
	char shown[256];

	assert_string_equal(escape_text(s, shown, sizeof(shown)), expected);
}

static void
test_escapes(void **state)
{

	(void)state;
	shows("", "");
	shows("event 3 of user 2", "event 3 of user 2");
	shows("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80",
	    "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80");
	shows("a\033[2Jb\r\n", "a\\u{001B}[2Jb\\u{000D}\\u{000A}");
	shows("\x7f\xc2\x9b\x31m", "\\u{007F}\\u{009B}1m");
	shows("x\xe2\x80\xaey\xe2\x81\xa6", "x\\u{202E}y\\u{2066}");
	shows("\xef\xbb\xbf\xf3\xa0\x81\x81", "\\u{FEFF}\\u{E0041}");
	shows("a\xff\xc3", "a\\xFF\\xC3");
	shows("\xe2\x82", "\\xE2\\x82");
	shows("\xc0\x80", "\\xC0\\x80");
	shows("\xed\xa0\x80", "\\xED\\xA0\\x80");
}

/* A text that is cut never ends within an escape or a character. */
static void
test_cut(void **state)
{
	static const char *const cuts[] = {"", "a", "a", "a", "a", "a\\xFF",
	    "a\\xFF", "a\\xFF\xc3\xa4", "a\\xFF\xc3\xa4"};
	char shown[16];
	size_t size;

	(void)state;
	for (size = 1; size <= 9; size++) {
		memset(shown, 'z', sizeof(shown));
		(void)escape_text("a\xff\xc3\xa4\033", shown, size);
		assert_string_equal(shown, cuts[size - 1]);
		assert_int_equal(shown[size], 'z');
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_escapes),
	    cmocka_unit_test(test_cut),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
