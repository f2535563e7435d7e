/* SPDX-License-Identifier: MIT */
/*
 * UUIDs: version, variant and time are where RFC 9562 puts them; a generator
 * only counts up, also when a millisecond is full and when the clock goes back;
 * texts are parsed strictly.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/uuid.h"

static uint64_t
uuid_ms(const struct uuid *u)
{
	uint64_t ms = 0;
	int i;

	for (i = 0; i < 6; i++)
		ms = ms << 8 | u->b[i];
	return (ms);
}

static void
test_fields(void **state)
{
	struct clk_fake fake;
	struct rnd_seeded seeded;
	struct uuid_gen gen;
	struct uuid u;
	int i;

	(void)state;
	clk_fake_init(&fake, INT64_C(0x017f22e279b0));
	rnd_seeded_init(&seeded, 1);
	uuid_gen_init(&gen, &fake.clk, &seeded.rnd);
	for (i = 0; i < 1000; i++) {
		clk_fake_advance(&fake, 1);
		u = uuid_gen_next(&gen);
		assert_int_equal(uuid_version(&u), 7);
		assert_int_equal(u.b[8] >> 6, 2);
		assert_int_equal(uuid_ms(&u), fake.wall_ms);
	}
}

/* Draws ${n} ids and checks that each is greater than the one before. */
static struct uuid
draw_rising(struct uuid_gen *gen, struct uuid last, int n)
{
	struct uuid u;

	for (; n > 0; n--) {
		u = uuid_gen_next(gen);
		assert_true(memcmp(u.b, last.b, sizeof(u.b)) > 0);
		assert_int_equal(uuid_version(&u), 7);
		assert_int_equal(u.b[8] >> 6, 2);
		last = u;
	}
	return (last);
}

static void
test_always_greater(void **state)
{
	struct clk_fake fake;
	struct rnd_seeded seeded;
	struct uuid_gen gen;
	struct uuid last;

	(void)state;
	clk_fake_init(&fake, 1000000);
	rnd_seeded_init(&seeded, 2);
	uuid_gen_init(&gen, &fake.clk, &seeded.rnd);
	memset(&last, 0, sizeof(last));
	last = draw_rising(&gen, last, 1000);
	assert_int_equal(uuid_ms(&last), 1000000);
	fake.wall_ms = 5; /* the clock goes back */
	last = draw_rising(&gen, last, 1000);
	assert_int_equal(uuid_ms(&last), 1000000);
	/* More ids than the counter has room for: later ids use a time in the
	 * future. */
	last = draw_rising(&gen, last, 1 << 18);
	assert_true(uuid_ms(&last) > 1000000);
	assert_true(uuid_ms(&last) < 1000004);
	fake.wall_ms = 2000000;
	last = draw_rising(&gen, last, 10);
	assert_int_equal(uuid_ms(&last), 2000000);
}

static void
test_room_in_a_millisecond(void **state)
{
	struct clk_fake fake;
	struct rnd_seeded seeded;
	struct uuid_gen gen;
	struct uuid last;
	int i;

	(void)state;
	clk_fake_init(&fake, 77);
	rnd_seeded_init(&seeded, 3);
	uuid_gen_init(&gen, &fake.clk, &seeded.rnd);
	memset(&last, 0, sizeof(last));
	for (i = 0; i < 10; i++) {
		last = draw_rising(&gen, last, 1 << 17);
		assert_int_equal(uuid_ms(&last), fake.wall_ms);
		clk_fake_advance(&fake, 1);
	}
}

static void
test_clock_before_1970(void **state)
{
	struct clk_fake fake;
	struct rnd_seeded seeded;
	struct uuid_gen gen;
	struct uuid last;

	(void)state;
	clk_fake_init(&fake, -5000);
	rnd_seeded_init(&seeded, 4);
	uuid_gen_init(&gen, &fake.clk, &seeded.rnd);
	memset(&last, 0, sizeof(last));
	last = draw_rising(&gen, last, 100);
	assert_int_equal(uuid_ms(&last), 0);
}

