/* SPDX-License-Identifier: MIT */
/*
 * The queues of units that wait for the writer.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/intake.h"
#include "unit/sleeps.h"

static const struct unit_kind delivery = {
    .name = "delivery", .queue = UNIT_DELIVERY, .order = 1};
static const struct unit_kind client = {
    .name = "client", .queue = UNIT_CLIENT, .order = 2};
static const struct unit_kind upkeep = {
    .name = "upkeep", .queue = UNIT_UPKEEP, .order = 3};

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
	/* Each queue has a limit of its own. */
	put(k, 3, &delivery);
	assert_int_equal(intake_waiting(&k->in), 3);
	intake_stop(&k->in);
	assert_int_equal(intake_put(&k->in, unit(k, 4, &upkeep)), RC_CLOSED);
	/* Units that are queued are still taken. */
	assert_true(intake_take(&k->in, k->batch, &k->n, true));
	assert_int_equal(k->n, 3);
	assert_ptr_equal(k->batch[0], &k->units[3]);
	assert_ptr_equal(k->batch[1], &k->units[0]);
	assert_ptr_equal(k->batch[2], &k->units[1]);
	assert_false(intake_take(&k->in, k->batch, &k->n, true));
	close_bench(k);
}

/* Upkeep gets a tenth of a batch, and clients get their share before further
 * deliveries.  Units that do not fit are in the next batch. */
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
	k->units[0].requeue = true;
	intake_put_again(&k->in, k->batch, k->n, &done, &n);
	assert_int_equal(n, 1);
	assert_ptr_equal(done, &k->units[1]);
	/* The unit is queued although there was no room. */
	assert_int_equal(intake_waiting(&k->in), 3);
	close_bench(k);
}

/* No answered client comes back: the next batches, in the given numbers, go
 * without a wait.  A wait ends after a quarter of batch_us or after
 * patience_us; both are 10 us here. */
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
		k->in.batch_us = i % 2 == 0 ? 40 : INT64_MAX;
		k->in.patience_us = i % 2 == 0 ? INT64_MAX : 10;
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
	/* Nor is there a wait if no client was answered before. */
	put(k, 0, &client);
	assert_true(intake_take(&k->in, k->batch, &k->n, true));
	assert_int_equal(k->in.skip, 63);
	close_bench(k);
}

/* A thread that puts ${n} units while the writer waits for clients to return.
 * With ${stops} these units must not end the wait; the thread then stops the
 * intake. */
struct comer {
	struct bench *k;
	const struct unit_kind *kinds[2];
	int n;
	bool stops;
	bool waits; /* the wait did go on */
};

static void *
come(void *arg)
{
	struct comer *c = arg;
	bool begun = false;
	enum rc rc = RC_OK;
	int i;

	while (!begun) {
		lock_take(&c->k->in.lock);
		begun = c->k->in.answered == 0;
		lock_drop(&c->k->in.lock);
	}
	for (i = 0; i < c->n && rc == RC_OK; i++)
		rc = intake_put(&c->k->in, unit(c->k, i, c->kinds[i]));
	if (c->stops) {
		/* If the units have woken the writer, it sleeps again only
		 * after it has taken them. */
		while (!sleeps((int)getpid()))
			continue;
		lock_take(&c->k->in.lock);
		c->waits = c->k->in.wanted > 0;
		lock_drop(&c->k->in.lock);
		intake_stop(&c->k->in);
	}
	return (NULL);
}

/* The state of the intake after a wait. */
struct after {
	int skip;
	bool alone;
};

/* One client was answered before, and a delivery waits if ${before}.  Then
 * units of the kinds ${first} and ${second} (NULL: none) come.  They end the
 * writer's wait, or must not end it if ${stops}. */
static struct after
after(const struct unit_kind *first, const struct unit_kind *second,
    bool before, bool stops)
{
	struct bench *k = open_bench(UNITS);
	struct comer c = {
	    k, {first, second}, second != NULL ? 2 : 1, stops, false};
	struct after a;
	pthread_t thread;

	k->in.answered = 1;
	k->in.batch_us = INT64_MAX;
	k->in.patience_us = INT64_C(3600000000);
	if (before)
		put(k, 9, &delivery);
	assert_int_equal(pthread_create(&thread, NULL, come, &c), 0);
	assert_true(intake_take(&k->in, k->batch, &k->n, true));
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(k->n, (size_t)c.n + before);
	assert_int_equal(c.waits, stops);
	a = (struct after){k->in.skip, k->in.alone};
	close_bench(k);
	return (a);
}

/* The wait ends when the answered client and a delivery have come. */
static void
test_all_come(void **state)
{

	(void)state;
	assert_int_equal(after(&client, NULL, true, false).skip, 0);
	assert_int_equal(after(&client, &delivery, false, false).skip, 0);
	assert_int_equal(after(&delivery, &client, false, false).skip, 0);
}

/* A delivery does not count as a returned client. */
static void
test_no_client(void **state)
{

	(void)state;
	assert_int_equal(after(&delivery, NULL, false, true).skip, 1);
}

/* If the clients send nothing that is delivered, the next wait is for clients
 * alone, until a delivery comes. */
static void
test_no_delivery(void **state)
{
	struct bench *k = open_bench(UNITS);
	struct after a = after(&client, NULL, false, true);

	(void)state;
	assert_int_equal(a.skip, 0);
	assert_true(a.alone);
	k->in.alone = true;
	put(k, 0, &delivery);
	assert_true(intake_take(&k->in, k->batch, &k->n, true));
	assert_false(k->in.alone);
	close_bench(k);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_bounds),
	    cmocka_unit_test(test_shares),
	    cmocka_unit_test(test_again),
	    cmocka_unit_test(test_nobody_returns),
	    cmocka_unit_test(test_all_come),
	    cmocka_unit_test(test_no_client),
	    cmocka_unit_test(test_no_delivery),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
