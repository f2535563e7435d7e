/* SPDX-License-Identifier: MIT */
/*
 * What waits, as the tally counts it: an abandoned transaction is taken back
 * without reading anything; only where that cannot be done all is counted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "contract/rig.h"
#include "domain/tally.h"
#include "model/event.h"
#include "model/outbox.h"

static const struct tally_key ann = {1, 7}, bob = {2, 7};

struct bench {
	struct rig rig;
	struct tally *tally;
	struct tx tx;
	struct err err;
};

static void
open_bench(struct bench *b)
{

	memset(b, 0, sizeof(*b));
	rig_open(&b->rig);
	b->tally = tally_new();
	assert_non_null(b->tally);
	b->tx.db = b->rig.db;
	assert_int_equal(db_begin(b->rig.db, &b->err), RC_OK);
}

static void
close_bench(struct bench *b)
{

	db_rollback(b->rig.db);
	tally_free(b->tally);
	rig_close(&b->rig);
}

/* Begins a transaction; whether it had to read. */
static bool
begins_reading(struct bench *b)
{
	uint64_t before = db_statements(b->rig.db);

	assert_int_equal(tally_begin(b->tally, &b->tx, &b->err), RC_OK);
	return (db_statements(b->rig.db) != before);
}

static void
waits(struct bench *b, const struct tally_key *key, int64_t n)
{

	assert_int_equal(tally_wait(b->tally, key, n, &b->err), RC_OK);
}

static void
check(const struct bench *b, int64_t anns, int64_t bobs)
{

	assert_int_equal(tally_of_sender(b->tally, 1), anns);
	assert_int_equal(tally_of_sender(b->tally, 2), bobs);
	assert_int_equal(tally_of_destination(b->tally, 7), anns + bobs);
	assert_int_equal(tally_waiting(b->tally), anns + bobs);
}

static void
test_taken_back(void **state)
{
	struct bench b;

	(void)state;
	open_bench(&b);
	assert_true(begins_reading(&b));
	waits(&b, &ann, 5);
	assert_false(begins_reading(&b)); /* the one before was committed */
	waits(&b, &bob, 3);
	waits(&b, &bob, 1);
	waits(&b, &ann, -2);
	check(&b, 3, 4);
	tally_abort(b.tally);
	check(&b, 5, 0);
	assert_false(begins_reading(&b));
	check(&b, 5, 0);
	close_bench(&b);
}

/* Nothing is in the database: what is counted anew is nothing. */
static void
test_counted_anew(void **state)
{
	struct bench b;

	(void)state;
	open_bench(&b);
	assert_true(begins_reading(&b));
	waits(&b, &ann, 5);
	/* The commit failed. */
	assert_int_equal(tally_flush(b.tally, &b.tx, &b.err), RC_OK);
	tally_abort(b.tally);
	assert_true(begins_reading(&b));
	check(&b, 0, 0);

	/* More changes than are noted. */
	for (int i = 0; i < 5000; i++)
		waits(&b, i % 2 == 0 ? &ann : &bob, 1);
	tally_abort(b.tally);
	assert_true(begins_reading(&b));
	check(&b, 0, 0);
	close_bench(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_taken_back),
	    cmocka_unit_test(test_counted_anew),
	};

	return (cmocka_run_group_tests_name("tally", tests, NULL, NULL));
}
