/* SPDX-License-Identifier: MIT */
/*
 * Random numbers: the system's source never gives the same bytes twice, in one
 * thread or in two; the seeded one gives the published sequence; numbers below
 * a bound are evenly distributed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rnd.h"
#include "base/thr.h"

#define DRAWS 3000

static int
compare(const void *a, const void *b)
{

	return (memcmp(a, b, 16));
}

static void
draw_many(void *arg)
{
	uint8_t(*out)[16] = arg;
	int i;

	for (i = 0; i < DRAWS; i++)
		rnd_fill(rnd_system(), out[i], 16);
}

static void
test_system_never_repeats(void **state)
{
	static uint8_t draws[4 * DRAWS][16];
	struct thr *thr[3];
	int i;

	(void)state;
	for (i = 0; i < 3; i++)
		assert_int_equal(thr_start(THR_OTHER, i, draw_many,
				     draws[i * DRAWS], &thr[i], NULL),
		    RC_OK);
	draw_many(draws[3 * DRAWS]);
	for (i = 0; i < 3; i++)
		thr_join(&thr[i]);
	qsort(draws, 4 * DRAWS, 16, compare);
	for (i = 1; i < 4 * DRAWS; i++)
		assert_memory_not_equal(draws[i - 1], draws[i], 16);
}

static void
test_system_fills_all_sizes(void **state)
{
	unsigned char all[2000], once[2000];
	size_t n;
	int turn;

	(void)state;
	/* Each bit is seen both set and clear, so no byte is left out. */
	for (n = 0; n < 600; n += n < 140 ? 1 : 37) {
		memset(all, 0, sizeof(all));
		for (turn = 0; turn < 20; turn++) {
			size_t i;

			memset(once, 0, sizeof(once));
			rnd_fill(rnd_system(), once, n);
			for (i = 0; i < sizeof(once); i++)
				all[i] |= once[i];
		}
		for (size_t i = 0; i < n; i++)
			assert_int_not_equal(all[i], 0);
		for (size_t i = n; i < sizeof(all); i++)
			assert_int_equal(all[i], 0);
	}
}

static void
test_seeded_is_fixed(void **state)
{
	/* xoshiro256** from splitmix64(0), little-endian. */
	static const uint64_t want[] = {UINT64_C(0x99ec5f36cb75f2b4),
	    UINT64_C(0xbf6e1f784956452a), UINT64_C(0x1a5f849d4933e6e0)};
	struct rnd_seeded a, b;
	uint8_t x[24], y[24];
	size_t i;

	(void)state;
	rnd_seeded_init(&a, 0);
	rnd_fill(&a.rnd, x, sizeof(x));
	for (i = 0; i < sizeof(x); i++)
		assert_int_equal(x[i], want[i / 8] >> (8 * (i % 8)) & 0xff);
	rnd_seeded_init(&a, 7);
	rnd_seeded_init(&b, 7);
	for (i = 0; i < 100; i++) {
		rnd_fill(&a.rnd, x, 1 + i % sizeof(x));
		rnd_fill(&b.rnd, y, 1 + i % sizeof(x));
		assert_memory_equal(x, y, 1 + i % sizeof(x));
	}
	rnd_seeded_init(&b, 8);
	rnd_fill(&b.rnd, y, sizeof(y));
	assert_memory_not_equal(x, y, sizeof(y));
}

static void
test_below_is_even(void **state)
{
	struct rnd_seeded seeded;
	int counts[7] = {0}, high = 0;
	uint64_t n, bound;
	int i;

	(void)state;
	rnd_seeded_init(&seeded, 1);
	for (i = 0; i < 70000; i++) {
		n = rnd_below(&seeded.rnd, 7);
		assert_true(n < 7);
		counts[n]++;
	}
	for (i = 0; i < 7; i++)
		assert_in_range(counts[i], 9600, 10400);
	for (i = 0; i < 100; i++)
		assert_int_equal(rnd_below(&seeded.rnd, 1), 0);
	/* Without rejection five eighths of the numbers would be in the lower
	 * half. */
	bound = UINT64_C(3) << 62;
	for (i = 0; i < 10000; i++)
		high += rnd_below(&seeded.rnd, bound) >= bound / 2;
	assert_in_range(high, 4800, 5200);
}

/* A source that returns the numbers of a list. */
struct listed {
	struct rnd rnd; /* first */
	const uint64_t *next;
};

static void
listed_fill(struct rnd *rnd, void *p, size_t n)
{
	struct listed *l = (struct listed *)(void *)rnd;
	uint8_t *b = p;
	size_t i;

	assert_int_equal(n, 8);
	for (i = 0; i < 8; i++)
		b[i] = (uint8_t)(*l->next >> 8 * i);
	l->next++;
}

/* With a bound of 3 * 2^62, the lowest 2^62 of the 2^64 numbers must be
 * rejected. */
static void
test_below_rejects(void **state)
{
	static const uint64_t numbers[] = {
	    0, (UINT64_C(1) << 62) - 1, UINT64_C(1) << 62, UINT64_MAX, 77};
	struct listed l = {{listed_fill}, numbers};

	(void)state;
	assert_true(rnd_below(&l.rnd, UINT64_C(3) << 62) == UINT64_C(1) << 62);
	assert_ptr_equal(l.next, numbers + 3);
	assert_true(
	    rnd_below(&l.rnd, UINT64_C(3) << 62) == (UINT64_C(1) << 62) - 1);
	assert_int_equal(rnd_below(&l.rnd, 10), 7);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_system_never_repeats),
	    cmocka_unit_test(test_system_fills_all_sizes),
	    cmocka_unit_test(test_seeded_is_fixed),
	    cmocka_unit_test(test_below_is_even),
	    cmocka_unit_test(test_below_rejects),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
