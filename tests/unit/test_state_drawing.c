/* SPDX-License-Identifier: MIT */
/*
 * The state machines of the server: the drawings in their headers must show
 * what their tables allow.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "model/breaker.h"
#include "model/outbox.h"
#include "push/session_state.h"
#include "relay/destination_state.h"
#include "relay/lane_state.h"
#include "rest/poll_state.h"
#include "unit/state_drawing.h"

/* ---- the comparison itself ---- */

static const char *const lamp_names[] = {"off", "on", "broken"};

static bool
lamp_allows(int from, int to)
{

	return ((from == 0 && to == 1) || (from == 1 && to != 1));
}

static void
test_differences(void **state)
{
	static const struct state_machine lamp = {
	    "lamp.h", lamp_names, 3, lamp_allows};
	static const char drawing[] = " *\toff --pressed, twice--> on\n"
				      " * on --not a drawing--> broken\n"
				      " *\ton --pressed--> off\n"
				      " *\ton --old--> broken\n"
				      " *\toff  waits for somebody\n";
	static const struct {
		const char *more; /* drawn in addition */
		int differences;
	} cases[] = {
	    {"", 0},
	    {" *\tbroken --repaired--> off\n", 1},
	    {" *\ton, off --dropped--> broken\n", 1},
	    {" *\ton, oft --dropped--> broken\n", 1},
	    {" *\ton --dropped--> brok\n", 1},
	};
	char text[512];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		(void)snprintf(
		    text, sizeof(text), "%s%s", drawing, cases[i].more);
		assert_int_equal(state_drawing_differences(&lamp, text),
		    cases[i].differences);
	}
	/* An empty drawing: each of the three moves is missing. */
	assert_int_equal(state_drawing_differences(&lamp, ""), 3);
}

/* ---- the server's machines ---- */

static bool
session_allows(int from, int to)
{

	return (session_state_allows(
	    (enum session_state)from, (enum session_state)to));
}

static void
test_session(void **state)
{
	const char *names[SESSION_STATES];
	const struct state_machine m = {"server/push/session_state.h", names,
	    SESSION_STATES, session_allows};
	int i;

	(void)state;
	for (i = 0; i < SESSION_STATES; i++)
		names[i] = session_state_name((enum session_state)i);
	assert_state_drawing(&m);
}

static void
test_outbox(void **state)
{
	const char *names[OUTBOX_STATE_COUNT];
	const struct state_machine m = {"server/model/outbox.h", names,
	    OUTBOX_STATE_COUNT, outbox_move_allowed};
	int i;

	(void)state;
	for (i = 0; i < OUTBOX_STATE_COUNT; i++)
		names[i] = outbox_state_name(i);
	assert_state_drawing(&m);
}

static bool
breaker_allows(int from, int to)
{

	return (breaker_move_allowed(
	    (enum breaker_state)from, (enum breaker_state)to));
}

static void
test_breaker(void **state)
{
	const char *names[BREAKER_STATES];
	const struct state_machine m = {
	    "server/model/breaker.h", names, BREAKER_STATES, breaker_allows};
	int i;

	(void)state;
	for (i = 0; i < BREAKER_STATES; i++)
		names[i] = breaker_state_name((enum breaker_state)i);
	assert_state_drawing(&m);
}

static bool
lane_allows(int from, int to)
{

	return (schedule_lane_allows(
	    (enum schedule_lane_state)from, (enum schedule_lane_state)to));
}

static void
test_lane(void **state)
{
	static const char *const names[SCHEDULE_LANE_STATES] = {
	    [SCHEDULE_LANE_GONE] = "GONE",
	    [SCHEDULE_LANE_READY] = "READY",
	    [SCHEDULE_LANE_BUSY] = "BUSY",
	    [SCHEDULE_LANE_WOKEN] = "WOKEN"};
	const struct state_machine m = {"server/relay/lane_state.h", names,
	    SCHEDULE_LANE_STATES, lane_allows};

	(void)state;
	assert_state_drawing(&m);
}

static bool
destination_allows(int from, int to)
{

	return (destination_state_allows(
	    (enum destination_state)from, (enum destination_state)to));
}

static void
test_destination(void **state)
{
	static const char *const names[DESTINATION_STATES] = {
	    [DESTINATION_IDLE] = "IDLE",
	    [DESTINATION_PARKED] = "PARKED",
	    [DESTINATION_RUNNABLE] = "RUNNABLE"};
	const struct state_machine m = {"server/relay/destination_state.h",
	    names, DESTINATION_STATES, destination_allows};

	(void)state;
	assert_state_drawing(&m);
}

static bool
poll_allows(int from, int to)
{

	return (poll_state_allows((enum poll_state)from, (enum poll_state)to));
}

static void
test_poll(void **state)
{
	const char *names[POLL_STATES];
	const struct state_machine m = {
	    "server/rest/poll_state.h", names, POLL_STATES, poll_allows};
	int i;

	(void)state;
	for (i = 0; i < POLL_STATES; i++)
		names[i] = poll_state_name((enum poll_state)i);
	assert_state_drawing(&m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_differences),
	    cmocka_unit_test(test_session),
	    cmocka_unit_test(test_outbox),
	    cmocka_unit_test(test_breaker),
	    cmocka_unit_test(test_lane),
	    cmocka_unit_test(test_destination),
	    cmocka_unit_test(test_poll),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
