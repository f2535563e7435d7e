/* SPDX-License-Identifier: MIT */
/*
 * The cost of trying a password: argon2id with 64 MiB and two passes, for real
 * users and for unknown names.  Also the low cost that only builds with fault
 * points have; this program has it whatever the build is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "crypt/crypt.h"

#define REAL "$argon2id$v=19$m=65536,t=2,p=1$"
#define CHEAP "$argon2id$v=19$m=8,t=1,p=1$"

static int
setup(void **state)
{
	struct err err = ERR_INIT;

	(void)state;
	return (crypt_init(&err) == RC_OK ? 0 : -1);
}

/* A new hash must begin with ${want}, and match the password. */
static void
check_hash(const char *want)
{
	char stored[CRYPT_PASSWORD_SIZE];
	struct err err = ERR_INIT;

	assert_int_equal(
	    RC_OK, crypt_password_hash("secret99", 8, stored, &err));
	assert_memory_equal(stored, want, strlen(want));
	assert_int_equal(
	    RC_OK, crypt_password_verify(stored, "secret99", 8, &err));
	assert_int_equal(
	    RC_DENIED, crypt_password_verify(stored, "secret98", 8, &err));
}

/* Returns the peak memory of this process, in KiB. */
static long
peak_kib(void)
{
	struct rusage usage;

	assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
	return (usage.ru_maxrss);
}

/* This test must be the first, because the peak never falls. */
static void
test_cheap(void **state)
{
	struct err err = ERR_INIT;
	long before = peak_kib();

	(void)state;
	assert_int_equal(setenv("TWINBOX_CHEAP_PASSWORDS", "1", 1), 0);
	check_hash(CHEAP);
	assert_int_equal(RC_DENIED, crypt_password_dummy("wrong", 5, &err));
	assert_true(peak_kib() - before < 32 * 1024);
}

/* An unknown name costs as much memory as a known one. */
static void
test_real_dummy(void **state)
{
	struct err err = ERR_INIT;
	long before = peak_kib();

	(void)state;
	assert_int_equal(unsetenv("TWINBOX_CHEAP_PASSWORDS"), 0);
	assert_int_equal(RC_DENIED, crypt_password_dummy("wrong", 5, &err));
	assert_true(peak_kib() - before >= 60 * 1024);
}

static void
test_real(void **state)
{

	(void)state;
	check_hash(REAL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_cheap),
	    cmocka_unit_test(test_real_dummy),
	    cmocka_unit_test(test_real),
	};

	return (
	    cmocka_run_group_tests_name("password cost", tests, setup, NULL));
}
