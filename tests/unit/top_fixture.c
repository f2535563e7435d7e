/* SPDX-License-Identifier: MIT */
/*
 * See top_fixture.h.
 */
#include "unit/top_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <locale.h>
#include <time.h>

#include "base/clk.h"

int
top_set_up(void **state)
{

	(void)state;
	(void)setenv("TZ", "UTC", 1);
	tzset();
	return (setlocale(LC_CTYPE, "C.UTF-8") == NULL ? -1 : 0);
}

json_t *
top_parse(const char *text)
{
	char copy[8192];
	json_t *ret;
	char *p;

	assert_true(strlen(text) < sizeof(copy));
	(void)snprintf(copy, sizeof(copy), "%s", text);
	for (p = copy; *p != '\0'; p++)
		if (*p == '\'')
			*p = '"';
	ret = json_loads(copy, 0, NULL);
	assert_non_null(ret);
	return (ret);
}

void
top_begin(struct top_view *view)
{

	memset(view, 0, sizeof(*view));
	view->server = "http://home";
	view->interval_ms = 2000;
}

void
top_sample(struct top_view *view, int64_t at_ms, int n, int pending)
{
	char at[CLK_RFC3339_SIZE];

	clk_format_rfc3339(at_ms, at);
	top_view_stats(view,
	    json_pack("{ss s{si} s{si}}", "at", at, "totals", "accepted", n,
		"states", "pending", pending),
	    0);
}
