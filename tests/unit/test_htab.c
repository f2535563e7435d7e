/* SPDX-License-Identifier: MIT */
/*
 * The hash table compared with a plain array over many random operations, walks
 * with removals, failing allocations, and SipHash against its published
 * results.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/htab.h"
#include "base/mem.h"
#include "base/rnd.h"
#include "base/siphash.h"

#define KEYS 2000

static void
test_siphash_vectors(void **state)
{
	/* From the authors' vectors: key 00 01 .. 0f, input 00 01 .. */
	static const struct {
		size_t n;
		uint64_t want;
	} rows[] = {
	    {0, UINT64_C(0x726fdb47dd0e0e31)},
	    {1, UINT64_C(0x74f839c593dc67fd)},
	    {7, UINT64_C(0xab0200f58b01d137)},
	    {8, UINT64_C(0x93f5f5799a932462)},
	    {15, UINT64_C(0xa129ca6149be45e5)},
	    {63, UINT64_C(0x958a324ceb064572)},
	};
	uint8_t key[16], in[64];
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(in); i++)
		in[i] = (uint8_t)i;
	memcpy(key, in, sizeof(key));
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(siphash24(key, in, rows[i].n), rows[i].want);
}

static void
test_hash_is_keyed(void **state)
{
	static const uint8_t zero[16] = {0};

	(void)state;
	assert_int_equal(htab_hash("abc", 3), htab_hash("abc", 3));
	assert_int_not_equal(htab_hash("abc", 3), htab_hash("abd", 3));
	assert_int_not_equal(htab_hash("abc", 3), siphash24(zero, "abc", 3));
}

/* The vector of SipHash's authors: 15 bytes 0 to 14 under the key 0 to 15. */
static void
test_key_set(void **state)
{
	uint8_t bytes[16];
	uint64_t before;
	int i;

	(void)state;
	for (i = 0; i < 16; i++)
		bytes[i] = (uint8_t)i;
	before = htab_hash(bytes, 15);
	htab_key_set(bytes);
	assert_true(htab_hash(bytes, 15) == UINT64_C(0xa129ca6149be45e5));
	assert_true(before != UINT64_C(0xa129ca6149be45e5));
}

static void
test_empty(void **state)
{
	struct htab *t;
	size_t pos = 0;

	(void)state;
	t = htab_new(8);
	assert_null(htab_find(t, "12345678"));
	assert_null(htab_remove(t, "12345678"));
	assert_null(htab_next(t, &pos));
	htab_clear(t);
	assert_int_equal(htab_count(t), 0);
	htab_free(t);
	htab_free(NULL);
}

static void
test_key_sizes(void **state)
{
	unsigned char key[64];
	struct htab *t;
	size_t size;
	int i, values[200];

	(void)state;
	for (size = 1; size <= 64; size++) {
		t = htab_new(size);
		memset(key, 'k', sizeof(key));
		for (i = 0; i < 200; i++) {
			key[size - 1] = (unsigned char)i;
			assert_int_equal(htab_set(t, key, &values[i]), RC_OK);
		}
		assert_int_equal(htab_count(t), 200);
		for (i = 0; i < 200; i++) {
			key[size - 1] = (unsigned char)i;
			assert_ptr_equal(htab_find(t, key), &values[i]);
		}
		htab_free(t);
	}
}

static void
compare(const struct htab *t, void *const *model)
{
	uint64_t key;
	size_t count = 0;

	for (key = 0; key < KEYS; key++) {
		assert_ptr_equal(htab_find(t, &key), model[key]);
		count += model[key] != NULL;
	}
	assert_int_equal(htab_count(t), count);
}

