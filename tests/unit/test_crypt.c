/* SPDX-License-Identifier: MIT */
/*
 * Passwords, tokens and hashes against known answers, and two things that must
 * not happen: a failed allocation that counts as a wrong password, and an
 * answer that is faster for a name that does not exist.
 */
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sodium.h>

#include "crypt/crypt.h"
#include "skip.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* The hash of "correct horse" at the real cost: 64 MiB each time. */
static char correct[CRYPT_PASSWORD_SIZE];

static int
setup(void **state)
{
	struct err err = ERR_INIT;

	(void)state;
	if (crypt_init(&err) != RC_OK ||
	    crypt_password_hash("correct horse", 13, correct, &err) != RC_OK)
		return (-1);
	return (0);
}

static void
assert_hex(const char *expected, const uint8_t *p, size_t n)
{
	char text[2 * CRYPT_HASH_SIZE + 1];

	assert_true(n <= CRYPT_HASH_SIZE);
	sodium_bin2hex(text, sizeof(text), p, n);
	assert_string_equal(expected, text);
}

/* BLAKE2b-256 as b2sum -l 256 computes it. */
static void
test_hash(void **state)
{
	static const char empty[] = "0e5751c026e543b2e8ab2eb06099daa1"
				    "d1e5df47778f7787faab45cdf12fe3a8";
	static const char abc[] = "bddd813c634239723171ef3fee98579b"
				  "94964e3bb1cb3e427262c8c068d52319";
	uint8_t hash[CRYPT_HASH_SIZE];
	struct crypt_hash h;

	(void)state;
	crypt_hash_once("", 0, hash);
	assert_hex(empty, hash, sizeof(hash));
	crypt_hash_once("abc", 3, hash);
	assert_hex(abc, hash, sizeof(hash));
	crypt_hash_init(&h);
	crypt_hash_update(&h, "a", 1);
	crypt_hash_update(&h, NULL, 0);
	crypt_hash_update(&h, "bc", 2);
	crypt_hash_final(&h, hash);
	assert_hex(abc, hash, sizeof(hash));
	crypt_hash_init(&h);
	crypt_hash_final(&h, hash);
	assert_hex(empty, hash, sizeof(hash));
}

static void
hash_two(const char *a, const char *b, uint8_t ret[CRYPT_HASH_SIZE])
{
	struct crypt_hash h;

	crypt_hash_init(&h);
	crypt_hash_field(&h, a, a == NULL ? 0 : strlen(a));
	crypt_hash_field(&h, b, b == NULL ? 0 : strlen(b));
	crypt_hash_final(&h, ret);
}

static void
test_hash_fields(void **state)
{
	static const struct {
		const char *a, *b;
	} rows[] = {
	    {"ab", "c"},
	    {"a", "bc"},
	    {"abc", ""},
	    {"", "abc"},
	    {"abc", NULL},
	    {NULL, "abc"},
	    {"", ""},
	    {NULL, NULL},
	};
	uint8_t hash[COUNT(rows)][CRYPT_HASH_SIZE], again[CRYPT_HASH_SIZE];
	size_t i, k;

	(void)state;
	for (i = 0; i < COUNT(rows); i++) {
		hash_two(rows[i].a, rows[i].b, hash[i]);
		hash_two(rows[i].a, rows[i].b, again);
		assert_memory_equal(hash[i], again, sizeof(again));
		for (k = 0; k < i; k++)
			assert_memory_not_equal(
			    hash[i], hash[k], CRYPT_HASH_SIZE);
	}
}

static void
test_tokens(void **state)
{
	char other[CRYPT_TOKEN_LEN + 1], text[CRYPT_TOKEN_LEN + 1];
	uint8_t found[CRYPT_HASH_SIZE], hash[CRYPT_HASH_SIZE];
	struct rnd_seeded rnd;
	uint8_t secret[CRYPT_TOKEN_BYTES], seen[CRYPT_TOKEN_BYTES];
	const char *p;
	size_t got;
	int i;

	(void)state;
	rnd_seeded_init(&rnd, 1);
	rnd_fill(&rnd.rnd, secret, sizeof(secret));
	rnd_seeded_init(&rnd, 1);
	crypt_token_new(&rnd.rnd, text, hash);
	assert_int_equal(CRYPT_TOKEN_LEN, strlen(text));
	assert_memory_equal("tb_", text, 3);
	assert_int_equal(
	    0, sodium_base642bin(seen, sizeof(seen), text + 3, strlen(text + 3),
		   NULL, &got, NULL, sodium_base64_VARIANT_URLSAFE_NO_PADDING));
	assert_int_equal(sizeof(secret), got);
	assert_memory_equal(secret, seen, sizeof(secret));

	assert_true(crypt_token_hash(text, strlen(text), found));
	assert_memory_equal(hash, found, sizeof(hash));
	crypt_token_new(&rnd.rnd, other, found);
	assert_string_not_equal(text, other);
	assert_memory_not_equal(hash, found, sizeof(hash));

	for (i = 0; i < CRYPT_TOKEN_LEN; i++) {
		memcpy(other, text, sizeof(other));
		other[i] = '!';
		assert_false(crypt_token_hash(other, strlen(other), found));
		other[i] = (text[i] == 'a') ? 'b' : 'a';
		if (crypt_token_hash(other, strlen(other), found))
			assert_memory_not_equal(hash, found, sizeof(hash));
	}
	/* Each kind of letter and digit, and the characters next to them. */
	memcpy(other, text, sizeof(other));
	for (p = "azAZ09-_`{@[/:"; *p != '\0'; p++) {
		memset(other + 3, *p, CRYPT_TOKEN_LEN - 3);
		assert_int_equal(
		    crypt_token_hash(other, CRYPT_TOKEN_LEN, found),
		    strchr("azAZ09-_", *p) != NULL);
	}
	assert_false(crypt_token_hash(text, strlen(text) - 1, found));
	assert_false(crypt_token_hash("", 0, found));
}

