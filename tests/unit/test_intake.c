/* SPDX-License-Identifier: MIT */
/*
 * What waits for the writer.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "store/intake.h"

static const struct unit_kind delivery = {
    "delivery", UNIT_DELIVERY, 1, NULL, NULL};
static const struct unit_kind client = {"client", UNIT_CLIENT, 2, NULL, NULL};
static const struct unit_kind upkeep = {"upkeep", UNIT_UPKEEP, 3, NULL, NULL};

#define UNITS 600

struct bench {
	struct intake in;
	struct unit units[UNITS];
	struct unit *batch[BATCH_UNITS];
	size_t n;
};

static struct bench *
open_bench(size_t limit)
{
	struct bench *k = calloc(1, sizeof(*k));

	assert_non_null(k);
	intake_init(&k->in, limit);
	return (k);
}

static void
close_bench(struct bench *k)
{

	intake_fini(&k->in);
	free(k);
}

static struct unit *
unit(struct bench *k, int i, const struct unit_kind *kind)
{

	k->units[i].kind = kind;
	k->units[i].bytes = 100;
	return (&k->units[i]);
}

static void
put(struct bench *k, int i, const struct unit_kind *kind)
{

	assert_int_equal(intake_put(&k->in, unit(k, i, kind)), RC_OK);
}

static void
test_bounds(void **state)
{
	struct bench *k = open_bench(2);

	(void)state;
	put(k, 0, &client);
	put(k, 1, &client);
	assert_int_equal(intake_put(&k->in, unit(k, 2, &client)), RC_BUSY);
	/* Each queue has its own. */
	put(k, 3, &delivery);
	assert_int_equal(intake_waiting(&k->in), 3);
	intake_stop(&k->in);
	assert_int_equal(intake_put(&k->in, unit(k, 4, &upkeep)), RC_CLOSED);
	/* What is in is still taken. */
	assert_true(intake_take(&k->in, k->batch, &k->n, true));
	assert_int_equal(k->n, 3);
	assert_ptr_equal(k->batch[0], &k->units[3]);
	assert_ptr_equal(k->batch[1], &k->units[0]);
	assert_ptr_equal(k->batch[2], &k->units[1]);
	assert_false(intake_take(&k->in, k->batch, &k->n, true));
	close_bench(k);
}

/* Upkeep has a tenth of a batch, clients have theirs before the rest of the
 * deliveries, and what does not fit comes with the next one. */
static void
test_shares(void **state)
{
	struct bench *k = open_bench(UNITS);
	size_t i, counts[UNIT_QUEUES] = {0};
	int n;

	(void)state;
	for (n = 0; n < 300; n++)
		put(k, n, &delivery);
	for (; n < 500; n++)
		put(k, n, &client);
	for (; n < UNITS; n++)
		put(k, n, &upkeep);
	assert_true(intake_take(&k->in, k->batch, &k->n, false));
	assert_int_equal(k->n, BATCH_UNITS);
	for (i = 0; i < k->n; i++)
		counts[k->batch[i]->kind->queue]++;
	assert_int_equal(counts[UNIT_UPKEEP], BATCH_UNITS / 10);
	assert_int_equal(counts[UNIT_CLIENT], 200);
	assert_int_equal(intake_waiting(&k->in), (size_t)UNITS - BATCH_UNITS);
	close_bench(k);
}

static void
test_again(void **state)
{
	struct bench *k = open_bench(2);
	struct unit *done;
	size_t n;

	(void)state;
	put(k, 0, &client);
	put(k, 1, &client);
	assert_true(intake_take(&k->in, k->batch, &k->n, false));
	put(k, 2, &client);
	put(k, 3, &client);
	k->units[0].again = true;
	intake_put_again(&k->in, k->batch, k->n, &done, &n);
	assert_int_equal(n, 1);
	assert_ptr_equal(done, &k->units[1]);
	/* It is in, although there was no room. */
	assert_int_equal(intake_waiting(&k->in), 3);
	close_bench(k);
}

/* Nobody comes back: so many batches go without a wait. */
static void
test_nobody_returns(void **state)
{
	static const int skips[] = {1, 3, 7, 15, 31, 63, 63};
	struct bench *k = open_bench(UNITS);
	size_t i;
	int go;

	(void)state;
	for (i = 0; i < sizeof(skips) / sizeof(skips[0]); i++) {
		put(k, 0, &client);
		k->in.answered = 4;
		k->in.batch_us = 40;
		assert_true(intake_take(&k->in, k->batch, &k->n, true));
		assert_int_equal(k->n, 1);
		assert_int_equal(k->in.skip, skips[i]);
		for (go = 0; go < skips[i]; go++) {
			assert_int_equal(k->in.skipped, go);
			put(k, 0, &client);
			k->in.answered = 4;
			assert_true(intake_take(&k->in, k->batch, &k->n, true));
			assert_int_equal(k->n, 1);
		}
	}
	/* Nor is anybody waited for whom nobody was answered. */
	put(k, 0, &client);
	assert_true(intake_take(&k->in, k->batch, &k->n, true));
	assert_int_equal(k->in.skip, 63);
	close_bench(k);
}

struct comer {
	struct bench *k;
	const struct unit_kind *kind;
};

static void *
come(void *arg)
{
	struct comer *c = arg;

	put(c->k, 0, c->kind);
	return (NULL);
}

/* A batch that begins when a unit of ${kind} comes; how many wait for nobody
 * after it. */
static int
skip_after(const struct unit_kind *kind)
{
	struct bench *k = open_bench(UNITS);
	struct comer c = {k, kind};
	pthread_t thread;
	int skip;

	k->in.answered = 1;
	k->in.batch_us = 40;
	assert_int_equal(pthread_create(&thread, NULL, come, &c), 0);
	assert_true(intake_take(&k->in, k->batch, &k->n, true));
	assert_int_equal(k->n, 1);
	assert_int_equal(pthread_join(thread, NULL), 0);
	skip = k->in.skip;
	close_bench(k);
	return (skip);
}

/* It is clients who return; that what they sent is delivered tells nothing. */
static void
test_who_returns(void **state)
{

	(void)state;
	assert_int_equal(skip_after(&client), 0);
	assert_int_equal(skip_after(&delivery), 1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_bounds),
	    cmocka_unit_test(test_shares),
	    cmocka_unit_test(test_again),
	    cmocka_unit_test(test_nobody_returns),
	    cmocka_unit_test(test_who_returns),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
