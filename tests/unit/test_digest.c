/* SPDX-License-Identifier: MIT */
/*
 * The chain over a conversation: golden values (made with another
 * implementation of BLAKE2b), because stored digests must be verified for ever;
 * and each field changes the digest.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "crypt/crypt.h"
#include "crypt/digest.h"

struct link {
	uint8_t before[DIGEST_LEN];
	int64_t seq;
	struct uuid id;
	char sender[40];
	uint8_t salt[DIGEST_SALT_LEN];
	char body[40];
	size_t body_len;
};

static void
digest_of(const struct link *l, uint8_t ret[DIGEST_LEN])
{
	uint8_t body[DIGEST_LEN];

	digest_body(l->salt, l->body, l->body_len, body);
	memcpy(ret, l->before, DIGEST_LEN);
	digest_next(ret, l->seq, &l->id, l->sender, body);
}

static struct link
sample(void)
{
	struct link l;
	uint8_t i;

	memset(&l, 0, sizeof(l));
	l.seq = 1;
	for (i = 0; i < 16; i++) {
		l.id.b[i] = (uint8_t)(0x10 + i);
		l.salt[i] = i;
	}
	(void)snprintf(l.sender, sizeof(l.sender), "alice");
	(void)snprintf(l.body, sizeof(l.body), "hello");
	l.body_len = 5;
	return (l);
}

static void
assert_hex(const uint8_t d[DIGEST_LEN], const char *expect)
{
	char hex[2 * DIGEST_LEN + 1];
	size_t i;

	for (i = 0; i < DIGEST_LEN; i++)
		(void)snprintf(hex + 2 * i, 3, "%02x", d[i]);
	assert_string_equal(hex, expect);
}

static void
test_golden(void **state)
{
	uint8_t body[DIGEST_LEN], d[DIGEST_LEN];
	struct link l;

	(void)state;
	l = sample();
	digest_body(l.salt, "hello", 5, body);
	assert_hex(body, "69c82931910619ac86127146c31e4010"
			 "df9ea119d85b3c712db881c4319504d2");
	memset(d, 0, sizeof(d));
	digest_next(d, 1, &l.id, "alice", body);
	assert_hex(d, "fefd67267d77c535542671e617f3c0c4"
		      "fb7b0987f0eb1415e8131f54fa3e1527");
	digest_body(l.salt, "", 0, body);
	assert_hex(body, "c7cb5d1a1a214f1d833a21fe6c7b2420"
			 "e417c2f220784cbe90072975131bc367");
	digest_next(d, 2, &l.id, "bob", body);
	assert_hex(d, "b9c7eb00553e389e81b8674abaafebfa"
		      "e8d0aec01096fc8117eb0c97ecc0e8e3");
}

/* Each bit of each field of fixed size changes the digest. */
static void
test_every_field(void **state)
{
	uint8_t plain[DIGEST_LEN], d[DIGEST_LEN];
	struct link l, m;
	size_t i;

	(void)state;
	l = sample();
	digest_of(&l, plain);
	digest_of(&l, d);
	assert_memory_equal(d, plain, DIGEST_LEN);
	for (i = 0; i < 8 * DIGEST_LEN; i++) {
		m = l;
		m.before[i / 8] ^= (uint8_t)(1U << (i % 8));
		digest_of(&m, d);
		assert_memory_not_equal(d, plain, DIGEST_LEN);
	}
	for (i = 0; i < 63; i++) {
		m = l;
		m.seq ^= INT64_C(1) << i;
		digest_of(&m, d);
		assert_memory_not_equal(d, plain, DIGEST_LEN);
	}
	for (i = 0; i < 8 * 16; i++) {
		m = l;
		m.id.b[i / 8] ^= (uint8_t)(1U << (i % 8));
		digest_of(&m, d);
		assert_memory_not_equal(d, plain, DIGEST_LEN);
		m = l;
		m.salt[i / 8] ^= (uint8_t)(1U << (i % 8));
		digest_of(&m, d);
		assert_memory_not_equal(d, plain, DIGEST_LEN);
	}
	for (i = 0; i < 8 * 5; i++) {
		m = l;
		m.body[i / 8] = (char)(m.body[i / 8] ^ (1 << (i % 8)));
		digest_of(&m, d);
		assert_memory_not_equal(d, plain, DIGEST_LEN);
	}
	m = l;
	m.body_len = 4;
	digest_of(&m, d);
	assert_memory_not_equal(d, plain, DIGEST_LEN);
	m = l;
	m.sender[4] = 'f';
	digest_of(&m, d);
	assert_memory_not_equal(d, plain, DIGEST_LEN);
	m = l;
	m.sender[4] = '\0';
	digest_of(&m, d);
	assert_memory_not_equal(d, plain, DIGEST_LEN);
}

/* A message that is lost, doubled or exchanged changes all later digests. */
static void
test_chain(void **state)
{
	static const int orders[4][4] = {
	    {1, 2, 3, 4}, {1, 3, 4, 0}, {1, 2, 2, 3}, {2, 1, 3, 4}};
	uint8_t d[4][DIGEST_LEN], body[DIGEST_LEN];
	struct link l;
	int i, k;

	(void)state;
	l = sample();
	memset(d, 0, sizeof(d));
	for (i = 0; i < 4; i++)
		for (k = 0; k < 4 && orders[i][k] != 0; k++) {
			l.id.b[0] = (uint8_t)orders[i][k];
			digest_body(l.salt, "x", 1, body);
			digest_next(d[i], k + 1, &l.id, "alice", body);
		}
	for (i = 0; i < 4; i++)
		for (k = 0; k < i; k++)
			assert_memory_not_equal(d[i], d[k], DIGEST_LEN);
}

static int
make_ready(void **state)
{
	struct err err = ERR_INIT;

	(void)state;
	return (crypt_init(&err) == RC_OK ? 0 : -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_golden),
	    cmocka_unit_test(test_every_field),
	    cmocka_unit_test(test_chain),
	};

	return (cmocka_run_group_tests(tests, make_ready, NULL));
}
