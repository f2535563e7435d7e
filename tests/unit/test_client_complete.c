/* SPDX-License-Identifier: MIT */
/*
 * complete: the words that the completions of shells offer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <limits.h>
#include <sys/stat.h>
#include <sysexits.h>

#include "unit/cli_stage.h"

/* Offers the people that were written to or heard of, without the user.  Names
 * that a shell would expand are left out.  There is no request to a server. */
static void
test_complete(void **state)
{
	struct stage *s = *state;
	char path[PATH_MAX];
	FILE *f;

	SHOWS(s, "", "", "", "complete", "names");
	played_say(s->played, 200,
	    "{'epoch': 'E', 'events': ["
	    "{'seq': 1, 'event_id': 'a', 'from': 'bob', 'to': 'ann'},"
	    "{'seq': 2, 'event_id': 'b', 'from': '$(id)', 'to': 'ann'},"
	    "{'seq': 3, 'event_id': 'c', 'from': '-x', 'to': 'e@far.example'},"
	    "{'seq': 4, 'event_id': 'd', 'from': '', 'to': 'a b'}]}");
	assert_int_equal(RUN(s, "inbox"), RC_OK);
	(void)played_asked(s->played);
	SHOWS(s, "", "bob\ne@far.example\n", "", "complete", "names");
	s->profile.token[0] = '\0';
	SHOWS(s, "", "", "", "complete", "names");
	REFUSES(s, "", EX_USAGE,
	    "complete takes \"names\" or \"profiles\"; see twinbox --help",
	    "complete", "people");
	SHOWS(s, "", "", "", "complete", "profiles");
	(void)snprintf(path, sizeof(path), "%s", stage_path(s, "twinbox"));
	(void)mkdir(path, 0700);
	(void)snprintf(
	    path, sizeof(path), "%s", stage_path(s, "twinbox/work.json"));
	f = fopen(path, "w");
	assert_non_null(f);
	(void)fclose(f);
	(void)snprintf(
	    path, sizeof(path), "%s", stage_path(s, "twinbox/$(id).json"));
	f = fopen(path, "w");
	assert_non_null(f);
	(void)fclose(f);
	SHOWS(s, "", "work\n", "", "complete", "profiles");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		test_complete, stage_set_up, stage_tear_down),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
