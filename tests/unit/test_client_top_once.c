/* SPDX-License-Identifier: MIT */
/*
 * One picture of the operator's live view as text, the output for programs, and
 * the arguments that are allowed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "unit/cli_fixture.h"

#define STATS "{'at':'2026-11-21T12:00:00.000Z','totals':{'accepted':5}}"

/* Adds the answers for one update of a page that needs a list. */
static void
look(struct stage *s, const char *list)
{

	stage_answer(s, 200, STATS);
	stage_answer(s, 200, list);
}

static void
test_once(void **state)
{
	static const char *const lanes[] = {
	    "{'lanes':[{'lane_id':1,'pending':0}]}",
	    "{'lanes':[{'lane_id':2,'pending':0},{'lane_id':3,'pending':1}]}",
	    "{'lanes':[{'lane_id':4,'pending':0},{'lane_id':5,'pending':1},"
	    "{'lane_id':6}]}"};
	struct stage *s = *state;
	int i;

	stage_answer(s, 200, STATS);
	for (i = 0; i < 3; i++)
		stage_answer(s, 200, lanes[i]);
	assert_string_equal(
	    stage_run(s, "admin", "top", "--once", "--view", "lanes", NULL),
	    "> GET /v1/admin/stats timeout=10000 patience=0\n"
	    "> GET /v1/admin/lanes?state=leased&limit=200 timeout=10000 "
	    "patience=0\n"
	    "> GET /v1/admin/lanes?state=ready&limit=200 timeout=10000 "
	    "patience=0\n"
	    "> GET /v1/admin/lanes?state=local&limit=200 timeout=10000 "
	    "patience=0\n"
	    "twinbox top  http://home                                          "
	    "      12:00:00\n"
	    "\n"
	    "LANE  TO  CLASS  STATE  PENDING  NEXT  SENT  TAIL  DUE\n"
	    "   1  -   -      -            0     -     -     -  -\n"
	    "   2  -   -      -            0     -     -     -  -\n"
	    "   3  -   -      -            1     -     -     -  -\n"
	    "   5  -   -      -            1     -     -     -  -\n"
	    "= 0\n");
	stage_answer(s, 200, STATS);
	for (i = 0; i < 3; i++)
		stage_answer(s, 200, lanes[i]);
	assert_string_equal(stage_run(s, "admin", "top", "--once", "--json",
				"--view", "lanes", NULL),
	    "> GET /v1/admin/stats timeout=10000 patience=0\n"
	    "> GET /v1/admin/lanes?state=leased&limit=200 timeout=10000 "
	    "patience=0\n"
	    "> GET /v1/admin/lanes?state=ready&limit=200 timeout=10000 "
	    "patience=0\n"
	    "> GET /v1/admin/lanes?state=local&limit=200 timeout=10000 "
	    "patience=0\n"
	    "{\"stats\":{\"at\":\"2026-11-21T12:00:00.000Z\",\"totals\":{\"acce"
	    "pted\":5}},\"lanes\":[{\"lane_id\":1,\"pending\":0},{\"lane_id\":2"
	    ",\"pending\":0},{\"lane_id\":3,\"pending\":1},{\"lane_id\":5,\"pen"
	    "ding\":1}]}\n"
	    "= 0\n");
	stage_answer(s, 200, STATS);
	stage_answer(s, 200, lanes[0]);
	stage_answer(s, 503, "{'status':503,'code':'busy'}");
	assert_string_equal(
	    stage_run(s, "admin", "top", "--once", "--view", "lanes", NULL),
	    "> GET /v1/admin/stats timeout=10000 patience=0\n"
	    "> GET /v1/admin/lanes?state=leased&limit=200 timeout=10000 "
	    "patience=0\n"
	    "> GET /v1/admin/lanes?state=ready&limit=200 timeout=10000 "
	    "patience=0\n"
	    "= 75 The server is busy; repeat in a moment\n");
}

