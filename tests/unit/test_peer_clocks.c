/* SPDX-License-Identifier: MIT */
/*
 * Clocks of other servers that are wrong: at the limit and one beyond, ahead
 * and behind, until they are right again or silent; a bounded number of
 * servers.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "federation/peer_clocks.h"

static struct clk_fake clk;
static struct peer_clocks *p;
static char said[400];

static int
open_clocks(void **state)
{

	(void)state;
	clk_fake_init(&clk, INT64_C(1700000000000));
	return ((p = peer_clocks_new(&clk.clk)) == NULL ? -1 : 0);
}

static int
close_clocks(void **state)
{

	(void)state;
	peer_clocks_free(p);
	peer_clocks_free(NULL);
	return (0);
}

static const char *
off(void)
{
	char domain[LIMIT_DOMAIN_LEN + 1] = "-";
	int64_t ahead = 0;
	size_t n = peer_clocks_off(p, domain, &ahead);

	(void)snprintf(
	    said, sizeof(said), "%zu %s %lld", n, domain, (long long)ahead);
	return (said);
}

static void
test_limit(void **state)
{

	(void)state;
	assert_string_equal(off(), "0 - 0");
	peer_clocks_hear(p, "a.example", 60000);
	peer_clocks_hear(p, "a.example", -60000);
	assert_string_equal(off(), "0 - 0");
	peer_clocks_hear(p, "a.example", 60001);
	assert_string_equal(off(), "1 a.example 60001");
	peer_clocks_hear(p, "b.example", -60002);
	assert_string_equal(off(), "2 b.example -60002");
	peer_clocks_hear(p, "a.example", 90000);
	assert_string_equal(off(), "2 a.example 90000");
	peer_clocks_hear(p, "c.example", 0);
	assert_string_equal(off(), "2 a.example 90000");
	peer_clocks_hear(p, "a.example", 60000);
	assert_string_equal(off(), "1 b.example -60002");
	peer_clocks_hear(p, "b.example", -1);
	assert_string_equal(off(), "0 - 0");
	peer_clocks_hear(NULL, "a.example", 90000);
}

/* A server that was silent for an hour is forgotten. */
static void
test_forgotten(void **state)
{

	(void)state;
	peer_clocks_hear(p, "a.example", 70000);
	clk_fake_advance(&clk, 1000);
	peer_clocks_hear(p, "b.example", 80000);
	clk_fake_advance(&clk, PEER_CLOCKS_FORGET_MS - 1001);
	assert_string_equal(off(), "2 b.example 80000");
	clk_fake_advance(&clk, 1);
	assert_string_equal(off(), "1 b.example 80000");
	clk_fake_advance(&clk, 1000);
	assert_string_equal(off(), "0 - 0");
}

static void
test_many(void **state)
{
	char domain[32];
	int i;

	(void)state;
	for (i = 0; i < PEER_CLOCKS_MAX + 5; i++) {
		(void)snprintf(domain, sizeof(domain), "s%d.example", i);
		peer_clocks_hear(p, domain, 70000 + i);
	}
	assert_string_equal(off(), "64 s68.example 70068");
	peer_clocks_hear(p, "s30.example", 1);
	peer_clocks_hear(p, "z.example", 99000);
	assert_string_equal(off(), "64 z.example 99000");
}

/* A full list does not hide later servers: the server that was silent for the
 * longest time makes room. */
static void
test_full(void **state)
{
	char domain[32];
	int i;

	(void)state;
	for (i = 0; i < PEER_CLOCKS_MAX; i++) {
		(void)snprintf(domain, sizeof(domain), "s%d.example", i);
		peer_clocks_hear(p, domain, i == 1 ? 99000 : 70000);
		clk_fake_advance(&clk, 10);
	}
	peer_clocks_hear(p, "s0.example", 98000);
	clk_fake_advance(&clk, 10);
	assert_string_equal(off(), "64 s1.example 99000");
	peer_clocks_hear(p, "real.example", 97000);
	assert_string_equal(off(), "64 s0.example 98000");
	peer_clocks_hear(p, "s0.example", 0);
	assert_string_equal(off(), "63 real.example 97000");
}

/* A Date header has no milliseconds, and the request took some time. */
static void
test_ahead(void **state)
{

	(void)state;
	assert_int_equal(peer_clocks_ahead_ms(5000, 5000, 6000), 0);
	assert_int_equal(peer_clocks_ahead_ms(4001, 5000, 6000), 0);
	assert_int_equal(peer_clocks_ahead_ms(4000, 5000, 6000), -1);
	assert_int_equal(peer_clocks_ahead_ms(6000, 5000, 6000), 0);
	assert_int_equal(peer_clocks_ahead_ms(6001, 5000, 6000), 1);
}

static void
test_no_memory(void **state)
{

	(void)state;
	mem_fail_at(1);
	assert_null(peer_clocks_new(&clk.clk));
	mem_fail_at(0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		test_limit, open_clocks, close_clocks),
	    cmocka_unit_test_setup_teardown(
		test_forgotten, open_clocks, close_clocks),
	    cmocka_unit_test_setup_teardown(
		test_many, open_clocks, close_clocks),
	    cmocka_unit_test_setup_teardown(
		test_full, open_clocks, close_clocks),
	    cmocka_unit_test(test_ahead),
	    cmocka_unit_test(test_no_memory),
	};

	return (cmocka_run_group_tests(tests, NULL, NULL));
}
