/* SPDX-License-Identifier: MIT */
/*
 * Requests of another server where several nodes write to the database: what
 * they cost, and what they lock.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "contract/received.h"

/* Senders of a request; the rest of it is theirs in turns. */
static char froms[ENVELOPE_ITEMS][LIMIT_ADDRESS_LEN + 1];

static void
people(size_t first)
{
	size_t i;

	for (i = 0; i < ENVELOPE_ITEMS; i++)
		(void)snprintf(
		    froms[i], sizeof(froms[i]), "p%zu@" FAR, first + i);
}

/* A request of ${envelopes} messages by as many people. */
static void
fill(size_t envelopes, int64_t sequence)
{
	size_t i;

	n = 0;
	for (i = 0; i < envelopes; i++)
		(void)add_message(froms[i], i % 2 == 0 ? ANN : BEN, sequence);
}

/* The statements that the next request runs, begin to commit. */
static uint64_t
cost(void)
{
	const uint64_t before = db_statements(rig.db);

	(void)answers();
	return (db_statements(rig.db) - before);
}

/* However many envelopes a request has, it asks and writes by the same
 * statements, each of which may be a round trip. */
static void
test_cost(void **state)
{
	uint64_t one, again;

	(void)state;
	people(0);
	fill(ENVELOPE_ITEMS, 1);
	(void)answers();
	fill(1, 2);
	one = cost();
	again = cost();
	fill(ENVELOPE_ITEMS, 3);
	assert_int_equal(cost(), one);
	assert_int_equal(count("messages"), 2 * ENVELOPE_ITEMS + 1);
	assert_int_equal(cost(), again);
	assert_int_equal(count("messages"), 2 * ENVELOPE_ITEMS + 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_cost, open_rig, close_rig),
	};

	(void)setenv("TWINBOX_TEST_RIG", "postgres", 1);
	return (cmocka_run_group_tests(tests, NULL, NULL));
}
