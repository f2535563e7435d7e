/* SPDX-License-Identifier: MIT */
/*
 * The memory of tokens: a token that was removed stays removed, also if a
 * thread puts it late with what it read before; the memory is bounded; and all
 * of this with several threads at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "base/thr.h"
#include "chat/auth.h"

/* The number of tokens that it holds; see auth.c. */
#define MANY 65536

static void
hash_of(int n, uint8_t ret[STORE_HASH_LEN])
{

	memset(ret, 0, STORE_HASH_LEN);
	memcpy(ret, &n, sizeof(n));
}

static struct principal
principal_of(int n)
{
	struct principal p;

	memset(&p, 0, sizeof(p));
	p.user_id = n;
	p.device_id = n * 2;
	p.name[0] = 'u';
	p.admin = n % 2 == 1;
	memset(p.device.b, n & 0xff, sizeof(p.device.b));
	return (p);
}

static void
put(struct auth *auth, int n)
{
	uint8_t hash[STORE_HASH_LEN];
	struct principal p;

	hash_of(n, hash);
	p = principal_of(n);
	auth_put(auth, hash, &p, auth_generation(auth));
}

static bool
finds(struct auth *auth, int n)
{
	uint8_t hash[STORE_HASH_LEN];
	struct principal p, expect;

	hash_of(n, hash);
	memset(&p, 0, sizeof(p));
	if (!auth_find(auth, hash, &p))
		return (false);
	expect = principal_of(n);
	assert_memory_equal(&p, &expect, sizeof(p));
	return (true);
}

static void
test_remembers(void **state)
{
	uint8_t hash[STORE_HASH_LEN];
	struct principal p;
	struct auth *auth;

	(void)state;
	auth = auth_new();
	assert_non_null(auth);
	assert_false(finds(auth, 1));
	put(auth, 1);
	put(auth, 2);
	assert_true(finds(auth, 1));
	assert_true(finds(auth, 2));
	assert_false(finds(auth, 3));
	hash_of(1, hash);
	auth_forget(auth, hash);
	assert_false(finds(auth, 1));
	assert_true(finds(auth, 2));
	/* The whole hash is compared. */
	hash_of(2, hash);
	hash[STORE_HASH_LEN - 1] = 1;
	assert_false(auth_find(auth, hash, &p));
	auth_forget_all(auth);
	assert_false(finds(auth, 2));
	put(auth, 2);
	assert_true(finds(auth, 2));
	auth_free(auth);
	auth_free(NULL);
}

/* A token is read from the store, revoked, and then put: it must stay out. */
static void
test_late_put(void **state)
{
	uint8_t hash[STORE_HASH_LEN], other[STORE_HASH_LEN];
	struct principal p;
	struct auth *auth;
	uint64_t generation;

	(void)state;
	auth = auth_new();
	hash_of(1, hash);
	hash_of(2, other);
	p = principal_of(1);
	generation = auth_generation(auth);
	auth_forget(auth, hash);
	auth_put(auth, hash, &p, generation);
	assert_false(finds(auth, 1));
	/* Each removal makes all earlier reads outdated, also those of other
	 * tokens. */
	generation = auth_generation(auth);
	auth_forget(auth, other);
	auth_put(auth, hash, &p, generation);
	assert_false(finds(auth, 1));
	generation = auth_generation(auth);
	auth_forget_all(auth);
	auth_put(auth, hash, &p, generation);
	assert_false(finds(auth, 1));
	auth_put(auth, hash, &p, auth_generation(auth));
	assert_true(finds(auth, 1));
	auth_free(auth);
}

static void
test_bounded(void **state)
{
	struct auth *auth;
	int i, found;

	(void)state;
	auth = auth_new();
	for (i = 0; i < MANY; i++)
		put(auth, i);
	assert_true(finds(auth, 0));
	assert_true(finds(auth, MANY - 1));
	put(auth, MANY);
	assert_true(finds(auth, MANY));
	for (i = found = 0; i < MANY; i++)
		found += finds(auth, i) ? 1 : 0;
	assert_true(found < MANY);
	auth_free(auth);
}

static void
test_no_memory(void **state)
{
	struct auth *auth;
	int64_t k;
	bool all;

	(void)state;
	for (k = 1, all = false; !all; k++) {
		mem_fail_at(k);
		auth = auth_new();
		if (auth != NULL)
			put(auth, 1);
		all = mem_fail_pending();
		mem_fail_at(0);
		/* Without memory the token is not kept, which does no harm. */
		if (auth != NULL)
			put(auth, 1);
		if (auth != NULL)
			assert_true(finds(auth, 1));
		auth_free(auth);
	}
	assert_true(k > 3);
}

/* ---- threads ---- */

#define ROUNDS 4000

static struct auth *shared;
static atomic_int revoked; /* tokens below this are revoked in the store */
static atomic_int wrong;

/* Reads the store and puts the token, as requests do. */
static void
requests(void *arg)
{
	uint8_t hash[STORE_HASH_LEN];
	struct principal p;
	uint64_t generation;
	int i, n;

	(void)arg;
	for (i = 0; i < ROUNDS; i++) {
		n = atomic_load(&revoked) + i % 3;
		hash_of(n, hash);
		if (auth_find(shared, hash, &p)) {
			if (p.user_id != n)
				atomic_fetch_add(&wrong, 1);
			continue;
		}
		generation = auth_generation(shared);
		if (n < atomic_load(&revoked))
			continue;
		p = principal_of(n);
		auth_put(shared, hash, &p, generation);
	}
}

/* Revokes one token after another.  Each must be gone when auth_forget()
 * returns. */
static void
revoker(void *arg)
{
	uint8_t hash[STORE_HASH_LEN];
	struct principal p;
	int i;

	(void)arg;
	for (i = 0; i < ROUNDS; i++) {
		atomic_store(&revoked, i + 1);
		hash_of(i, hash);
		auth_forget(shared, hash);
		if (auth_find(shared, hash, &p))
			atomic_fetch_add(&wrong, 1);
	}
}

static void
test_threads(void **state)
{
	struct err err = ERR_INIT;
	struct thr *t[3];
	int i;

	(void)state;
	shared = auth_new();
	assert_int_equal(
	    thr_start(THR_OTHER, 1, requests, NULL, &t[0], &err), RC_OK);
	assert_int_equal(
	    thr_start(THR_OTHER, 2, requests, NULL, &t[1], &err), RC_OK);
	assert_int_equal(
	    thr_start(THR_OTHER, 3, revoker, NULL, &t[2], &err), RC_OK);
	for (i = 0; i < 3; i++)
		thr_join(&t[i]);
	assert_int_equal(atomic_load(&wrong), 0);
	for (i = 0; i < ROUNDS; i++)
		assert_false(finds(shared, i));
	auth_free(shared);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_remembers),
	    cmocka_unit_test(test_late_put),
	    cmocka_unit_test(test_bounded),
	    cmocka_unit_test(test_no_memory),
	    cmocka_unit_test(test_threads),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
