/* SPDX-License-Identifier: MIT */
/*
 * The page: the encoding that a browser gets, and the table that make
 * generates.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "page/page_internal.h"
#include "skip.h"

static void
test_accepts(void **state)
{
	static const struct {
		const char *list;
		const char *coding;
		bool yes;
	} cases[] = {
	    {NULL, "gzip", false},
	    {"", "gzip", false},
	    {"gzip", "gzip", true},
	    {"GZip", "gzip", true},
	    {"gzip, deflate, br", "br", true},
	    {"gzip,deflate,br", "br", true},
	    {"gzip, deflate", "br", false},
	    {"gzipped", "gzip", false},
	    {"x-gzip", "gzip", false},
	    {"br;q=0", "br", false},
	    {"br;q=0.000", "br", false},
	    {"br; Q=0", "br", false},
	    {"br;q=0.001", "br", true},
	    {"br;q=1, gzip;q=0", "gzip", false},
	    {"*", "br", true},
	    {"*;q=0", "br", false},
	    {"*;q=0, br", "br", true},
	    {"br;q=0, *", "br", false},
	    {" ,, br", "br", true},
	    {"br;", "br", true},
	    {"br;q=", "br", true},
	    {";;;,;q=0", "br", false},
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (page_accepts(cases[i].list, cases[i].coding) !=
		    cases[i].yes)
			fail_msg("%s in \"%s\"", cases[i].coding,
			    cases[i].list == NULL ? "(none)" : cases[i].list);
}

/* Each file has its plain form as the last row, and every row is found by its
 * name and encoding. */
static void
test_table(void **state)
{
	const struct page_file *file, *other;
	size_t i, j, plain = 0;

	(void)state;
	assert_null(page_find("", NULL));
	assert_null(page_find("../page.list", "br"));
	for (i = 0; i < page_file_count; i++) {
		file = &page_files[i];
		assert_true(file->len > 0);
		assert_int_equal('"', file->etag[0]);
		assert_int_equal('"', file->etag[strlen(file->etag) - 1]);
		assert_ptr_equal(file, page_find(file->name, file->encoding));
		plain += file->encoding[0] == '\0';
		for (j = 0; j < i; j++) {
			other = &page_files[j];
			assert_string_not_equal(file->etag, other->etag);
		}
	}
	file = page_find("index.html", NULL);
	assert_non_null(file);
	assert_string_equal("", file->encoding);
	assert_non_null(page_find("admin.html", NULL));
	assert_true(plain >= 6 && page_file_count == 3 * plain);
	assert_string_equal(
	    "br", page_find("index.html", "gzip, br")->encoding);
	assert_string_equal("gzip", page_find("index.html", "gzip")->encoding);
}

int
main(void)
{
	struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_accepts),
	    cmocka_unit_test(test_table),
	};
	const char *strict = getenv("TWINBOX_STRICT");

	if (page_file_count == 0 &&
	    (strict == NULL || strcmp(strict, "1") != 0))
		SKIP_TEST(tests, test_table, "built without the page");

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