static void
test_long_life(void **state)
{
	static void *model[KEYS];
	static char values[KEYS * 2];
	struct rnd_seeded seeded;
	struct htab *t;
	uint64_t key;
	void *value;
	int i;

	(void)state;
	rnd_seeded_init(&seeded, 5);
	memset(model, 0, sizeof(model));
	t = htab_new(sizeof(key));
	for (i = 0; i < 300000; i++) {
		key = rnd_below(&seeded.rnd, KEYS);
		/* The table fills, empties, and fills again. */
		if (rnd_below(&seeded.rnd, 100) < (i / 20000 % 2 ? 20U : 80U)) {
			value = &values[rnd_below(&seeded.rnd, sizeof(values))];
			assert_int_equal(htab_set(t, &key, value), RC_OK);
			model[key] = value;
		} else {
			assert_ptr_equal(htab_remove(t, &key), model[key]);
			model[key] = NULL;
		}
		if (i % 5000 == 0)
			compare(t, model);
	}
	compare(t, model);
	htab_clear(t);
	memset(model, 0, sizeof(model));
	compare(t, model);
	htab_free(t);
}

struct entry {
	uint64_t key;
	int seen;
};

/* Fills ${t} with ${n} entries and walks over them.  Entries that ${remove_mod}
 * divides are removed when they are met (0: none are).  The walk must meet each
 * entry once. */
static void
walk(struct htab *t, struct entry *entries, size_t n, size_t remove_mod)
{
	struct entry *e;
	size_t i, pos = 0, left = n;

	for (i = 0; i < n; i++) {
		rnd_fill(rnd_system(), &entries[i].key, sizeof(uint64_t));
		entries[i].seen = 0;
		assert_int_equal(
		    htab_set(t, &entries[i].key, &entries[i]), RC_OK);
	}
	while ((e = htab_next(t, &pos)) != NULL) {
		e->seen++;
		if (remove_mod != 0 &&
		    (size_t)(e - entries) % remove_mod == 0) {
			assert_ptr_equal(htab_remove(t, &e->key), e);
			left--;
		}
	}
	assert_null(htab_next(t, &pos));
	for (i = 0; i < n; i++)
		assert_int_equal(entries[i].seen, 1);
	assert_int_equal(htab_count(t), left);
	htab_clear(t);
}

/* Random keys in small tables that are nearly full, where clusters often wrap
 * around the end. */
static void
test_walks(void **state)
{
	static struct entry entries[400];
	struct htab *t;
	size_t n, mod;
	int round;

	(void)state;
	for (round = 0; round < 200; round++) {
		t = htab_new(sizeof(uint64_t));
		for (n = 1; n <= 22; n++)
			for (mod = 0; mod <= 3; mod++)
				walk(t, entries, n, mod);
		htab_free(t);
	}
	t = htab_new(sizeof(uint64_t));
	for (mod = 0; mod <= 3; mod++)
		walk(t, entries, 400, mod);
	htab_free(t);
}

static void
test_every_allocation_fails(void **state)
{
	struct htab *t = NULL;
	char value;
	uint64_t i, done;
	int k, refused = 0;

	(void)state;
	mem_fail_at(1);
	assert_null(htab_new(8));
	for (k = 2; k < 8; k++) {
		mem_fail_at(k);
		t = htab_new(8);
		for (done = 0, i = 0; i < 50; i++, done++) {
			if (htab_set(t, &i, &value) != RC_OK) {
				refused++;
				break;
			}
		}
		mem_fail_at(0);
		assert_int_equal(htab_count(t), done);
		for (i = 0; i < done; i++)
			assert_ptr_equal(htab_find(t, &i), &value);
		assert_null(htab_find(t, &done));
		assert_int_equal(htab_set(t, &done, &value), RC_OK);
		htab_free(t);
	}
	assert_int_equal(refused, 5);
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_siphash_vectors),
	    cmocka_unit_test(test_hash_is_keyed),
	    cmocka_unit_test(test_key_set),
	    cmocka_unit_test(test_empty),
	    cmocka_unit_test(test_key_sizes),
	    cmocka_unit_test(test_long_life),
	    cmocka_unit_test(test_walks),
	    cmocka_unit_test(test_every_allocation_fails),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