static void
test_passwords(void **state)
{
	char other[CRYPT_PASSWORD_SIZE];
	struct err err = ERR_INIT;

	(void)state;
	assert_memory_equal("$argon2id$v=19$m=65536,t=2,p=1$", correct, 31);
	assert_int_equal(
	    RC_OK, crypt_password_verify(correct, "correct horse", 13, &err));
	assert_int_equal(
	    RC_OK, crypt_password_hash("correct horse", 13, other, &err));
	assert_string_not_equal(correct, other);
}

/* A one-time password has five groups of four characters, and each of the 32
 * characters occurs in each place. */
static void
test_password_once(void **state)
{
	static const char alphabet[] = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
	uint32_t seen[CRYPT_ONCE_SIZE - 1] = {0};
	char once[CRYPT_ONCE_SIZE];
	struct rnd_seeded rnd;
	const char *at;
	size_t i, n;

	(void)state;
	rnd_seeded_init(&rnd, 1);
	for (n = 0; n < 1000; n++) {
		crypt_password_once(&rnd.rnd, once);
		assert_int_equal(strlen(once), 24);
		for (i = 0; i < 24; i++) {
			if (i % 5 == 4) {
				assert_int_equal(once[i], '-');
				continue;
			}
			assert_non_null(at = strchr(alphabet, once[i]));
			seen[i] |= UINT32_C(1) << (at - alphabet);
		}
	}
	for (i = 0; i < 24; i++)
		assert_int_equal(seen[i], i % 5 == 4 ? 0 : UINT32_MAX);
}

/* A stored password contains its own cost, and these are cheap. */
static void
test_passwords_wrong(void **state)
{
	char stored[crypto_pwhash_argon2id_STRBYTES];
	struct err err = ERR_INIT;

	(void)state;
	/* Every digit of a cost counts, also a 0. */
	assert_int_equal(0, crypto_pwhash_argon2id_str(
				stored, "correct horse", 13, 10, 1000 * 1024));
	assert_non_null(strstr(stored, "$m=1000,t=10,p=1$"));
	assert_int_equal(
	    RC_OK, crypt_password_verify(stored, "correct horse", 13, &err));
	assert_int_equal(0, crypto_pwhash_argon2id_str(stored, "correct horse",
				13, crypto_pwhash_argon2id_OPSLIMIT_MIN,
				crypto_pwhash_argon2id_MEMLIMIT_MIN));
	assert_int_equal(
	    RC_OK, crypt_password_verify(stored, "correct horse", 13, &err));
	assert_int_equal(RC_DENIED,
	    crypt_password_verify(stored, "correct horsf", 13, &err));
	assert_int_equal(
	    RC_DENIED, crypt_password_verify(stored, "correct", 7, &err));
	assert_int_equal(RC_DENIED, crypt_password_verify(stored, "", 0, &err));
}

static void
test_passwords_damaged(void **state)
{
	static const char *const rows[] = {
	    "",
	    "x",
	    "$argon2i$v=19$m=65536,t=2,p=1$qYjKuEruyaarTfmCyP1MVg"
	    "$BqkDaz3zwAsgzFbJ2wy5sHO2/PZcnbdDMPD0fQ+mEYk",
	    "$argon2id$v=19$m=99999999,t=2,p=1$qYjKuEruyaarTfmCyP1MVg"
	    "$BqkDaz3zwAsgzFbJ2wy5sHO2/PZcnbdDMPD0fQ+mEYk",
	    "$argon2id$v=19$m=65536,t=0,p=1$qYjKuEruyaarTfmCyP1MVg"
	    "$BqkDaz3zwAsgzFbJ2wy5sHO2/PZcnbdDMPD0fQ+mEYk",
	    "$argon2id$v=19$m=65536,t=2,p=1$qYjKuEruyaarTfmCyP1M"
	    "$BqkDaz3zwAsgzFbJ2wy5sHO2/PZcnbdDMPD0fQ+mEYk",
	    "$argon2id$v=19$m=65536,t=2,p=1$qYjKuEruyaarTfmCyP1MVg"
	    "$BqkDaz3zwAsgzFbJ2wy5sHO2/PZcnbdDMPD0fQ+mEY",
	    "$argon2id$v=19$m=65536,t=2,p=1$qYjKuEruyaarTfmCyP1MVg"
	    "$BqkDaz3zwAsgzFbJ2wy5sHO2/PZcnbdDMPD0fQ+mEYkA",
	    "$argon2id$v=19$m=65536,t=2,p=1$qYjKuEruyaarTfmCyP1MVg"
	    "$BqkDaz3zwAsgzFbJ2wy5sHO2/PZcnbdDMPD0fQ+mEYk$",
	};
	struct err err = ERR_INIT;
	size_t i;

	(void)state;
	for (i = 0; i < COUNT(rows); i++)
		assert_int_equal(
		    RC_CORRUPT, crypt_password_verify(rows[i], "x", 1, &err));
	/* A number may contain a 9. */
	assert_int_equal(
	    RC_DENIED, crypt_password_verify(
			   "$argon2id$v=19$m=9,t=1,p=1$qYjKuEruyaarTfmCyP1MVg"
			   "$BqkDaz3zwAsgzFbJ2wy5sHO2/PZcnbdDMPD0fQ+mEYk",
			   "x", 1, &err));
}