static void
test_for_programs(void **state)
{
	struct stage *s = *state;

	look(s, "{'destinations':[{'name':'a'}],'next':null}");
	assert_string_equal(
	    stage_run(s, "admin", "top", "--once", "--json", NULL),
	    "> GET /v1/admin/stats timeout=10000 patience=0\n"
	    "> GET /v1/admin/destinations?limit=200 timeout=10000 patience=0\n"
	    "{\"stats\":{\"at\":\"2026-11-21T12:00:00.000Z\",\"totals\":{\"acce"
	    "pted\":5}},\"destinations\":[{\"name\":\"a\"}],\"next\":null}\n"
	    "= 0\n");
	look(s, "{'dead_letters':[],'next':7}");
	assert_string_equal(stage_run(s, "admin", "top", "--once", "--json",
				"--view", "dead", NULL),
	    "> GET /v1/admin/stats timeout=10000 patience=0\n"
	    "> GET /v1/admin/dead-letters?limit=200 timeout=10000 patience=0\n"
	    "{\"stats\":{\"at\":\"2026-11-21T12:00:00.000Z\",\"totals\":{\"acce"
	    "pted\":5}},\"dead_letters\":[],\"next\":7}\n"
	    "= 0\n");
	look(s, "{'destinations':[],'next':null}");
	look(s, "{'destinations':[],'next':null}");
	assert_string_equal(
	    stage_run(s, "admin", "top", "--once", "--json", "--view",
		"destinations", "--interval", "3s", NULL),
	    "> GET /v1/admin/stats timeout=10000 patience=0\n"
	    "> GET /v1/admin/destinations?limit=200 timeout=10000 patience=0\n"
	    "> sleep 3000\n"
	    "> GET /v1/admin/stats timeout=10000 patience=0\n"
	    "> GET /v1/admin/destinations?limit=200 timeout=10000 patience=0\n"
	    "{\"stats\":{\"at\":\"2026-11-21T12:00:00.000Z\",\"totals\":{\"acce"
	    "pted\":5}},\"destinations\":[],\"next\":null}\n"
	    "= 0\n");
}

/* Without a time in the statistics, rates use the clock of the header. */
static void
test_rate(void **state)
{
	struct stage *s = *state;

	stage_answer(s, 200, "{'totals':{'accepted':5}}")->date_ms =
	    STAGE_NOW_MS;
	stage_answer(s, 200, "{}");
	stage_answer(s, 200, "{'totals':{'accepted':35}}")->date_ms =
	    STAGE_NOW_MS + 3000;
	stage_answer(s, 200, "{}");
	(void)stage_run(s, "admin", "top", "--once", "--interval", "3s", NULL);
	assert_non_null(
	    strstr(s->text, "  accepted       10      10      35\n"));
}

static void
test_arguments(void **state)
{
	static const char *const bad[] = {"0s", "86401s", "x"};
	struct stage *s = *state;
	size_t i;

	for (i = 0; i < 3; i++) {
		(void)stage_run(
		    s, "admin", "top", "--once", "--interval", bad[i], NULL);
		assert_string_equal(s->text,
		    i < 2
			? "= 64 --interval is from 1s to 1d; see twinbox "
			  "admin top --help\n"
			: "= 64 --interval takes a time such as 30s, 5m, 2h or 3d, not "
			  "\"x\"; see twinbox admin top --help\n");
	}
	assert_string_equal(
	    stage_run(s, "admin", "top", "--once", "--view", "x", NULL),
	    "= 64 --view takes overview, destinations, dead or lanes; see "
	    "twinbox admin top --help\n");
	assert_string_equal(stage_run(s, "admin", "top", "--json", NULL),
	    "= 64 top --json goes with --once only; add --once\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		test_once, stage_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_for_programs, stage_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_rate, stage_set_up, stage_tear_down),
	    cmocka_unit_test_setup_teardown(
		test_arguments, stage_set_up, stage_tear_down),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