static void
test_random_tail(void **state)
{
	uint8_t all[7] = {0}, any[7];
	struct clk_fake fake;
	struct uuid_gen gen;
	struct uuid u;
	int i, j;

	(void)state;
	clk_fake_init(&fake, 1);
	uuid_gen_init(&gen, &fake.clk, rnd_system());
	memset(any, 0xff, sizeof(any));
	for (i = 0; i < 100; i++) {
		u = uuid_gen_next(&gen);
		for (j = 0; j < 7; j++) {
			all[j] |= u.b[9 + j];
			any[j] &= u.b[9 + j];
		}
	}
	for (j = 0; j < 7; j++) {
		assert_int_equal(all[j], 0xff);
		assert_int_equal(any[j], 0);
	}
}

static void
test_from_hash(void **state)
{
	uint8_t hash[16];
	struct uuid u;
	char text[UUID_TEXT_LEN + 1];

	(void)state;
	memset(hash, 0xff, sizeof(hash));
	u = uuid_from_hash(hash);
	uuid_format(&u, text);
	assert_string_equal(text, "ffffffff-ffff-8fff-bfff-ffffffffffff");
	memset(hash, 0, sizeof(hash));
	u = uuid_from_hash(hash);
	uuid_format(&u, text);
	assert_string_equal(text, "00000000-0000-8000-8000-000000000000");
	assert_int_equal(uuid_version(&u), 8);
}

static void
test_text(void **state)
{
	static const char lower[] = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f";
	static const char upper[] = "017F22E2-79B0-7CC3-98C4-DC0C0C07398F";
	char text[UUID_TEXT_LEN + 1];
	struct uuid a, b;

	(void)state;
	assert_true(uuid_parse(lower, UUID_TEXT_LEN, &a));
	assert_int_equal(a.b[0], 0x01);
	assert_int_equal(a.b[15], 0x8f);
	assert_int_equal(uuid_version(&a), 7);
	assert_true(uuid_parse(upper, UUID_TEXT_LEN, &b));
	assert_true(uuid_equal(&a, &b));
	uuid_format(&b, text);
	assert_string_equal(text, lower);
	b.b[15] ^= 1;
	assert_false(uuid_equal(&a, &b));
	/* Each digit, the letters in both cases. */
	assert_true(uuid_parse(
	    "01234567-89ab-cdef-0123-456789abcdef", UUID_TEXT_LEN, &a));
	assert_true(uuid_parse(
	    "01234567-89AB-CDEF-0123-456789ABCDEF", UUID_TEXT_LEN, &b));
	assert_memory_equal(a.b,
	    "\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab"
	    "\xcd\xef",
	    16);
	assert_true(uuid_equal(&a, &b));
}

static void
test_text_refuses(void **state)
{
	static const char good[] = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f";
	static const char bad[] = "-gG/:@`{ \x80\xff";
	char text[UUID_TEXT_LEN + 1];
	struct uuid u, before;
	size_t i, j;

	(void)state;
	memset(&before, 7, sizeof(before));
	u = before;
	assert_false(uuid_parse(good, UUID_TEXT_LEN - 1, &u));
	assert_false(uuid_parse(good, UUID_TEXT_LEN + 1, &u));
	assert_false(uuid_parse("", 0, &u));
	for (i = 0; i < UUID_TEXT_LEN; i++) {
		for (j = 0; j < sizeof(bad); j++) {
			memcpy(text, good, sizeof(text));
			if (text[i] == '-' && bad[j] == '-')
				continue;
			text[i] = bad[j];
			assert_false(uuid_parse(text, UUID_TEXT_LEN, &u));
		}
	}
	assert_false(
	    uuid_parse("017f22e279b0-7cc3--98c4-dc0c0c07398f", 36, &u));
	assert_memory_equal(&u, &before, sizeof(u));
}

int
main(void)
{
	static const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_fields),
	    cmocka_unit_test(test_always_greater),
	    cmocka_unit_test(test_room_in_a_millisecond),
	    cmocka_unit_test(test_clock_before_1970),
	    cmocka_unit_test(test_random_tail),
	    cmocka_unit_test(test_from_hash),
	    cmocka_unit_test(test_text),
	    cmocka_unit_test(test_text_refuses),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