/* Runs ${check} in a process of its own that cannot allocate 64 MiB. */
static int
run_short_of_memory(int (*check)(const char *stored), const char *stored)
{
	struct rlimit limit = {0, 0};
	int status;
	pid_t pid;

	if ((pid = fork()) == 0) {
		if (setrlimit(RLIMIT_AS, &limit) != 0)
			_exit(99);
		_exit(100 + check(stored));
	}
	assert_true(pid > 0);
	assert_int_equal(pid, waitpid(pid, &status, 0));
	assert_true(WIFEXITED(status));
	return (WEXITSTATUS(status) - 100);
}

static int
check_verify(const char *stored)
{
	struct err err = ERR_INIT;

	return ((int)crypt_password_verify(stored, "secret99", 8, &err));
}

static int
check_dummy(const char *stored)
{
	struct err err = ERR_INIT;

	(void)stored;
	return ((int)crypt_password_dummy("secret99", 8, &err));
}

static int
check_hash(const char *stored)
{
	char ret[CRYPT_PASSWORD_SIZE];
	struct err err = ERR_INIT;

	(void)stored;
	return ((int)crypt_password_hash("secret99", 8, ret, &err));
}

static void
test_passwords_no_memory(void **state)
{

	(void)state;
	assert_int_equal(
	    RC_NO_MEMORY, run_short_of_memory(check_verify, correct));
	assert_int_equal(
	    RC_NO_MEMORY, run_short_of_memory(check_dummy, correct));
	assert_int_equal(
	    RC_NO_MEMORY, run_short_of_memory(check_hash, correct));
}

/* The processor time of one check, in microseconds. */
static int64_t
cost_of(int (*check)(const char *stored))
{
	struct timespec from, to;

	assert_int_equal(0, clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from));
	assert_int_equal(RC_DENIED, check(correct));
	assert_int_equal(0, clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to));
	return ((to.tv_sec - from.tv_sec) * 1000000 +
		(to.tv_nsec - from.tv_nsec) / 1000);
}

/* The dummy check costs as much as a real one, within a factor of two.  The
 * fastest of up to ten runs counts, because other processes use the same
 * caches. */
static void
test_passwords_dummy(void **state)
{
	int64_t dummy = INT64_MAX, real = INT64_MAX, us;
	int i;

	(void)state;
	for (i = 0; i < 10; i++) {
		us = cost_of(check_dummy);
		dummy = us < dummy ? us : dummy;
		us = cost_of(check_verify);
		real = us < real ? us : real;
		if (dummy / 2 < real && real / 2 < dummy)
			return;
	}
	fail_msg("%lld us, not %lld us", (long long)dummy, (long long)real);
}

static void
test_memory(void **state)
{
	char text[] = "secret";

	(void)state;
	assert_true(crypt_equal("abc", "abc", 3));
	assert_false(crypt_equal("abc", "abd", 3));
	assert_true(crypt_equal("abc", "abd", 2));
	assert_true(crypt_equal("a", "b", 0));
	crypt_wipe(text, sizeof(text));
	assert_memory_equal("\0\0\0\0\0\0", text, sizeof(text));
}

int
main(void)
{
	struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_hash),
	    cmocka_unit_test(test_hash_fields),
	    cmocka_unit_test(test_tokens),
	    cmocka_unit_test(test_passwords),
	    cmocka_unit_test(test_password_once),
	    cmocka_unit_test(test_passwords_wrong),
	    cmocka_unit_test(test_passwords_damaged),
	    cmocka_unit_test(test_passwords_no_memory),
	    cmocka_unit_test(test_passwords_dummy),
	    cmocka_unit_test(test_memory),
	};

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
	SKIP_TEST(tests, test_passwords_no_memory,
	    "this sanitizer needs memory below the limit itself");
#endif
	return (cmocka_run_group_tests_name("crypt", tests, setup, NULL));
}
